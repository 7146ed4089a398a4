"""The volumes of a container group: file shares, secrets, a git repository, and what is refused of them."""

import base64
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.localazure.conftest import new_group
from tests.localazure.containers.conftest import write_workload
from tests.localazure.containers.sdk import (
    GROUP,
    Registry,
    container,
    create,
    group_body,
    group_path,
    group_state,
    logs,
    mounted,
    refusal,
    shell,
    show,
    wait_for,
)
from tests.support.embedded import EmbeddedAzure, ServedAzure

STORAGE = "2024-01-01"


@pytest.fixture
def account(azure: EmbeddedAzure, group: str) -> Iterator[tuple[str, str]]:
    """A storage account: its name and a key."""
    name = f"st{uuid.uuid4().hex[:12]}"
    path = f"{group}/providers/Microsoft.Storage/storageAccounts/{name}"
    azure.made(path, {"location": "westeurope", "sku": {"name": "Standard_LRS"}, "kind": "StorageV2"}, STORAGE)
    yield name, azure.post(f"{path}/listKeys", STORAGE).json()["keys"][0]["value"]
    azure.delete(path, STORAGE)


def file_volume(account: str, key: str, share: str = "results") -> dict[str, Any]:
    return {"name": "share", "azureFile": {"shareName": share, "storageAccountName": account, "storageAccountKey": key}}


def test_a_file_share_is_kept_from_group_to_group(
    azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str, account: tuple[str, str]
) -> None:
    volume = file_volume(*account)
    mounts = mounted("share", "/results")
    writing = shell(hello_reference, "echo kept > /results/x", volumeMounts=mounts)
    found = create(azure, group, "one", group_body(registry, writing, volumes=[volume]))
    assert account[1] not in str(found)
    assert found["properties"]["volumes"][0]["azureFile"] == {"shareName": "results", "storageAccountName": account[0]}
    wait_for(azure, group, "one", "Succeeded")
    azure.delete(group_path(group, "one"), GROUP)
    create(
        azure, group, "two", group_body(registry, shell(hello_reference, "cat /results/x", volumeMounts=mounts), volumes=[volume])
    )
    wait_for(azure, group, "two", "Succeeded")
    assert logs(azure, group, "two") == "kept\n"
    folder = azure.state / "shares" / account[0]
    assert (folder / "results" / "x").exists()
    azure.delete(f"{group}/providers/Microsoft.Storage/storageAccounts/{account[0]}", STORAGE)
    assert not folder.exists()


def test_a_share_takes_an_account_that_is_there_and_its_key(
    azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str, account: tuple[str, str]
) -> None:
    for volume, code in (
        (file_volume("nobody123", account[1]), "CannotAccessStorageAccount"),
        (file_volume(account[0], base64.b64encode(b"wrong").decode()), "InvalidStorageAccountKey"),
        (file_volume(*account, share="A/../b"), "InvalidRequestContent"),
    ):
        body = group_body(registry, container(hello_reference, volumeMounts=mounted("share", "/x")), volumes=[volume])
        status, error = refusal(azure, group, body)
        assert (status, error["code"]) == (400, code)
        assert account[1] not in str(error)


def test_a_share_whose_key_was_changed_cannot_be_mounted_any_more(
    azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str, account: tuple[str, str]
) -> None:
    one = container(hello_reference, "say", "ran", volumeMounts=mounted("share", "/x"))
    create(azure, group, "one", group_body(registry, one, volumes=[file_volume(*account)]))
    wait_for(azure, group, "one", "Succeeded")
    path = f"{group}/providers/Microsoft.Storage/storageAccounts/{account[0]}"
    key = azure.post(f"{path}/regenerateKey", STORAGE, {"keyName": "key1"}).json()["keys"][0]["value"]
    started = azure.post(f"{group_path(group, 'one')}/start", GROUP)
    assert started.status_code == 202
    assert azure.finished(started)["error"]["code"] == "ResourceOperationFailure"
    found = show(azure, group, "one")
    assert group_state(found) == "Pending"
    (event,) = found["properties"]["instanceView"]["events"]
    assert (event["name"], event["message"]) == ("FailedMountAzureFileVolume", "Failed to mount Azure File Volume.")
    create(azure, group, "one", group_body(registry, one, volumes=[file_volume(account[0], key)]))
    assert wait_for(azure, group, "one", "Succeeded")["properties"]["instanceView"]["events"] == []


def test_secrets_are_files_and_are_never_answered(
    azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str
) -> None:
    secret = {"token": base64.b64encode(b"s3cret").decode()}
    body = group_body(
        registry,
        shell(hello_reference, "cat /mnt/secrets/token", volumeMounts=[{**mounted("s", "/mnt/secrets")[0], "readOnly": True}]),
        volumes=[{"name": "s", "secret": secret}],
    )
    answer = azure.put(group_path(group, "one"), body, GROUP)
    assert secret["token"] not in answer.text
    found = wait_for(azure, group, "one", "Succeeded")
    assert logs(azure, group, "one") == "s3cret"
    assert "secret" not in found["properties"]["volumes"][0]


def test_a_git_volume_is_the_servers_own_checkout(registry: Registry, tmp_path_factory: pytest.TempPathFactory) -> None:
    checkout = tmp_path_factory.mktemp("git-checkout")
    write_workload(checkout / "workloads" / "vector_add")
    git = ["git", "-C", str(checkout), "-c", "user.name=n", "-c", "user.email=e@x"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"], ["tag", "v1"]):
        subprocess.run([*git, *arguments], check=True)
    Path(checkout / "later").write_text("not committed")
    azure = ServedAzure(tmp_path_factory.mktemp("git-state"), checkout=checkout)
    try:
        group = new_group(azure)
        repository = {"repository": f"{azure.url}/checkout.git", "revision": "v1", "directory": "."}
        one = shell("k8s.gcr.io/cuda-vector-add:v0.1", "ls /mnt/code", volumeMounts=mounted("code", "/mnt/code"))
        create(azure, group, "one", group_body(None, one, volumes=[{"name": "code", "gitRepo": repository}]))
        wait_for(azure, group, "one", "Succeeded")
        assert logs(azure, group, "one") == "workloads\n"
        other = {"name": "code", "gitRepo": {"repository": "https://github.com/x/y"}}
        status, error = refusal(azure, group, group_body(None, one, volumes=[other]), "two")
        assert (status, error["code"]) == (501, "NotImplemented")
        missing = {"name": "code", "gitRepo": {**repository, "revision": "v2"}}
        made = azure.finished(azure.put(group_path(group, "three"), group_body(None, one, volumes=[missing]), GROUP))
        assert "no commit v2" in made["error"]["details"][0]["message"]
    finally:
        azure.stop()


@pytest.mark.parametrize(
    ("volumes", "mounts", "said"),
    [
        ([], mounted("v", "/x"), "a volume of the group"),
        ([{"name": "v"}], [], "exactly one of"),
        ([{"name": "v", "emptyDir": {}, "secret": {"a": "YQ=="}}], [], "exactly one of"),
        ([{"name": "v", "emptyDir": {}}] * 2, [], "Two volumes are called 'v'"),
        ([{"name": "v", "secret": {"a": "not base64!"}}], [], "isn't base64"),
        ([{"name": "v", "secret": {"../a": "YQ=="}}], [], "isn't a valid file name"),
        ([{"name": "v", "emptyDir": {}}], mounted("v", "x"), "absolute path"),
        ([{"name": "v", "emptyDir": {}}], mounted("v", "/a:b"), "without a colon"),
        ([{"name": "v", "emptyDir": {}}], mounted("v", "/a/../../b"), "without '..'"),
        ([{"name": "v", "emptyDir": {}}], mounted("v", "/."), "absolute path below /"),
        ([{"name": "v", "emptyDir": {}}], mounted("v", "//a"), "absolute path below /"),
        ([{"name": "v", "emptyDir": {}}], mounted("v", "/"), "absolute path below /"),
        ([{"name": "v", "emptyDir": {}}], mounted("v", "/x") + mounted("v", "/x/"), "two volumes at"),
        ([{"name": f"v{number}", "emptyDir": {}} for number in range(21)], [], "at most 20 volumes"),
        ([{"name": "v", "gitRepo": {"repository": "x", "directory": "../y"}}], [], "outside of the volume"),
    ],
)
def test_volumes_that_are_wrong_are_refused(
    azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str, volumes: Any, mounts: Any, said: str
) -> None:
    body = group_body(registry, container(hello_reference, volumeMounts=mounts), volumes=volumes)
    status, error = refusal(azure, group, body)
    assert status == 400
    assert said in error["message"]
