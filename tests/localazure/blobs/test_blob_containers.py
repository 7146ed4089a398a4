"""Containers are one thing, whether ARM or the data plane is asked for them; they go with their account."""

from collections.abc import Callable

import pytest
from azure.storage.blob import AccessPolicy

from tests.localazure.blobs.conftest import VERSION, Account, later, refusal


def containers(account: Account, name: str = "") -> str:
    return f"{account.id}/blobServices/default/containers" + (f"/{name}" if name else "")


def test_a_container_that_arm_has_made_is_there_for_clients(account: Account) -> None:
    path = containers(account, "outputs")
    made = account.azure.put(path, {"properties": {"metadata": {"team": "vision"}}}, VERSION)
    assert made.status_code == 201, made.text
    document = made.json()
    assert (document["id"], document["name"]) == (path, "outputs")
    assert document["type"] == "Microsoft.Storage/storageAccounts/blobServices/containers"
    assert document["properties"]["publicAccess"] == "None"
    assert document["etag"]
    client = account.by_token().get_container_client("outputs")
    assert client.get_container_properties().metadata == {"team": "vision"}
    assert account.azure.get(path, VERSION).json() == document
    assert account.azure.put(path, document, VERSION).status_code == 200
    assert account.azure.patch(path, {"properties": {"metadata": {"team": "audio"}}}, VERSION).status_code == 200
    assert client.get_container_properties().metadata == {"team": "audio"}
    client.upload_blob("file", b"")
    assert account.azure.delete(path, VERSION).status_code == 200
    assert account.azure.delete(path, VERSION).status_code == 204
    assert refusal(client.get_blob_client("file").download_blob) == (404, "ContainerNotFound")


def test_a_container_that_a_client_has_made_is_there_for_arm(make_account: Callable[..., Account]) -> None:
    account = make_account(allowBlobPublicAccess=True)
    client = account.by_token()
    client.create_container("open", public_access="blob", metadata={"a": "b"})
    client.create_container("shut")
    listed = account.azure.get(containers(account), VERSION).json()["value"]
    assert [(each["name"], each["properties"]["publicAccess"]) for each in listed] == [("open", "Blob"), ("shut", "None")]
    assert listed[0]["properties"]["metadata"] == {"a": "b"}
    client.get_container_client("open").set_container_access_policy({})
    assert account.azure.get(containers(account, "open"), VERSION).json()["properties"]["publicAccess"] == "None"
    client.delete_container("open")
    assert account.azure.get(containers(account, "open"), VERSION).status_code == 404
    service = account.azure.get(f"{account.id}/blobServices/default", VERSION).json()
    assert (service["name"], service["sku"]["name"]) == ("default", "Standard_LRS")


def test_arm_opens_a_container_where_its_account_allows_it_and_keeps_its_policies(make_account: Callable[..., Account]) -> None:
    account = make_account(allowBlobPublicAccess=True)
    account.by_token().create_container("open").upload_blob("file", b"open")
    container = account.by_token().get_container_client("open")
    container.set_container_access_policy({"kept": AccessPolicy("r", expiry=later(), start=later())})
    made = account.azure.put(containers(account, "open"), {"properties": {"publicAccess": "Blob"}}, VERSION)
    assert made.status_code == 200
    assert account.client().get_blob_client("open", "file").download_blob().readall() == b"open"
    assert [policy.id for policy in container.get_container_access_policy()["signed_identifiers"]] == ["kept"]


@pytest.mark.parametrize("name", ["ab", "Upper", "two--hyphens", "-first", "a" * 64, "with.dot"])
def test_a_name_that_is_none_is_refused_by_both(account: Account, name: str) -> None:
    assert account.azure.put(containers(account, name), {}, VERSION).status_code == 400
    assert refusal(account.by_token().create_container, name) == (400, "InvalidResourceName")


def test_blobs_and_what_the_service_was_told_go_with_their_account(account: Account) -> None:
    service = f"{account.id}/blobServices/default"
    assert account.azure.put(service, {"properties": {"isVersioningEnabled": True}}, VERSION).status_code == 200
    container = account.by_token().create_container("data")
    container.upload_blob("file", b"content")
    container.acquire_lease()
    before = account.azure.get(account.id, VERSION).json()
    assert account.azure.delete(account.id, VERSION).status_code == 200
    assert refusal(list, account.by_token().list_containers()) == (404, "ResourceNotFound")
    again = {"location": before["location"], "kind": before["kind"], "sku": {"name": before["sku"]["name"]}}
    account.azure.made(account.id, again, VERSION)
    assert "isVersioningEnabled" not in account.azure.get(service, VERSION).json()["properties"]
    assert list(account.by_token().list_containers()) == []
    assert refusal(account.by_token().get_blob_client("data", "file").download_blob) == (404, "ContainerNotFound")


def test_a_right_that_a_fault_takes_away_is_gone(account: Account) -> None:
    account.by_token().create_container("data").upload_blob("file", b"content")
    action = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/write"
    assert account.azure.command("fault", "forbid", action).returncode == 0
    try:
        client = account.by_token().get_blob_client("data", "file")
        assert client.download_blob().readall() == b"content"
        assert refusal(client.upload_blob, b"other", overwrite=True) == (403, "AuthorizationPermissionMismatch")
    finally:
        assert account.azure.command("fault", "clear").returncode == 0
