"""azure-storage-blob, unmodified, against blob storage of the embedded Azure: with a token, a key and each kind of signature."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import (
    AccountSasPermissions,
    BlobClient,
    ResourceTypes,
    generate_account_sas,
    generate_blob_sas,
    generate_container_sas,
)

from tests.localazure.blobs.conftest import Account, later, refusal


@pytest.fixture
def filled(account: Account) -> Account:
    """An account with one container, `data`, and a blob in it, `dir/file.txt`."""
    client = account.by_token()
    client.create_container("data").upload_blob("dir/file.txt", b"content")
    return account


@pytest.mark.parametrize("way", ["token", "key"])
def test_a_client_makes_fills_lists_and_deletes_a_container(account: Account, way: str) -> None:
    client = account.by_token() if way == "token" else account.by_key()
    container = client.create_container("data", metadata={"kind": "test"})
    container.upload_blob("a/Ünïcode name + (1).txt", "text", metadata={"k": "v"})
    container.upload_blob("b.bin", b"\x00" * 70_000)
    assert sorted(blob.name for blob in container.list_blobs()) == ["a/Ünïcode name + (1).txt", "b.bin"]
    assert [each.name for each in container.walk_blobs()] == ["a/", "b.bin"]
    blob = container.get_blob_client("a/Ünïcode name + (1).txt")
    assert blob.download_blob().readall() == b"text"
    assert blob.get_blob_properties().metadata == {"k": "v"}
    assert container.get_container_properties().metadata == {"kind": "test"}
    assert container.get_blob_client("b.bin").download_blob(offset=10, length=5).readall() == b"\x00" * 5
    assert [each.name for each in client.list_containers()] == ["data"]
    blob.delete_blob()
    client.delete_container("data")
    assert list(client.list_containers()) == []


def test_a_client_is_told_what_kind_of_account_it_is(account: Account) -> None:
    told = account.by_token().get_account_information()
    assert (told["sku_name"], told["account_kind"]) == ("Standard_LRS", "StorageV2")


def test_answers_name_the_endpoint_that_clients_know(filled: Account) -> None:
    token = filled.azure.token("https://storage.azure.com/.default")
    with filled.azure.http(headers={"Authorization": f"Bearer {token}", "x-ms-version": "2025-11-05"}) as client:
        listed = client.get(f"/blob/{filled.name}/data", params={"restype": "container", "comp": "list"})
        accounts = client.get(f"/blob/{filled.name}/", params={"comp": "list"})
    assert f'ServiceEndpoint="{filled.url}' in listed.text
    assert f'ServiceEndpoint="{filled.url}' in accounts.text
    assert "127.0.0.1" not in listed.text + accounts.text


def test_a_key_that_was_renewed_no_longer_opens_anything(filled: Account) -> None:
    old = filled.keys[0]
    assert list(filled.by_key(old).list_containers())
    filled.azure.post(f"{filled.id}/regenerateKey", "2024-01-01", {"keyName": "key1"})
    assert refusal(list, filled.by_key(old).list_containers()) == (403, "AuthenticationFailed")
    assert list(filled.by_key(filled.keys[1]).list_containers())


def test_an_account_without_shared_keys_takes_no_key_and_nothing_signed_with_one(filled: Account) -> None:
    key = filled.keys[0]
    signature = generate_blob_sas(filled.name, "data", "dir/file.txt", account_key=key, permission="r", expiry=later())
    filled.set(allowSharedKeyAccess=False)
    for client in (filled.by_key(key), filled.client(signature)):
        assert refusal(client.get_blob_client("data", "dir/file.txt").download_blob) == (
            403,
            "KeyBasedAuthenticationNotPermitted",
        )
    assert filled.by_token().get_blob_client("data", "dir/file.txt").download_blob().readall() == b"content"


def test_a_token_for_another_service_or_of_nobody_is_refused(filled: Account) -> None:
    arm = filled.azure.token()
    for given in (arm, "not.a.token", filled.azure.token("https://storage.azure.com/.default")[:-5] + "AAAAA"):
        assert refusal(list, filled.by_token(given).list_containers()) == (401, "InvalidAuthenticationInfo")


@pytest.mark.parametrize("version", ["", "2025-11-05"])
def test_nobody_reads_without_authorization(filled: Account, version: str) -> None:
    with filled.azure.http(headers={"x-ms-version": version} if version else {}) as client:
        answer = client.get(f"/blob/{filled.name}/data/dir/file.txt")
        missing = client.get(f"/blob/{filled.name}/data/missing")
    expected = (401, "NoAuthenticationInformation") if version else (409, "PublicAccessNotPermitted")
    assert (answer.status_code, answer.headers["x-ms-error-code"]) == expected
    assert (missing.status_code, missing.headers["x-ms-error-code"]) == expected
    if version:
        assert answer.headers["www-authenticate"].startswith(f"Bearer authorization_uri={filled.azure.url}/")


def test_a_public_container_is_read_by_everybody_while_its_account_allows_it(make_account: Callable[..., Account]) -> None:
    account = make_account(allowBlobPublicAccess=True)
    client = account.by_token()
    client.create_container("open", public_access="container").upload_blob("file", b"open")
    client.create_container("half", public_access="blob").upload_blob("file", b"half")
    client.create_container("shut").upload_blob("file", b"shut")
    nobody = account.client()
    assert nobody.get_blob_client("open", "file").download_blob().readall() == b"open"
    assert nobody.get_blob_client("half", "file").download_blob().readall() == b"half"
    assert [blob.name for blob in nobody.get_container_client("open").list_blobs()] == ["file"]
    for refused in (
        lambda: nobody.get_blob_client("shut", "file").download_blob(),
        lambda: list(nobody.get_container_client("half").list_blobs()),
        lambda: nobody.get_blob_client("open", "new").upload_blob(b""),
        lambda: list(nobody.list_containers()),
    ):
        assert refusal(refused) == (401, "NoAuthenticationInformation")
    account.set(allowBlobPublicAccess=False)
    with pytest.raises(HttpResponseError):
        nobody.get_blob_client("open", "file").download_blob()


def test_a_container_is_not_opened_where_the_account_forbids_it(account: Account) -> None:
    assert refusal(account.by_token().create_container, "open", public_access="blob") == (409, "PublicAccessNotPermitted")


# Shared access signatures


def test_a_signature_for_a_blob_opens_that_blob_alone(filled: Account) -> None:
    filled.by_token().get_blob_client("data", "other").upload_blob(b"other")
    signature = generate_blob_sas(filled.name, "data", "dir/file.txt", account_key=filled.keys[0], permission="r", expiry=later())
    client = filled.client(signature)
    assert client.get_blob_client("data", "dir/file.txt").download_blob().readall() == b"content"
    assert refusal(client.get_blob_client("data", "other").download_blob) == (403, "AuthenticationFailed")
    assert refusal(client.get_blob_client("data", "dir/file.txt").upload_blob, b"", overwrite=True) == (
        403,
        "AuthorizationPermissionMismatch",
    )


def test_the_address_of_a_blob_with_its_signature_is_enough(filled: Account) -> None:
    signature = generate_blob_sas(
        filled.name, "data", "dir/file.txt", account_key=filled.keys[0], permission="r", expiry=later(), content_type="text/x"
    )
    url = f"{filled.url}/data/dir/file.txt?{signature}"
    with filled.azure.http() as client:
        answer = client.get(url)
    assert (answer.status_code, answer.text, answer.headers["content-type"]) == (200, "content", "text/x")
    blob = BlobClient.from_blob_url(url, connection_verify=str(filled.azure.ca_bundle))
    assert blob.download_blob().readall() == b"content"


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"expiry": datetime(2020, 1, 1, tzinfo=UTC)}, "AuthenticationFailed"),
        ({"start": datetime(2090, 1, 1, tzinfo=UTC), "expiry": datetime(2090, 1, 2, tzinfo=UTC)}, "AuthenticationFailed"),
        ({"permission": "w"}, "AuthorizationPermissionMismatch"),
        ({"ip": "8.8.8.8"}, "AuthorizationSourceIPMismatch"),
        ({"account_key": "AAAA"}, "AuthenticationFailed"),
    ],
    ids=["expired", "not yet", "write", "elsewhere", "wrong key"],
)
def test_a_signature_that_does_not_fit_is_refused(filled: Account, changed: dict[str, Any], code: str) -> None:
    given = {"account_key": filled.keys[0], "permission": "r", "expiry": later(), **changed}
    client = filled.client(generate_blob_sas(filled.name, "data", "dir/file.txt", **given))
    assert refusal(client.get_blob_client("data", "dir/file.txt").download_blob) == (403, code)


def test_a_signature_that_lets_create_overwrites_nothing(filled: Account) -> None:
    signature = generate_container_sas(filled.name, "data", account_key=filled.keys[0], permission="c", expiry=later())
    client = filled.client(signature)
    client.get_blob_client("data", "new").upload_blob(b"new")
    assert refusal(client.get_blob_client("data", "dir/file.txt").upload_blob, b"gone", overwrite=True) == (
        403,
        "UnauthorizedBlobOverwrite",
    )
    assert filled.by_token().get_blob_client("data", "dir/file.txt").download_blob().readall() == b"content"


def test_a_signature_for_a_container_lists_it_and_no_other(filled: Account) -> None:
    filled.by_token().create_container("other")
    signature = generate_container_sas(filled.name, "data", account_key=filled.keys[0], permission="rl", expiry=later())
    client = filled.client(signature)
    assert [blob.name for blob in client.get_container_client("data").list_blobs()] == ["dir/file.txt"]
    assert refusal(list, client.get_container_client("other").list_blobs()) == (403, "AuthenticationFailed")
    assert refusal(client.delete_container, "data") == (403, "AuthorizationPermissionMismatch")


def test_a_signature_for_the_account_has_its_resource_types_and_permissions(filled: Account) -> None:
    def signed(types: ResourceTypes, permissions: AccountSasPermissions, **more: Any) -> Any:
        return filled.client(generate_account_sas(filled.name, filled.keys[0], types, permissions, later(), **more))

    everything = ResourceTypes(service=True, container=True, object=True)
    whole = signed(everything, AccountSasPermissions(read=True, write=True, list=True, delete=True, create=True))
    assert [each.name for each in whole.list_containers()] == ["data"]
    assert whole.get_blob_client("data", "dir/file.txt").download_blob().readall() == b"content"
    objects = signed(ResourceTypes(object=True), AccountSasPermissions(read=True, list=True))
    assert refusal(list, objects.list_containers()) == (403, "AuthorizationResourceTypeMismatch")
    reading = signed(everything, AccountSasPermissions(read=True))
    assert refusal(reading.get_blob_client("data", "dir/file.txt").delete_blob) == (403, "AuthorizationPermissionMismatch")
    queues = signed(everything, AccountSasPermissions(read=True), services="q")
    assert refusal(queues.get_blob_client("data", "dir/file.txt").download_blob) == (403, "AuthorizationServiceMismatch")


def test_no_user_delegation_key_is_given(account: Account) -> None:
    with pytest.raises(HttpResponseError) as error:
        account.by_token().get_user_delegation_key(datetime.now(UTC), later())
    assert error.value.status_code == 501
