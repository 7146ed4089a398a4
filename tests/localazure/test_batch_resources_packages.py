"""Applications of a Batch account and their packages: made in three steps, and referred to by pools."""

import io
import uuid
import zipfile
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError
from azure.mgmt.batch import BatchManagementClient

from azure_gpu.catalog.roles import STORAGE_BLOB_DATA_CONTRIBUTOR
from tests.support.batch_bodies import API, pool, put_account, put_identity, put_storage
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure, ServedAzure
from tests.support.management import client


@pytest.fixture(scope="module")
def azure(served_azure: ServedAzure) -> ServedAzure:
    """Packages are uploaded to blob storage, which runs."""
    return served_azure


@pytest.fixture
def account(azure: EmbeddedAzure, group: str) -> str:
    """The id of an account that has a storage account."""
    storage = put_storage(azure, group)["id"]
    return put_account(azure, group, properties={"autoStorage": {"storageAccountId": storage}})["id"]


@pytest.fixture
def application(azure: EmbeddedAzure, account: str) -> str:
    answer = azure.put(f"{account}/applications/GPUDriver", {}, API)
    assert answer.status_code == 200, answer.text
    assert answer.json()["properties"] == {"allowUpdates": True}
    return answer.json()["id"]


def zipped(**files: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


def pushed(azure: EmbeddedAzure, application: str, version: str = "411.82") -> Any:
    """The answer of `activate`."""
    made = azure.put(f"{application}/versions/{version}", {}, API)
    assert made.status_code == 200, made.text
    with azure.http() as anyone:
        blob = {"x-ms-blob-type": "BlockBlob"}
        sent = anyone.put(made.json()["properties"]["storageUrl"], content=zipped(setup="echo"), headers=blob)
    assert sent.status_code == 201, sent.text
    return azure.post(f"{application}/versions/{version}/activate", API, {"format": "zip"})


def test_a_package_is_made_uploaded_and_activated(azure: EmbeddedAzure, application: str) -> None:
    made = azure.put(f"{application}/versions/411.82", {}, API).json()["properties"]
    assert made["state"] == "Pending"
    assert "sig=" in made["storageUrl"]
    early = azure.post(f"{application}/versions/411.82/activate", API, {"format": "zip"})
    assert (early.status_code, early.json()["error"]["code"]) == (409, "OperationInvalidForCurrentState")
    active = pushed(azure, application)
    assert active.status_code == 200, active.text
    assert active.json()["properties"].items() >= {("state", "Active"), ("format", "zip")}
    shown = azure.get(f"{application}/versions/411.82", API).json()["properties"]
    assert shown["lastActivationTime"] == active.json()["properties"]["lastActivationTime"]


def test_with_azures_own_client(azure: EmbeddedAzure, account: str) -> None:
    batch, group_name, name = client(BatchManagementClient, azure), account.split("/")[4], account.split("/")[-1]
    made = batch.application.create(group_name, name, "tools", {"properties": {"displayName": "Tools"}})
    assert (made.name, made.display_name, made.allow_updates) == ("tools", "Tools", True)
    package = batch.application_package.create(group_name, name, "tools", "1.0")
    assert (package.name, package.state) == ("1.0", "Pending")
    assert pushed(azure, f"{account}/applications/tools", "1.0").status_code == 200
    activated = batch.application_package.activate(group_name, name, "tools", "1.0", {"format": "zip"})
    assert activated.state == "Active"
    changed = batch.application.update(group_name, name, "tools", {"properties": {"defaultVersion": "1.0"}})
    assert (changed.default_version, changed.display_name) == ("1.0", "Tools")
    assert [each.name for each in batch.application.list(group_name, name)] == ["tools"]
    assert [each.name for each in batch.application_package.list(group_name, name, "tools")] == ["1.0"]
    with pytest.raises(HttpResponseError, match="OperationInvalidForCurrentState"):
        batch.application.delete(group_name, name, "tools")
    batch.application_package.delete(group_name, name, "tools", "1.0")
    batch.application.delete(group_name, name, "tools")
    assert list(batch.application.list(group_name, name)) == []


def test_an_account_by_identity_needs_a_role_on_its_storage(azure: EmbeddedAzure, group: str) -> None:
    identity = put_identity(azure, group)
    storage = put_storage(azure, group, allowSharedKeyAccess=False)["id"]
    linked = {"storageAccountId": storage, "authenticationMode": "BatchAccountManagedIdentity"}
    own = {"type": "UserAssigned", "userAssignedIdentities": {identity["id"]: {}}}
    application = f"{put_account(azure, group, identity=own, properties={'autoStorage': linked})['id']}/applications/tools"
    azure.put(application, {}, API)
    refused = azure.put(f"{application}/versions/1.0", {}, API)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "AutoStorageAuthenticationFailed")
    role = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/{STORAGE_BLOB_DATA_CONTRIBUTOR}"
    given = {"properties": {"principalId": identity["properties"]["principalId"], "roleDefinitionId": role}}
    path = f"{storage}/providers/Microsoft.Authorization/roleAssignments/{uuid.uuid4()}"
    assert azure.put(path, given, "2022-04-01").status_code == 201
    assert pushed(azure, application, "1.0").json()["properties"]["state"] == "Active"


def test_a_pool_refers_to_active_packages(azure: EmbeddedAzure, account: str, application: str) -> None:
    pushed(azure, application)
    for reference in ({"id": application, "version": "411.82"}, {"id": f"{application}/versions/411.82"}):
        assert azure.put(f"{account}/pools/train", pool(applicationPackages=[reference]), API).status_code == 200
    azure.patch(application, {"properties": {"defaultVersion": "411.82"}}, API)
    assert azure.put(f"{account}/pools/train", pool(applicationPackages=[{"id": application}]), API).status_code == 200


def test_an_account_takes_its_applications_along(azure: EmbeddedAzure, account: str, application: str) -> None:
    pushed(azure, application)
    azure.finished(azure.delete(account, API))
    assert azure.get(application, API).status_code == 404
