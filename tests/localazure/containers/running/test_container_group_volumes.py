"""The volumes of a container group: file shares, secrets, a git repository, and what is refused of them."""

import base64
import subprocess
from pathlib import Path

import pytest

from tests.localazure.conftest import new_group
from tests.localazure.containers.conftest import write_workload
from tests.localazure.containers.sdk import (
    GROUP,
    Groups,
    Registry,
    create,
    file_volume,
    group_body,
    group_path,
    group_state,
    logs,
    mounted,
    refusal,
    shell,
    wait_for,
)
from tests.support.embedded import ServedAzure


def test_a_file_share_is_kept_from_group_to_group(groups: Groups, account: tuple[str, str]) -> None:
    volume = file_volume(*account)
    mounts = mounted("share", "/results")
    writing = groups.shell("echo kept > /results/x", volumeMounts=mounts)
    found = groups.create("one", groups.body(writing, volumes=[volume]))
    assert account[1] not in str(found)
    assert found["properties"]["volumes"][0]["azureFile"] == {"shareName": "results", "storageAccountName": account[0]}
    groups.wait_for("one", "Succeeded")
    groups.azure.delete(groups.path("one"), GROUP)
    groups.create("two", groups.body(groups.shell("cat /results/x", volumeMounts=mounts), volumes=[volume]))
    groups.wait_for("two", "Succeeded")
    assert groups.logs("two") == "kept\n"
    folder = groups.azure.state / "shares" / account[0]
    assert (folder / "results" / "x").exists()
    groups.azure.delete(f"{groups.group}/providers/Microsoft.Storage/storageAccounts/{account[0]}", "2024-01-01")
    assert not folder.exists()


def test_a_share_whose_key_was_changed_cannot_be_mounted_any_more(groups: Groups, account: tuple[str, str]) -> None:
    one = groups.container("say", "ran", volumeMounts=mounted("share", "/x"))
    groups.create("one", groups.body(one, volumes=[file_volume(*account)]))
    groups.wait_for("one", "Succeeded")
    path = f"{groups.group}/providers/Microsoft.Storage/storageAccounts/{account[0]}"
    key = groups.azure.post(f"{path}/regenerateKey", "2024-01-01", {"keyName": "key1"}).json()["keys"][0]["value"]
    started = groups.azure.post(f"{groups.path('one')}/start", GROUP)
    assert started.status_code == 202
    assert groups.azure.finished(started)["error"]["code"] == "ResourceOperationFailure"
    found = groups.show("one")
    assert group_state(found) == "Pending"
    (event,) = found["properties"]["instanceView"]["events"]
    assert (event["name"], event["message"]) == ("FailedMountAzureFileVolume", "Failed to mount Azure File Volume.")
    groups.create("one", groups.body(one, volumes=[file_volume(account[0], key)]))
    assert groups.wait_for("one", "Succeeded")["properties"]["instanceView"]["events"] == []


def test_secrets_are_files_and_are_never_answered(groups: Groups) -> None:
    secret = {"token": base64.b64encode(b"s3cret").decode()}
    body = groups.body(
        groups.shell("cat /mnt/secrets/token", volumeMounts=[{**mounted("s", "/mnt/secrets")[0], "readOnly": True}]),
        volumes=[{"name": "s", "secret": secret}],
    )
    answer = groups.azure.put(groups.path("one"), body, GROUP)
    assert secret["token"] not in answer.text
    found = groups.wait_for("one", "Succeeded")
    assert groups.logs("one") == "s3cret"
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
