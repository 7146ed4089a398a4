"""Management locks: what is locked isn't deleted, and by ReadOnly not changed, until the lock is gone."""

from collections.abc import Iterator

import pytest

from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure

LOCKS, GROUPS, IDENTITIES = "2020-05-01", "2024-03-01", "2023-01-31"
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/locked"
IDENTITY = f"{GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/reader"


@pytest.fixture
def made(azure: EmbeddedAzure) -> Iterator[EmbeddedAzure]:
    assert azure.put(GROUP, {"location": "eastus"}, GROUPS).is_success
    assert azure.put(IDENTITY, {"location": "eastus"}, IDENTITIES).is_success
    yield azure
    azure.finished(azure.delete(GROUP, GROUPS))


@pytest.mark.parametrize("level", ["CanNotDelete", "ReadOnly"])
@pytest.mark.parametrize("scope", [GROUP, IDENTITY], ids=["on the group", "on the resource"])
def test_a_lock_is_listed_and_holds_until_it_is_gone(made: EmbeddedAzure, scope: str, level: str) -> None:
    lock_id = f"{scope}/providers/Microsoft.Authorization/locks/keep"
    assert made.put(lock_id, {"properties": {"level": level}}, LOCKS).status_code == 201
    changed = made.put(IDENTITY, {"location": "eastus", "tags": {"a": "b"}}, IDENTITIES)
    assert changed.is_success is (level == "CanNotDelete")
    assert [each["id"] for each in listed(made)] == [lock_id]
    assert made.delete(lock_id, LOCKS).status_code == 200
    assert made.get(lock_id, LOCKS).status_code == 404
    assert made.delete(IDENTITY, IDENTITIES).is_success
    assert listed(made) == []


def listed(azure: EmbeddedAzure) -> list[dict[str, str]]:
    found = azure.get(f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/locks", LOCKS)
    assert found.status_code == 200, found.text
    return [each for each in found.json()["value"] if "/resourcegroups/locked/" in each["id"].lower()]
