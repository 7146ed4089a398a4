"""These tests reach an embedded Azure in a process of its own."""

import pytest

from tests.support.embedded import ServedAzure


@pytest.fixture(scope="session")
def azure(served_azure: ServedAzure) -> ServedAzure:
    return served_azure


@pytest.fixture
def own_azure(own_served_azure: ServedAzure) -> ServedAzure:
    return own_served_azure
