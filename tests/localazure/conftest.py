"""One embedded Azure for each test worker; each test has resource groups of its own in it."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure
from tests.support.managed_clusters import ArmHarness

GROUPS = "2024-03-01"


@pytest.fixture
def group(azure: EmbeddedAzure) -> str:
    """The id of a new resource group in West Europe."""
    return new_group(azure)


@pytest.fixture
def no_fault_is_left(azure: EmbeddedAzure) -> Iterator[None]:
    """Clears the faults of a test of the shared server."""
    yield
    azure.clear_faults()


@pytest.fixture
def arm(tmp_path: Path) -> Iterator[ArmHarness]:
    """ARM alone, with a resource group; clusters are only written down."""
    found = ArmHarness(tmp_path)
    yield found
    found.close()


def new_group(azure: EmbeddedAzure, **body: object) -> str:
    path = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-{uuid.uuid4().hex[:12]}"
    answer = azure.put(path, {"location": "westeurope", **body}, GROUPS)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]
