"""An environment whose jobs run, in the place of that in the test's own process."""

import pytest

from tests.localazure.apps.sdk import Apps, new_apps
from tests.localazure.containers.sdk import Registry
from tests.support.embedded import ServedAzure


@pytest.fixture(scope="session")
def apps(running_azure: ServedAzure, running_registry: Registry) -> Apps:
    """Shared by the tests; each makes jobs of its own in it."""
    return new_apps(running_azure, running_registry)
