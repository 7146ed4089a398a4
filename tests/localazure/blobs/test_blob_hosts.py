"""An account by the name of its host, as clients spell it that know its name and the cloud's suffix only."""

import socket

import pytest

from localazure.blobs import addresses
from localazure.blobs.addresses import Address
from localazure.blobs.hosts import SUFFIX
from tests.localazure.blobs.conftest import Account, Token, new_account
from tests.support.embedded import ServedAzure


@pytest.fixture
def account(azure: ServedAzure, blob_group: str, monkeypatch: pytest.MonkeyPatch) -> Account:
    """With a resolver that leads names below `localhost` to loopback, as RFC 6761 section 6.3 asks for."""
    resolve = socket.getaddrinfo

    def resolved(host: str, *arguments: object, **more: object) -> object:
        return resolve("localhost" if host.endswith(SUFFIX) else host, *arguments, **more)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    return new_account(azure, blob_group)


@pytest.mark.parametrize("by_key", [True, False], ids=["key", "token"])
def test_a_client_writes_and_reads_by_the_host_of_an_account(azure: ServedAzure, account: Account, by_key: bool) -> None:
    host = f"https://{account.name}{SUFFIX}:{azure.port}"
    container = account.client(account.keys[0] if by_key else Token(azure), url=host).create_container("data")
    container.upload_blob("folder/a b.txt", b"seven")
    assert container.download_blob("folder/a b.txt").readall() == b"seven"
    by_path = account.by_token().get_container_client("data")
    assert [each.name for each in by_path.list_blobs()] == ["folder/a b.txt"]


def test_an_address_by_host_is_the_same_place_as_by_path() -> None:
    server = "https://localhost:8443"
    found = addresses.of_url(f"https://acct{SUFFIX}:8443/data/a%20b", server)
    assert found is not None
    assert found.address == Address("acct", "data", "a b")
    assert addresses.of_url(f"https://acct{SUFFIX}:1/data/a", server) is None
    assert addresses.of_url("https://acct.blob.example.com:8443/data/a", server) is None
