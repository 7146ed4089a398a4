"""One embedded Azure for each test worker; each test has resource groups of its own in it."""

import uuid

import pytest

from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure

GROUPS = "2024-03-01"


@pytest.fixture
def group(azure: EmbeddedAzure) -> str:
    """The id of a new resource group in West Europe."""
    return new_group(azure)


def new_group(azure: EmbeddedAzure, **body: object) -> str:
    path = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-{uuid.uuid4().hex[:12]}"
    answer = azure.put(path, {"location": "westeurope", **body}, GROUPS)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]
