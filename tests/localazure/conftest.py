"""One embedded Azure for each test worker; each test has resource groups of its own in it."""

import uuid
from collections.abc import Iterator

import pytest

from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure

GROUPS = "2024-03-01"


@pytest.fixture(scope="session")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedAzure]:
    server = EmbeddedAzure(tmp_path_factory.mktemp("azure"))
    yield server
    server.stop()


@pytest.fixture
def own_azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedAzure]:
    """A server that a test may stop, kill or upset."""
    server = EmbeddedAzure(tmp_path_factory.mktemp("own"))
    yield server
    server.stop()


@pytest.fixture
def group(azure: EmbeddedAzure) -> str:
    """The id of a new resource group in West Europe."""
    return new_group(azure)


def new_group(azure: EmbeddedAzure, **body: object) -> str:
    path = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-{uuid.uuid4().hex[:12]}"
    answer = azure.put(path, {"location": "westeurope", **body}, GROUPS)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]
