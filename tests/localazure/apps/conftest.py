"""The embedded Azure with the small workload of the container tests, and a managed environment with a T4 profile in it."""

import uuid

import pytest

from tests.localazure.apps.sdk import Apps
from tests.localazure.conftest import new_group
from tests.localazure.containers.conftest import azure, hello, hello_reference, registry, runtime, store
from tests.localazure.containers.sdk import Registry
from tests.support.embedded import EmbeddedAzure

__all__ = ["azure", "hello", "hello_reference", "registry", "runtime", "store"]


@pytest.fixture(scope="session")
def apps(azure: EmbeddedAzure, registry: Registry, hello_reference: str) -> Apps:
    """An environment, shared by the tests; each makes jobs of its own in it."""
    made = Apps(azure, new_group(azure), f"env-{uuid.uuid4().hex[:8]}", registry, hello_reference)
    made.create_environment()
    return made


@pytest.fixture
def job_name() -> str:
    return f"job-{uuid.uuid4().hex[:8]}"


@pytest.fixture(scope="session")
def hello_reference(registry: Registry) -> str:  # noqa: F811 - for the whole session here
    return f"{registry.server}/hello:1"
