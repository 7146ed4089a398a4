"""The blob service of a storage account: there with it, changed, never deleted."""

from tests.localazure.blobs.conftest import Account

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
