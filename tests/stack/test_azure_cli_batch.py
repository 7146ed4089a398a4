"""`az batch`: an account, a pool, a job whose tasks really run, their files, and application packages, as its users have them."""

import uuid
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.azure_cli import AzureCli
from tests.support.embedded import until

pytestmark = pytest.mark.slow
AS_OF = "as-of=2026-11-21"
IMAGE = ("--image", "microsoft-dsvm:ubuntu-hpc:2404", "--node-agent-sku-id", "batch.node.ubuntu 24.04")
SIZE = ("--vm-size", "Standard_NC4as_T4_v3")


@pytest.fixture(scope="module")
def group(az: AzureCli) -> Iterator[str]:
    with az.group("eastus", AS_OF) as name:
        yield name


@pytest.fixture(scope="module")
def account(az: AzureCli, group: str) -> str:
    """A Batch account with storage of its own, to which the commands are signed in."""
    unique = uuid.uuid4().hex[:12]
    storage = az.answer(
        "storage", "account", "create", "--resource-group", group, "--name", f"s{unique}", "--sku", "Standard_LRS"
    )
    name = f"b{unique}"
    here = ("--resource-group", group, "--name", name)
    made = az.answer("batch", "account", "create", *here, "--location", "eastus", "--storage-account", storage["id"])
    assert made["accountEndpoint"].endswith(f"/batch/{name}")
    assert made["poolAllocationMode"] == "BatchService"
    az.answer("batch", "account", "login", *here)
    return name


@pytest.fixture(scope="module")
def pool(az: AzureCli, account: str) -> str:
    """A pool of one node that is ready."""
    assert account
    az.answer("batch", "pool", "create", "--id", "lab", *SIZE, *IMAGE, "--target-dedicated-nodes", "1")
    until(lambda: nodes(az, "lab") == ["idle"], "the node is idle")
    return "lab"


def nodes(az: AzureCli, pool: str) -> list[str]:
    return [node["state"] for node in az.answer("batch", "node", "list", "--pool-id", pool)]


def ended(az: AzureCli, job: str, task: str) -> dict[str, Any] | None:
    found: dict[str, Any] = az.answer("batch", "task", "show", "--job-id", job, "--task-id", task)
    return found if found["state"] == "completed" else None


def test_an_account_is_shown_listed_and_gives_its_keys(az: AzureCli, group: str, account: str) -> None:
    here = ("--resource-group", group, "--name", account)
    shown = az.answer("batch", "account", "show", *here)
    assert (shown["name"], shown["location"], shown["provisioningState"]) == (account, "eastus", "Succeeded")
    assert [one["name"] for one in az.answer("batch", "account", "list", "--resource-group", group)] == [account]
    keys = az.answer("batch", "account", "keys", "list", *here)
    assert keys["accountName"] == account
    assert len(keys["primary"]) > 40
    assert keys["primary"] != keys["secondary"]
    renewed = az.answer("batch", "account", "keys", "renew", *here, "--key-name", "primary")
    assert renewed["primary"] != keys["primary"]
    assert renewed["secondary"] == keys["secondary"]


def test_the_images_that_batch_takes_are_listed_with_their_agents(az: AzureCli, account: str) -> None:
    assert account
    listed = az.answer("batch", "pool", "supported-images", "list")
    agents = {
        (
            one["imageReference"]["publisher"].lower(),
            one["imageReference"]["offer"].lower(),
            one["imageReference"]["sku"].lower(),
        ): one["nodeAgentSkuId"]
        for one in listed
    }
    assert agents["microsoft-dsvm", "ubuntu-hpc", "2404"] == "batch.node.ubuntu 24.04"
    assert agents["microsoftwindowsserver", "windowsserver", "2022-datacenter-g2"] == "batch.node.windows amd64"
    assert {one["osType"] for one in listed} == {"linux", "windows"}


def test_a_pool_is_shown_resized_and_deleted(az: AzureCli, pool: str) -> None:
    assert pool in [one["id"] for one in az.answer("batch", "pool", "list")]
    az.answer("batch", "pool", "create", "--id", "other", *SIZE, *IMAGE, "--target-dedicated-nodes", "0")

    def steady() -> dict[str, Any] | None:
        found: dict[str, Any] = az.answer("batch", "pool", "show", "--pool-id", "other")
        return found if found["allocationState"] == "steady" else None

    shown = until(steady, "the pool is steady")
    assert shown["vmSize"].lower() == "standard_nc4as_t4_v3"
    assert shown["currentDedicatedNodes"] == 0
    az.answer("batch", "pool", "resize", "--pool-id", "other", "--target-dedicated-nodes", "1")
    assert az.answer("batch", "pool", "show", "--pool-id", "other")["targetDedicatedNodes"] == 1
    az.answer("batch", "pool", "delete", "--pool-id", "other", "--yes")
    until(lambda: "other" not in [one["id"] for one in az.answer("batch", "pool", "list")], "the pool is gone")


def test_a_jobs_task_runs_and_its_files_are_fetched(az: AzureCli, pool: str, tmp_path: Path) -> None:
    az.answer("batch", "job", "create", "--id", "hello", "--pool-id", pool)
    assert az.answer("batch", "job", "show", "--job-id", "hello")["poolInfo"]["poolId"] == pool
    command = "/bin/bash -c 'echo it is $AZ_BATCH_TASK_ID; echo made > made.txt'"
    az.answer("batch", "task", "create", "--job-id", "hello", "--task-id", "first", "--command-line", command)
    task = until(lambda: ended(az, "hello", "first"), "the task has ended")
    assert (task["executionInfo"]["exitCode"], task["executionInfo"]["result"].lower()) == (0, "success")
    files = [
        one["name"]
        for one in az.answer("batch", "task", "file", "list", "--job-id", "hello", "--task-id", "first", "--recursive")
    ]
    assert {"stdout.txt", "stderr.txt", "wd/made.txt"} <= set(files)
    for file, expected in (("stdout.txt", "it is first\n"), ("wd/made.txt", "made\n")):
        target = tmp_path / Path(file).name
        where = ("--job-id", "hello", "--task-id", "first", "--file-path", file, "--destination", str(target))
        az.answer("batch", "task", "file", "download", *where)
        assert target.read_text(encoding="utf-8") == expected
    az.answer("batch", "job", "delete", "--job-id", "hello", "--yes")
    until(lambda: az("batch", "job", "show", "--job-id", "hello").returncode != 0, "the job is gone")


def test_an_application_package_is_uploaded_activated_and_made_the_default(
    az: AzureCli, group: str, account: str, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "tool.zip", "w") as package:
        package.writestr("tool.sh", "echo the tool\n")
    here = ("--resource-group", group, "--name", account, "--application-name", "tool")
    az.answer("batch", "application", "create", *here)
    file = ("--version-name", "1.0", "--package-file", str(tmp_path / "tool.zip"))
    az.answer("batch", "application", "package", "create", *here, *file)
    package = az.answer("batch", "application", "package", "show", *here, "--version-name", "1.0")
    assert package["state"].lower() == "active"
    az.answer("batch", "application", "package", "activate", *here, "--version-name", "1.0", "--format", "zip")
    az.answer("batch", "application", "set", *here, "--default-version", "1.0")
    assert az.answer("batch", "application", "show", *here)["defaultVersion"] == "1.0"
    assert [one["name"] for one in az.answer("batch", "application", "list", "--resource-group", group, "--name", account)] == [
        "tool"
    ]
    az.answer("batch", "application", "set", *here, "--default-version", "")
    az.answer("batch", "application", "package", "delete", *here, "--version-name", "1.0", "--yes")
    az.answer("batch", "application", "delete", *here, "--yes")


def test_a_shared_key_signs_in_too(az: AzureCli, group: str, account: str, pool: str) -> None:
    here = ("--resource-group", group, "--name", account)
    az.answer("batch", "account", "login", *here, "--shared-key-auth")
    try:
        assert pool in [one["id"] for one in az.answer("batch", "pool", "list")]
    finally:
        az.answer("batch", "account", "login", *here)


def test_a_size_that_is_gone_is_refused_in_batchs_own_words(az: AzureCli, account: str) -> None:
    _, said = az.refusal("batch", "pool", "create", "--id", "old", "--vm-size", "Standard_NC6", *IMAGE)
    assert "InvalidPropertyValue" in said
    assert "Standard_NC6" in said
