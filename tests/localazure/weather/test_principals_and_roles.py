"""Role assignments that take a while, and what permits nothing at all. New principals: `conversations/weather.yaml`."""

import uuid

import pytest

from azure_gpu.catalog import roles
from localazure.weather.role_delay import REFUSAL_KEPT
from tests.localazure.conftest import new_group
from tests.support.embedded import SUBSCRIPTION
from tests.support.in_process import InProcessAzure

ROLES, STORAGE = "2022-04-01", "2024-01-01"


def assignment(scope: str) -> str:
    return f"{scope}/providers/Microsoft.Authorization/roleAssignments/{uuid.uuid4()}"


def body(principal: str, role: str, **more: str) -> dict[str, dict[str, str]]:
    definition = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/{role}"
    return {"properties": {"principalId": principal, "roleDefinitionId": definition, **more}}


def listed(server: InProcessAzure, account: str) -> int:
    """The status of a list of containers, asked for by whoever deploys."""
    token = server.token("https://storage.azure.com/.default")
    headers = {"Authorization": f"Bearer {token}", "x-ms-version": "2024-11-04"}
    return server.client.get(f"/blob/{account}/", params={"comp": "list"}, headers=headers).status_code


def storage(server: InProcessAzure, group: str, **properties: str) -> tuple[str, str]:
    name = f"st{uuid.uuid4().hex[:12]}"
    path = f"{group}/providers/Microsoft.Storage/storageAccounts/{name}"
    given = {"location": "westeurope", "sku": {"name": "Standard_LRS"}, "kind": "StorageV2", "properties": properties}
    return server.made(path, given, STORAGE)["id"], name


@pytest.fixture
def no_blobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may ask is told so before anything is kept: these tests need no Azurite."""
    from localazure.blobs.errors import BlobError
    from localazure.blobs.upstream import Upstream

    def answered(*_: object) -> None:
        raise BlobError(418, "Permitted", "Azurite would be asked now.")

    monkeypatch.setattr(Upstream, "answer", answered)


@pytest.mark.usefixtures("no_blobs")
def test_a_role_for_blobs_works_after_a_while_and_a_refusal_prolongs_it(rough: InProcessAzure) -> None:
    account, name = storage(rough, new_group(rough))
    assert listed(rough, name) == 403  # an owner has no right to data
    principal = rough.principal_id
    rough.made(assignment(account), body(principal, roles.STORAGE_BLOB_DATA_CONTRIBUTOR), ROLES)
    rough.move(4)
    assert listed(rough, name) == 403  # remembered from here on
    rough.move(2)
    assert listed(rough, name) == 403  # it works by now; the refusal is remembered
    rough.move(REFUSAL_KEPT.total_seconds())
    assert listed(rough, name) == 418


@pytest.mark.usefixtures("no_blobs")
def test_in_calm_weather_the_owner_has_everything_and_a_role_works_at_once(calm: InProcessAzure) -> None:
    account, name = storage(calm, new_group(calm))
    assert listed(calm, name) == 418
    calm.fault("weather", name="owner-without-data")
    assert listed(calm, name) == 403
    calm.made(assignment(account), body(calm.principal_id, roles.STORAGE_BLOB_DATA_CONTRIBUTOR), ROLES)
    assert listed(calm, name) == 418


@pytest.mark.usefixtures("no_blobs")
def test_an_account_without_public_access_does_not_answer_from_outside(rough: InProcessAzure) -> None:
    _, name = storage(rough, new_group(rough), publicNetworkAccess="Disabled")
    token = rough.token("https://storage.azure.com/.default")
    headers = {"Authorization": f"Bearer {token}", "x-ms-version": "2024-11-04"}
    answer = rough.client.get(f"/blob/{name}/", params={"comp": "list"}, headers=headers)
    assert (answer.status_code, answer.headers["x-ms-error-code"]) == (403, "AuthorizationFailure")
    rough.fault("calm", name="private-endpoints")
    assert listed(rough, name) == 403
    rough.fault("calm", name="owner-without-data")
    assert listed(rough, name) == 418
