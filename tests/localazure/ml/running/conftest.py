"""A server in a process of its own, whose deployments run, in the place of that in the test's own process."""

import pytest

from tests.support.embedded import ServedAzure


@pytest.fixture(scope="module")
def azure(served_azure: ServedAzure) -> ServedAzure:
    return served_azure
