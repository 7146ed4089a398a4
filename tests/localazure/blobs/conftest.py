"""An account of blob storage for each test, in the worker's embedded Azure, and clients that sign in to it in every way."""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from azure.core.credentials import AccessToken, AzureNamedKeyCredential
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import BlobServiceClient

from tests.support.embedded import SUBSCRIPTION, ServedAzure

VERSION = "2024-01-01"


class Token:
    """A credential as azure-identity's are: hands out a token that is given, or asks the server for one."""

    def __init__(self, azure: ServedAzure, given: str = "") -> None:
        self._azure = azure
        self._given = given

    def get_token(self, *scopes: str, **options: Any) -> AccessToken:
        return AccessToken(self._given or self._azure.token(scopes[0]), 2**31)


@dataclass
class Account:
    azure: ServedAzure
    id: str
    name: str

    @property
    def url(self) -> str:
        return f"{self.azure.url}/blob/{self.name}"

    @property
    def keys(self) -> list[str]:
        answer = self.azure.post(f"{self.id}/listKeys", VERSION)
        return [key["value"] for key in answer.json()["keys"]]

    def set(self, **properties: Any) -> None:
        answer = self.azure.patch(self.id, {"properties": properties}, VERSION)
        assert answer.status_code == 200, answer.text

    def client(self, credential: Any = None, url: str = "") -> BlobServiceClient:
        return BlobServiceClient(
            url or self.url, credential=credential, connection_verify=str(self.azure.ca_bundle), retry_total=0
        )

    def by_token(self, given: str = "") -> BlobServiceClient:
        return self.client(Token(self.azure, given))

    def by_key(self, key: str = "") -> BlobServiceClient:
        return self.client(AzureNamedKeyCredential(self.name, key or self.keys[0]))


@pytest.fixture(scope="module")
def blob_group(azure: ServedAzure) -> Iterator[str]:
    """A resource group for the accounts of one module's tests."""
    path = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-{uuid.uuid4().hex[:12]}"
    assert azure.put(path, {"location": "westeurope"}, "2024-03-01").status_code == 201
    yield path
    azure.delete(path, "2024-03-01")


@pytest.fixture
def make_account(azure: ServedAzure, blob_group: str) -> Callable[..., Account]:
    def make(**properties: Any) -> Account:
        return new_account(azure, blob_group, **properties)

    return make


@pytest.fixture
def account(make_account: Callable[..., Account]) -> Account:
    return make_account()


def refusal(call: Callable[..., object], *given: Any, **options: Any) -> tuple[int | None, str]:
    """The status and the code with which a client's call is refused."""
    with pytest.raises(HttpResponseError) as error:
        call(*given, **options)
    # pyrefly: ignore[missing-attribute]
    code = error.value.error_code
    return error.value.status_code, str(getattr(code, "value", code))


def later() -> datetime:
    return datetime.now(UTC) + timedelta(hours=1)


def new_account(azure: ServedAzure, group: str, **properties: Any) -> Account:
    name = "st" + uuid.uuid4().hex[:16]
    path = f"{group}/providers/Microsoft.Storage/storageAccounts/{name}"
    body = {"location": "westeurope", "kind": "StorageV2", "sku": {"name": "Standard_LRS"}, "properties": properties}
    return Account(azure, azure.made(path, body, VERSION)["id"], name)


@pytest.fixture(scope="session")
def azure(served_azure: ServedAzure) -> ServedAzure:
    return served_azure
