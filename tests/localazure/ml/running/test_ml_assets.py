"""Datastores, models and code, whose files are there: by the lives in `datastores.yaml`, and an upload of code."""

from pathlib import Path

from tests.localazure.answers.test_answers import live_all
from tests.localazure.conftest import new_group
from tests.support.embedded import EmbeddedAzure
from tests.support.ml_resources import ML, done, put_workspace


def test_datastores_and_models_name_what_is_there(azure: EmbeddedAzure) -> None:
    live_all(azure, Path(__file__).with_name("datastores.yaml"))


def test_files_of_code_go_to_the_address_that_the_workspace_gives(azure: EmbeddedAzure) -> None:
    workspace = put_workspace(azure, new_group(azure))
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
