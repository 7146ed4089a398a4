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


def lock(azure: EmbeddedAzure, scope: str, level: str) -> str:
    lock_id = f"{scope}/providers/Microsoft.Authorization/locks/keep"
    assert azure.put(lock_id, {"properties": {"level": level}}, LOCKS).status_code == 201
    return lock_id


@pytest.mark.parametrize("scope", [GROUP, IDENTITY], ids=["on the group", "on the resource"])
def test_nothing_that_is_locked_or_holds_what_is_locked_is_deleted(made: EmbeddedAzure, scope: str) -> None:
    lock_id = lock(made, scope, "CanNotDelete")
    for resource, version in ((IDENTITY, IDENTITIES), (GROUP, GROUPS)):
        refused = made.delete(resource, version)
        assert (refused.status_code, refused.json()["error"]) == (
            409,
            {
                "code": "ScopeLocked",
                "message": f"The scope '{resource}' cannot perform delete operation because following scope(s) are locked: "
                f"'{scope}'. Please remove the lock and try again.",
            },
        )
    assert made.put(IDENTITY, {"location": "eastus", "tags": {"a": "b"}}, IDENTITIES).is_success
    assert [each["id"] for each in listed(made)] == [lock_id]
    assert made.delete(lock_id, LOCKS).status_code == 200
    assert made.delete(IDENTITY, IDENTITIES).is_success
    assert listed(made) == []


def test_what_is_read_only_isn_t_changed_either(made: EmbeddedAzure) -> None:
    lock_id = lock(made, GROUP, "ReadOnly")
    refused = made.put(IDENTITY, {"location": "eastus", "tags": {"a": "b"}}, IDENTITIES)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "ScopeLocked")
    assert made.delete(lock_id, LOCKS).status_code == 200
    assert made.get(lock_id, LOCKS).status_code == 404


def listed(azure: EmbeddedAzure) -> list[dict[str, str]]:
    found = azure.get(f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/locks", LOCKS)
    assert found.status_code == 200, found.text
    return [each for each in found.json()["value"] if "/resourcegroups/locked/" in each["id"].lower()]
