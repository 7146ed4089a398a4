"""Batch accounts, with Azure's own client and with the provider's bodies."""

from typing import Any

import pytest
from azure.mgmt.batch import BatchManagementClient

from tests.support.batch_bodies import API, put_account, put_identity, put_storage
from tests.support.embedded import EmbeddedAzure
from tests.support.management import client

BY_IDENTITY = "BatchAccountManagedIdentity"


@pytest.fixture
def batch(azure: EmbeddedAzure) -> BatchManagementClient:
    return client(BatchManagementClient, azure)


@pytest.fixture
def secure(azure: EmbeddedAzure, group: str) -> dict[str, Any]:
    """An account without shared keys, with a storage account that it reaches by identity."""
    identity = put_identity(azure, group)["id"]
    storage = put_storage(azure, group, allowSharedKeyAccess=False)["id"]
    return put_account(
        azure,
        group,
        identity={"type": "UserAssigned", "userAssignedIdentities": {identity: {}}},
        properties={
            "allowedAuthenticationModes": ["AAD", "TaskAuthenticationToken"],
            "autoStorage": {
                "storageAccountId": storage,
                "authenticationMode": BY_IDENTITY,
                "nodeIdentityReference": {"resourceId": identity},
            },
        },
    )


def group_of(resource: dict[str, Any]) -> str:
    return resource["id"].split("/")[4]


def test_keys_are_made_once_and_renewed_one_at_a_time(azure: EmbeddedAzure, group: str, batch: BatchManagementClient) -> None:
    account = put_account(azure, group)
    keys = batch.batch_account.get_keys(group_of(account), account["name"])
    assert keys.primary is not None
    assert keys.secondary is not None
    assert (keys.account_name, len(keys.primary), len(keys.secondary)) == (account["name"], 88, 88)
    shown = azure.get(account["id"], API).text
    assert keys.primary not in shown
    assert keys.secondary not in shown
    put_account(azure, group, account["name"], tags={"a": "b"})
    renewed = batch.batch_account.regenerate_key(group_of(account), account["name"], {"keyName": "Primary"})
    assert renewed.primary != keys.primary
    assert renewed.secondary == keys.secondary


def test_storage_by_identity_is_answered_as_it_was_given(azure: EmbeddedAzure, secure: dict[str, Any]) -> None:
    storage = secure["properties"]["autoStorage"]
    assert storage["authenticationMode"] == BY_IDENTITY
    assert storage["lastKeySync"].endswith("Z")
    assert azure.put(secure["id"], secure, API).json()["properties"] == secure["properties"]
    (ids,) = secure["identity"]["userAssignedIdentities"].values()
    assert set(ids) == {"clientId", "principalId"}


def test_keys_of_the_storage_can_be_read_again(azure: EmbeddedAzure, secure: dict[str, Any]) -> None:
    before = secure["properties"]["autoStorage"]["lastKeySync"]
    assert azure.post(f"{secure['id']}/syncAutoStorageKeys", API).status_code == 204
    assert azure.get(secure["id"], API).json()["properties"]["autoStorage"]["lastKeySync"] > before


def test_a_patch_replaces_storage_as_a_whole_and_null_takes_it_away(azure: EmbeddedAzure, secure: dict[str, Any]) -> None:
    storage = secure["properties"]["autoStorage"]["storageAccountId"]
    patch = {"properties": {"autoStorage": {"storageAccountId": storage, "authenticationMode": BY_IDENTITY}}}
    changed = azure.patch(secure["id"], patch, API).json()["properties"]["autoStorage"]
    assert "nodeIdentityReference" not in changed
    assert azure.patch(secure["id"], {"properties": {"publicNetworkAccess": "Disabled"}}, API).status_code == 200
    gone = azure.patch(secure["id"], {"properties": {"autoStorage": None}}, API).json()["properties"]
    assert "autoStorage" not in gone
    assert gone["publicNetworkAccess"] == "Disabled"


def test_a_name_that_is_taken_is_not_available(azure: EmbeddedAzure, group: str, batch: BatchManagementClient) -> None:
    account = put_account(azure, group)
    asked = {"name": account["name"], "type": "Microsoft.Batch/batchAccounts"}
    available = batch.location.check_name_availability("westeurope", asked)
    assert (available.name_available, available.reason) == (False, "AlreadyExists")


def test_an_identity_of_its_own_is_kept_over_updates(azure: EmbeddedAzure, group: str) -> None:
    account = put_account(azure, group, identity={"type": "SystemAssigned"})
    principal = account["identity"]["principalId"]
    assert (
        put_account(azure, group, account["name"], **{"identity": {"type": "SystemAssigned"}})["identity"]["principalId"]
        == principal
    )
    none = azure.patch(account["id"], {"identity": {"type": "None"}}, API).json()
    assert none["identity"] == {"type": "None"}


def test_quotas_of_families_are_told(azure: EmbeddedAzure, group: str, batch: BatchManagementClient) -> None:
    account = put_account(azure, group)
    found = batch.batch_account.get(group_of(account), account["name"])
    families = {each.name: each.core_quota for each in found.dedicated_core_quota_per_vm_family}
    assert families["Standard NCASv3_T4 Family"] == 1000
    assert found.dedicated_core_quota_per_vm_family_enforced is True
    assert (found.dedicated_core_quota, found.low_priority_core_quota) == (10_000, 1000)
