"""A managed environment with a T4 profile in it: in the test's own process, and on a server whose jobs run the small workload
of the container tests."""

import uuid

import pytest

from tests.localazure.apps.sdk import Apps, new_apps
from tests.localazure.containers.conftest import (
    hello,
    judged,
    own_running_azure,
    registry,
    running_azure,
    running_registry,
    runtime,
    store,
)
from tests.localazure.containers.sdk import Registry
from tests.support.embedded import EmbeddedAzure

__all__ = ["hello", "judged", "own_running_azure", "registry", "running_azure", "running_registry", "runtime", "store"]


@pytest.fixture(scope="session")
def apps(azure: EmbeddedAzure, registry: Registry) -> Apps:
    """An environment, shared by the tests; each makes jobs of its own in it."""
    return new_apps(azure, registry)


@pytest.fixture
def job_name() -> str:
    return f"job-{uuid.uuid4().hex[:8]}"
