"""Copies within an account and between accounts, and large blobs, with azure-storage-blob."""

import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from azure.storage.blob import BlobBlock, BlobServiceClient, ContentSettings, generate_blob_sas

from tests.localazure.blobs.conftest import Account, later, refusal
from tests.localazure.blobs.test_blob_keeper import keeper

MEBIBYTE = 1024 * 1024
COPYING: tuple[dict[str, Any], ...] = ({}, {"requires_sync": True})


@pytest.fixture
def pair(make_account: Callable[..., Account]) -> tuple[Account, Account]:
    """Two accounts: one with a blob to copy, one with a place for it."""
    source, target = make_account(), make_account()
    settings = ContentSettings(content_type="text/plain", content_language="de")
    source.by_token().create_container("from").upload_blob(
        "dir/a b.txt", b"0123456789", metadata={"k": "v"}, content_settings=settings
    )
    target.by_token().create_container("into")
    return source, target


def signed(source: Account) -> str:
    key = generate_blob_sas(source.name, "from", "dir/a b.txt", account_key=source.keys[0], permission="r", expiry=later())
    return f"{source.url}/from/dir/a%20b.txt?{key}"


@pytest.mark.parametrize("way", ["token", "key"])
def test_a_blob_is_copied_within_its_account(pair: tuple[Account, Account], way: str) -> None:
    account, _ = pair
    client: BlobServiceClient = account.by_token() if way == "token" else account.by_key()
    copy = client.get_blob_client("from", "copy")
    assert copy.start_copy_from_url(f"{account.url}/from/dir/a%20b.txt")["copy_status"] == "success"
    assert copy.download_blob().readall() == b"0123456789"
    assert copy.get_blob_properties().metadata == {"k": "v"}


def test_a_signed_source_is_copied_into_another_account_and_its_signature_is_not_kept(pair: tuple[Account, Account]) -> None:
    source, target = pair
    for number, options in enumerate(COPYING):
        copy = target.by_token().get_blob_client("into", f"copy-{number}")
        copy.start_copy_from_url(signed(source), **options)
        assert copy.download_blob().readall() == b"0123456789"
        told = copy.get_blob_properties()
        assert "sig=" not in str(told.copy.source)
        assert str(told.copy.source or "").startswith(source.url) or not told.copy.source


def test_a_blob_a_block_and_an_append_are_put_from_an_address(pair: tuple[Account, Account]) -> None:
    source, target = pair
    container = target.by_token().get_container_client("into")
    whole = container.get_blob_client("whole")
    whole.upload_blob_from_url(signed(source))
    assert whole.download_blob().readall() == b"0123456789"
    properties = whole.get_blob_properties()
    assert (properties.content_settings.content_type, properties.metadata) == ("text/plain", {"k": "v"})
    blocks = container.get_blob_client("blocks")
    blocks.stage_block_from_url("b1", signed(source), source_offset=5, source_length=5)
    blocks.stage_block_from_url("b2", signed(source), source_offset=0, source_length=5)
    blocks.commit_block_list([BlobBlock("b1"), BlobBlock("b2")])
    assert blocks.download_blob().readall() == b"5678901234"
    appended = container.get_blob_client("appended")
    appended.create_append_blob()
    appended.append_block(b"x")
    appended.append_block_from_url(signed(source), source_offset=0, source_length=3)
    assert appended.download_blob().readall() == b"x012"


def test_a_source_that_may_not_be_read_or_is_not_there_makes_no_copy(pair: tuple[Account, Account]) -> None:
    source, target = pair
    copy = target.by_token().get_blob_client("into", "copy")
    for address in (f"{source.url}/from/dir/a%20b.txt", signed(source).replace("sp=r", "sp=rw")):
        for options in COPYING:
            assert refusal(copy.start_copy_from_url, address, **options)[1] == "CannotVerifyCopySource"
        assert refusal(copy.upload_blob_from_url, address)[1] == "CannotVerifyCopySource"
    assert refusal(copy.start_copy_from_url, f"{target.url}/into/missing") == (404, "BlobNotFound")
    assert not copy.exists()


def test_leases_snapshots_tags_and_tiers_work_as_clients_ask(account: Account) -> None:
    container = account.by_token().create_container("data")
    blob = container.upload_blob("file", b"first", tags={"run": "7"})
    snapshot = blob.create_snapshot()
    blob.upload_blob(b"second", overwrite=True)
    assert container.get_blob_client("file", snapshot=str(snapshot["snapshot"])).download_blob().readall() == b"first"
    lease = blob.acquire_lease()
    assert refusal(blob.upload_blob, b"third", overwrite=True) == (412, "LeaseIdMissing")
    blob.upload_blob(b"third", overwrite=True, lease=lease)
    lease.release()
    blob.set_blob_tags({"run": "8"})
    assert blob.get_blob_tags() == {"run": "8"}
    assert [each.name for each in account.by_token().find_blobs_by_tags("run='8'")] == ["file"]
    blob.set_standard_blob_tier("Cool")
    assert blob.get_blob_properties().blob_tier == "Cool"
    assert refusal(blob.upload_blob, b"again") == (409, "BlobAlreadyExists")


class Pattern:
    """A stream of so many bytes that is nowhere whole."""

    def __init__(self, size: int) -> None:
        self.left = size
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        size = self.left if size < 0 else min(size, self.left)
        self.left -= size
        chunk = os.urandom(1) * size
        self.digest.update(chunk)
        return chunk


def resident(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) * 1024


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "single"), [(48 * MEBIBYTE, 64 * MEBIBYTE), (96 * MEBIBYTE, 4 * MEBIBYTE)], ids=["one request", "blocks"]
)
def test_a_large_blob_streams_through_without_staying_in_memory(account: Account, size: int, single: int) -> None:
    client = BlobServiceClient(
        account.url,
        credential=account.by_token().credential,
        connection_verify=str(account.azure.ca_bundle),
        max_single_put_size=single,
        max_block_size=4 * MEBIBYTE,
        retry_total=0,
    )
    container = client.create_container("data")
    container.upload_blob("warm", b"1" * MEBIBYTE)
    server, kept = account.azure.pid, keeper(account.azure)
    before = resident(server)
    stream: Any = Pattern(size)
    blob = container.upload_blob("large", stream, length=size)
    read = hashlib.sha256()
    for chunk in blob.download_blob().chunks():
        read.update(chunk)
    assert read.digest() == stream.digest.digest()
    assert resident(server) - before < 24 * MEBIBYTE
    assert resident(kept) < 400 * MEBIBYTE
