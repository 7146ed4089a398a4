"""Datastores, models and code: what they name has to be there."""

import pytest

from azure_gpu.catalog import roles
from tests.localazure.conftest import new_group
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure
from tests.support.ml_resources import ML, done, give_role, put_storage, put_workspace, refused, upload


@pytest.fixture(scope="module")
def workspace(azure: EmbeddedAzure) -> str:
    """A workspace whose account has a model in the container `models` and code in the default datastore."""
    group = new_group(azure)
    give_role(azure, group, roles.STORAGE_BLOB_DATA_CONTRIBUTOR, azure.principal_id)
    found = put_workspace(azure, group)
    upload(azure, account_of(azure, found), "models", "mnist/1/saved_model.pb")
    upload(azure, account_of(azure, found), default_container(azure, found), "code/score.py", b"def init(): ...")
    return found


def account_of(azure: EmbeddedAzure, workspace: str) -> str:
    return azure.get(workspace, ML).json()["properties"]["storageAccount"].rsplit("/", 1)[1]


def default_container(azure: EmbeddedAzure, workspace: str) -> str:
    return azure.get(f"{workspace}/datastores/workspaceblobstore", ML).json()["properties"]["containerName"]


def test_a_datastore_names_a_container_that_is_there(azure: EmbeddedAzure, workspace: str) -> None:
    account = account_of(azure, workspace)
    body = {
        "properties": {
            "datastoreType": "AzureBlob",
            "accountName": account,
            "containerName": "models",
            "credentials": {"credentialsType": "Sas", "secrets": {"secretsType": "Sas", "sasToken": "sv=1&sig=s"}},
        }
    }
    answer = azure.put(f"{workspace}/datastores/models", body, ML)
    made = done(azure, answer)["properties"]
    assert (made["isDefault"], made["endpoint"], made["protocol"]) == (False, "core.windows.net", "https")
    assert "sig=s" not in answer.text
    assert "sig=s" not in azure.get(f"{workspace}/datastores", ML).text
    assert azure.post(f"{workspace}/datastores/models/listSecrets", ML).json() == {"secretsType": "Sas", "sasToken": "sv=1&sig=s"}
    nowhere = {"properties": {**body["properties"], "containerName": "none"}}
    assert "isn't in the storage account" in refused(azure.put(f"{workspace}/datastores/other", nowhere, ML))[2]
    assert azure.delete(f"{workspace}/datastores/models", ML).status_code == 200


def test_every_form_of_a_uri_leads_to_the_same_blobs(azure: EmbeddedAzure, workspace: str) -> None:
    account, group, name = account_of(azure, workspace), workspace.split("/")[4], workspace.rsplit("/", 1)[1]
    long = f"azureml://subscriptions/{SUBSCRIPTION}/resourcegroups/{group}/workspaces/{name}/datastores/workspaceblobstore/paths"
    forms = [
        f"https://{account}.blob.core.windows.net/models/mnist/1",
        f"{azure.url}/blob/{account}/models/mnist/1/saved_model.pb",
        f"wasbs://models@{account}.blob.core.windows.net/mnist",
        "azureml://datastores/workspaceblobstore/paths/code/",
        f"{long}/code/score.py",
    ]
    elsewhere = {"properties": {"modelUri": "https://someone.blob.core.windows.net/models/m"}}  # it is believed
    assert azure.put(f"{workspace}/models/elsewhere/versions/1", elsewhere, ML).status_code == 201
    for version, uri in enumerate(forms):
        answer = azure.put(f"{workspace}/models/forms/versions/{version}", {"properties": {"modelUri": uri}}, ML)
        assert answer.status_code == 201, answer.text
        assert answer.json()["properties"]["modelUri"] == uri
        missing = f"{uri.rstrip('/')}-not-there"
        status, code, message = refused(
            azure.put(f"{workspace}/models/forms/versions/9", {"properties": {"modelUri": missing}}, ML)
        )
        assert (status, code) == (400, "UserError")
        assert f"'{missing}' doesn't exist" in message


def test_files_of_code_go_to_the_address_that_the_workspace_gives(azure: EmbeddedAzure, workspace: str) -> None:
    version = f"{workspace}/codes/uploaded/versions/1"
    assert azure.get(f"{workspace}/codes/uploaded/versions", ML, hash="abc", hashVersion="1").json() == {"value": []}
    asked = {"pendingUploadType": "TemporaryBlobReference"}
    given = azure.post(f"{version}/startPendingUpload", ML, asked).json()["blobReferenceForConsumption"]
    again = azure.post(f"{version}/startPendingUpload", ML, asked).json()["blobReferenceForConsumption"]
    assert again["blobUri"] == given["blobUri"]
    container, _, signature = given["credential"]["sasUri"].partition("?")
    with azure.http() as client:
        sent = client.put(f"{container}/score.py?{signature}", content=b"pass", headers={"x-ms-blob-type": "BlockBlob"})
        assert sent.status_code == 201, sent.text
    properties = {"codeUri": given["blobUri"], "properties": {"hash_sha256": "abc", "hash_version": 1}}
    done(azure, azure.put(version, {"properties": properties}, ML))
    for value, found in (("abc", ["1"]), ("def", [])):
        listed = azure.get(f"{workspace}/codes/uploaded/versions", ML, hash=value, hashVersion="1").json()["value"]
        assert [each["name"] for each in listed] == found


def test_a_datastore_may_name_another_account(azure: EmbeddedAzure, workspace: str) -> None:
    group = workspace.split("/providers/")[0]
    other = put_storage(azure, group).rsplit("/", 1)[1]
    upload(azure, other, "data", "x.csv")
    store = {
        "datastoreType": "AzureBlob",
        "accountName": other,
        "containerName": "data",
        "credentials": {"credentialsType": "None"},
    }
    done(azure, azure.put(f"{workspace}/datastores/data", {"properties": store}, ML))
    body = {"properties": {"modelUri": "azureml://datastores/data/paths/x.csv"}}
    assert azure.put(f"{workspace}/models/other/versions/1", body, ML).status_code == 201
