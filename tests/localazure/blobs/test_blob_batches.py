"""Batches, as azure-storage-blob sends them, and such as it doesn't."""

import uuid

import httpx
import pytest
from azure.storage.blob import BlobServiceClient, generate_container_sas

from tests.localazure.blobs.conftest import Account, later, new_account
from tests.support.embedded import ServedAzure


@pytest.fixture
def filled(account: Account) -> Account:
    container = account.by_token().create_container("data")
    for name in ("a", "b/c", "d e"):
        container.upload_blob(name, b"")
    return account


def names(account: Account, container: str = "data") -> list[str]:
    return [blob.name for blob in account.by_token().get_container_client(container).list_blobs()]


@pytest.mark.parametrize("way", ["token", "key", "signature"])
def test_several_blobs_are_deleted_at_once(filled: Account, way: str) -> None:
    signature = generate_container_sas(filled.name, "data", account_key=filled.keys[0], permission="d", expiry=later())
    client: BlobServiceClient = {
        "token": lambda: filled.by_token(),
        "key": lambda: filled.by_key(),
        "signature": lambda: filled.client(signature),
    }[way]()
    container = client.get_container_client("data")
    answers = list(container.delete_blobs("a", "missing", "d e", raise_on_any_failure=False))
    assert [answer.status_code for answer in answers] == [202, 404, 202]
    assert names(filled) == ["b/c"]


def test_a_tier_is_set_for_several_blobs(filled: Account) -> None:
    container = filled.by_token().get_container_client("data")
    assert [each.status_code for each in container.set_standard_blob_tier_blobs("Cool", "a", "d e")] == [200, 200]
    assert container.get_blob_client("a").get_blob_properties().blob_tier == "Cool"


@pytest.fixture(scope="module")
def victim(azure: ServedAzure, blob_group: str) -> Account:
    account = new_account(azure, blob_group)
    account.by_token().create_container("data").upload_blob("file", b"")
    return account


def sent(account: Account, *parts: str, path: str = "", boundary: str = "batch_1") -> httpx.Response:
    """A batch to the account, or to a container of it, with the token of the service principal."""
    token = account.azure.token("https://storage.azure.com/.default")
    body = "".join(f"--{boundary}\r\nContent-Type: application/http\r\nContent-ID: 0\r\n\r\n{part}\r\n" for part in parts)
    headers = {
        "Authorization": f"Bearer {token}",
        "x-ms-version": "2025-11-05",
        "Content-Type": f"multipart/mixed; boundary={boundary}",
    }
    query = "restype=container&comp=batch" if path else "comp=batch"
    with account.azure.http(headers=headers) as client:
        return client.post(f"/blob/{account.name}/{path}?{query}", content=body + f"--{boundary}--\r\n")


def delete(path: str, *headers: str) -> str:
    return "\r\n".join([f"DELETE {path} HTTP/1.1", *headers, "Content-Length: 0", "", ""])


def test_a_part_needs_an_authorization_of_its_own(filled: Account) -> None:
    answer = sent(filled, delete(f"/blob/{filled.name}/data/a"), delete("/data/a", "Authorization: Bearer x"))
    assert answer.status_code == 202
    assert answer.text.count("HTTP/1.1 401") == 2
    assert "a" in names(filled)


def test_a_batch_stays_in_its_account_and_its_container(filled: Account, victim: Account) -> None:
    token = filled.azure.token("https://storage.azure.com/.default")
    filled.by_token().create_container("other").upload_blob("file", b"")
    for path, within in (
        (f"/blob/{victim.name}/data/file", ""),
        (f"/../{victim.name}/data/file", ""),
        ("/other/file", "data"),
        ("/data/../other/file", "data"),
    ):
        answer = sent(filled, delete(path, f"Authorization: Bearer {token}"), path=within)
        assert answer.status_code == 400, answer.text
    assert names(victim) == ["file"]
    assert names(filled, "other") == ["file"]


def test_a_batch_takes_nothing_but_deletions_and_tiers(filled: Account) -> None:
    token = filled.azure.token("https://storage.azure.com/.default")
    own = (f"Authorization: Bearer {token}", "x-ms-blob-type: BlockBlob", "Content-Length: 0", "", "")
    for request in ("PUT /data/new HTTP/1.1", "DELETE /data?restype=container HTTP/1.1", "PUT /data/a?comp=metadata HTTP/1.1"):
        answer = sent(filled, "\r\n".join([request, *own]))
        assert answer.text.count("HTTP/1.1 400") == 1, answer.text
    for request in (
        "GET /data/a HTTP/1.1",
        "POST /?comp=batch HTTP/1.1",
        "DELETE http://localhost/data/a HTTP/1.1",
        "",
        "x" * 100,
    ):
        assert sent(filled, "\r\n".join([request, *own])).status_code == 400
    assert sent(filled, delete("/data/a", "Bad Header")).status_code == 400
    assert sent(filled).status_code == 400
    assert sent(filled, *[delete(f"/data/{uuid.uuid4()}")] * 257).status_code == 400
    assert names(filled) == ["a", "b/c", "d e"]
