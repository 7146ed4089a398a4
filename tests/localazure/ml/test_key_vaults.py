"""Key vaults: their names, what of them is for good, and what stays of a deleted one until it is purged or its time is over."""

from typing import Any

from tests.localazure.conftest import new_group
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure
from tests.support.ml_resources import REGION, VAULTS, done, new_name, put_vault, refused, vault_body

DELETED = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.KeyVault"


def path(group: str, name: str) -> str:
    return f"{group}/providers/Microsoft.KeyVault/vaults/{name}"


def deleted(azure: EmbeddedAzure, name: str) -> dict[str, Any]:
    answer = azure.get(f"{DELETED}/locations/{REGION}/deletedVaults/{name}", VAULTS)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_it_shows_what_the_service_decides_once(azure: EmbeddedAzure, group: str) -> None:
    name = new_name("KV")
    # What is never off: Test_MachineLearning_Workspaces_20240401_CRUD (2025-04-01)
    found = done(azure, azure.put(path(group, name), vault_body(azure, enableSoftDelete=False), VAULTS))["properties"]
    assert found["vaultUri"] == f"https://{name.lower()}.vault.azure.net/"
    assert (found["enableSoftDelete"], found["softDeleteRetentionInDays"]) == (True, 90)
    assert found["provisioningState"] == "Succeeded"
    assert "createMode" not in found
    shorter = put_vault(azure, group, softDeleteRetentionInDays=7)
    again = done(azure, azure.put(shorter, vault_body(azure), VAULTS))
    assert again["properties"]["softDeleteRetentionInDays"] == 7


def test_a_deleted_vault_comes_back_as_it_was_or_is_purged(azure: EmbeddedAzure, group: str) -> None:
    name = new_name("kv")
    done(azure, azure.put(path(group, name), {**vault_body(azure, softDeleteRetentionInDays=7), "tags": {"a": "b"}}, VAULTS))
    assert azure.delete(path(group, name), VAULTS).status_code == 200
    assert azure.get(path(group, name), VAULTS).status_code == 404
    found = deleted(azure, name)
    assert found["properties"]["vaultId"].endswith(f"/vaults/{name}")
    assert found["properties"]["tags"] == {"a": "b"}
    assert name in [each["name"] for each in azure.get(f"{DELETED}/deletedVaults", VAULTS).json()["value"]]
    back = done(azure, azure.put(path(group, name), vault_body(azure, createMode="recover"), VAULTS))
    assert back["tags"] == {"a": "b"}
    assert back["properties"]["softDeleteRetentionInDays"] == 7
    azure.delete(path(group, name), VAULTS)
    assert azure.post(f"{DELETED}/locations/{REGION}/deletedVaults/{name}/purge", VAULTS).status_code == 202
    put_vault(azure, group, name)


def test_purge_protection_keeps_everybody_from_a_purge(azure: EmbeddedAzure, group: str) -> None:
    name = put_vault(azure, group, enablePurgeProtection=True).rsplit("/", 1)[1]
    azure.delete(path(group, name), VAULTS)
    assert deleted(azure, name)["properties"]["purgeProtectionEnabled"] is True
    # MicrosoftDocs/azure-docs issue 55427
    answer = azure.post(f"{DELETED}/locations/{REGION}/deletedVaults/{name}/purge", VAULTS)
    assert refused(answer) == (405, "MethodNotAllowed", "Operation 'DeletedVaultPurge' is not allowed.")


def test_time_purges_it(own_azure: EmbeddedAzure) -> None:
    azure = own_azure
    group = new_group(azure)
    name = put_vault(azure, group, softDeleteRetentionInDays=7).rsplit("/", 1)[1]
    azure.delete(path(group, name), VAULTS)
    day = deleted(azure, name)["properties"]["scheduledPurgeDate"][:10]
    assert azure.command("fault", "clock", day).returncode == 0
    assert azure.get(f"{DELETED}/locations/{REGION}/deletedVaults/{name}", VAULTS).status_code == 404
    put_vault(azure, group, name)
