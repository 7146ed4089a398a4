"""The volumes of a container group: file shares, secrets, a git repository, and what is refused of them."""

import base64
import subprocess
from pathlib import Path

import pytest

from tests.localazure.conftest import new_group
from tests.localazure.containers.conftest import write_workload
from tests.localazure.containers.sdk import GROUP, Groups, file_volume, group_state, mounted
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


@pytest.mark.slow
def test_a_git_volume_is_the_servers_own_checkout(tmp_path_factory: pytest.TempPathFactory) -> None:
    checkout = tmp_path_factory.mktemp("git-checkout")
    write_workload(checkout / "workloads" / "vector_add")
    git = ["git", "-C", str(checkout), "-c", "user.name=n", "-c", "user.email=e@x"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"], ["tag", "v1"]):
        subprocess.run([*git, *arguments], check=True)
    Path(checkout / "later").write_text("not committed")
    azure = ServedAzure(tmp_path_factory.mktemp("git-state"), checkout=checkout)
    try:
        groups = Groups(azure, None, new_group(azure))
        groups.image = "k8s.gcr.io/cuda-vector-add:v0.1"
        repository = {"repository": f"{azure.url}/checkout.git", "revision": "v1", "directory": "."}
        one = groups.shell("ls /mnt/code", volumeMounts=mounted("code", "/mnt/code"))
        groups.create("one", groups.body(one, volumes=[{"name": "code", "gitRepo": repository}]))
        groups.wait_for("one", "Succeeded")
        assert groups.logs("one") == "workloads\n"
        other = {"name": "code", "gitRepo": {"repository": "https://github.com/x/y"}}
        status, error = groups.refusal(groups.body(one, volumes=[other]), "two")
        assert (status, error["code"]) == (501, "NotImplemented")
        missing = {"name": "code", "gitRepo": {**repository, "revision": "v2"}}
        made = azure.finished(azure.put(groups.path("three"), groups.body(one, volumes=[missing]), GROUP))
        assert "no commit v2" in made["error"]["details"][0]["message"]
    finally:
        azure.stop()
