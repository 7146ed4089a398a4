"""The server on which containers run, and its registry, in the place of those in the test's own process."""

import pytest

from tests.localazure.containers.sdk import Registry
from tests.support.embedded import ServedAzure


@pytest.fixture(scope="session")
def azure(running_azure: ServedAzure) -> ServedAzure:
    return running_azure


@pytest.fixture(scope="session")
def registry(running_registry: Registry) -> Registry:
    return running_registry
