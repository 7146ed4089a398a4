"""The blob service of a storage account: there with it, changed by Azure's own client, never deleted."""

from azure.mgmt.storage import StorageManagementClient
from azure.mgmt.storage.models import BlobServiceProperties, BlobServicePropertiesProperties, DeleteRetentionPolicy

from tests.localazure.blobs.conftest import Account
from tests.support.management import client

VERSION = "2024-01-01"
OFF = {"allowPermanentDelete": False, "enabled": False}


def path(account: Account, name: str = "default") -> str:
    return f"{account.id}/blobServices/{name}"


def test_a_new_account_has_one_that_keeps_nothing(account: Account) -> None:
    """As recorded of a new account, Microsoft.Storage 2025-06-01."""
    service = account.azure.get(path(account), VERSION).json()
    assert service == {
        "sku": {"name": "Standard_LRS", "tier": "Standard"},
        "id": path(account),
        "name": "default",
        "type": "Microsoft.Storage/storageAccounts/blobServices",
        "properties": {"cors": {"corsRules": []}, "deleteRetentionPolicy": OFF, "staticWebsite": {"enabled": False}},
    }
    assert account.azure.get(f"{account.id}/blobServices", VERSION).json()["value"] == [service]
    assert account.azure.get(path(account, "other"), VERSION).status_code == 404


def test_what_is_put_is_shown_and_an_empty_body_puts_it_back(account: Account) -> None:
    kept = {"enabled": True, "days": 7}
    body = {"properties": {"isVersioningEnabled": True, "deleteRetentionPolicy": kept, "containerDeleteRetentionPolicy": kept}}
    assert account.azure.put(path(account), body, VERSION).status_code == 200
    shown = account.azure.get(path(account), VERSION).json()["properties"]
    assert shown["isVersioningEnabled"] is True
    assert shown["deleteRetentionPolicy"] == OFF | kept
    assert shown["containerDeleteRetentionPolicy"] == kept
    assert len(account.azure.get(f"{account.id}/blobServices", VERSION).json()["value"]) == 1
    assert account.azure.put(path(account), {}, VERSION).status_code == 200
    assert account.azure.get(path(account), VERSION).json()["properties"]["deleteRetentionPolicy"] == OFF


def test_azures_own_client_sets_and_reads_it(account: Account) -> None:
    with client(StorageManagementClient, account.azure) as storage:
        policy = DeleteRetentionPolicy(enabled=True, days=30)
        wanted = BlobServiceProperties()
        wanted.blob_service_properties = BlobServicePropertiesProperties(
            delete_retention_policy=policy, is_versioning_enabled=True
        )
        storage.blob_services.set_service_properties(account.id.split("/")[4], account.name, wanted)
        found = storage.blob_services.get_service_properties(account.id.split("/")[4], account.name)
    assert (found.is_versioning_enabled, found.delete_retention_policy.days) == (True, 30)


def test_days_are_1_to_365_and_nobody_deletes_it(account: Account) -> None:
    for policy in ({"enabled": True}, {"enabled": True, "days": 0}, {"enabled": True, "days": 366}):
        refused = account.azure.put(path(account), {"properties": {"deleteRetentionPolicy": policy}}, VERSION)
        assert refused.status_code == 400, policy
    assert account.azure.put(path(account), {}, VERSION).status_code == 200
    assert account.azure.delete(path(account), VERSION).status_code == 405


def test_it_goes_with_its_account(account: Account) -> None:
    body = {"properties": {"isVersioningEnabled": True}}
    assert account.azure.put(path(account), body, VERSION).status_code == 200
    before = account.azure.get(account.id, VERSION).json()
    assert account.azure.delete(account.id, VERSION).status_code == 200
    assert account.azure.get(path(account), VERSION).status_code == 404
    body = {"location": before["location"], "kind": before["kind"], "sku": {"name": before["sku"]["name"]}}
    account.azure.made(account.id, body, VERSION)
    assert "isVersioningEnabled" not in account.azure.get(path(account), VERSION).json()["properties"]
