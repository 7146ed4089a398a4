"""What was refused is found by its name in the stack's file: the plan says what Azure would call it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from azure_gpu_operations import azure, planned
from azure_gpu_operations.__main__ import main
from azure_gpu_operations.connection import Connection
from azure_gpu_operations.explain import command, planned_names
from azure_gpu_operations.stack_view import StackView
from tests.support.embedded import CHECKOUT

GROUP = "/subscriptions/s/resourceGroups/azure-gpu-vision-dev"
CLUSTER = f"{GROUP}/providers/Microsoft.ContainerService/managedClusters/azure-gpu-vision-dev-gpu"
LONG = "trainer-of-everything-that-is-to-be-known-tonight"
FILE = f"""\
config:
  azure-native:subscriptionId: 00000000-0000-0000-0000-000000000000
  azure-gpu:team: vision
  azure-gpu:location: westeurope
  azure-gpu:container_groups:
    check: {{image: "a.io/b:1"}}
    {LONG}: {{image: "a.io/b:1"}}
  azure-gpu:batch_account: create
  azure-gpu:pools:
    train: {{size: Standard_NC4as_T4_v3, expires_after: "2026-12-31", replace: side-by-side}}
  azure-gpu:clusters:
    gpu:
      gpu_pools: {{t4: {{size: Standard_NC4as_T4_v3, replace: side-by-side}}}}
      expires_after: "2026-12-31"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "Pulumi.dev.yaml"
    made.write_text(FILE)
    return made


class Silent:
    """An ARM that has nothing but refusals in its activity log."""

    subscription_id = "s"
    refused: tuple[str, ...] = ()

    def __init__(self, _: Connection) -> None:
        pass

    def get(self, resource_id: str, api_version: str, **query: str) -> None:
        return None

    def values(self, path: str, api_version: str, **query: str) -> Iterator[dict[str, Any]]:
        if not path.endswith("eventtypes/management/values"):
            return
        for resource_id in self.refused:
            if "resourceUri" not in query["$filter"] or f"'{resource_id}'" in query["$filter"]:
                error = {"code": "QuotaExceeded", "message": "results in exceeding approved quota"}
                yield {
                    "resourceId": resource_id,
                    "status": {"value": "Failed"},
                    "operationName": {"value": "write"},
                    "eventTimestamp": "2026-11-21T20:00:00Z",
                    "properties": {"statusMessage": json.dumps({"error": error})},
                }

    def close(self) -> None:
        pass


class Asked:
    """`explain NAME --stack dev` where these ids were refused."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder, self._capsys, self._patch = folder, capsys, monkeypatch
        self._patch.setattr(azure, "Arm", Silent)

    def __call__(self, name: str, *refused: str, told: str = "", **view: Any) -> dict[str, Any] | None:
        """What it says; None where nothing is called so, or what it is told of instead."""
        self._patch.setattr(Silent, "refused", refused)
        seen = StackView("dev", Connection("s"), resource_group="azure-gpu-vision-dev", **view)
        self._patch.setattr(command, "view", lambda _: seen)
        code = main(["explain", name, "--stack", "dev", "--config-folder", str(self._folder), "--json"])
        shown = self._capsys.readouterr()
        if code == 2:
            assert (told or f"stack dev has no '{name}'") in shown.err
            return None
        return json.loads(shown.out)


@pytest.fixture
def ask(file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(file.parent, capsys, monkeypatch)


def test_a_group_whose_name_is_cut_in_azure_is_found_by_its_name_in_the_file(ask: Asked, file: Path) -> None:
    [planned_group] = planned_names.of(file, "dev", LONG)
    assert not planned_group.name.endswith(LONG)
    told = ask(LONG, f"{GROUP}/providers/{planned_group.arm_type}/{planned_group.name}")
    assert told is not None
    assert (told["name"], told["cause"]) == (LONG, "QUOTA")


def test_a_group_is_found_by_the_files_name_and_by_its_own_in_azure_and_no_other_for_it(ask: Asked) -> None:
    groups = f"{GROUP}/providers/Microsoft.ContainerInstance/containerGroups"
    for name in ("check", "azure-gpu-vision-dev-check"):
        told = ask(name, f"{groups}/azure-gpu-vision-dev-check")
        assert told is not None
        assert told["cause"] == "QUOTA"
    assert ask("check", f"{groups}/somebodys-check") is None
    assert ask("check", f"{GROUP}/providers/Microsoft.Storage/storageAccounts/azure-gpu-vision-dev-check") is None


def test_a_cluster_that_was_refused_is_explained_as_one(ask: Asked) -> None:
    told = ask("gpu", CLUSTER)
    assert told is not None
    assert (told["kind"], told["cause"]) == ("cluster", "QUOTA")


@pytest.mark.parametrize("name", ["gpu/t4", "t4"])
def test_a_pool_of_a_cluster_that_was_refused_is_found_by_the_name_that_aks_would_have(ask: Asked, file: Path, name: str) -> None:
    planned_pool = planned_names.of_pool(file, "dev", "gpu", "t4")
    assert planned_pool.startswith("t4")
    assert planned_pool != "t4"
    told = ask(name, f"{CLUSTER}/agentPools/{planned_pool}", clusters={"gpu": CLUSTER})
    assert told is not None
    assert (told["kind"], told["cause"]) == ("pool of a cluster", "QUOTA")
    assert name != "gpu/t4" or told["name"] == name


def test_without_a_file_that_can_be_read_only_names_of_azure_are_known(ask: Asked, file: Path) -> None:
    file.write_text("config: [")
    refused = f"{GROUP}/providers/Microsoft.ContainerInstance/containerGroups/azure-gpu-vision-dev-check"
    assert ask("check", refused) is None
    assert ask("azure-gpu-vision-dev-check", refused) is not None
    assert planned_names.of_pool(file, "dev", "gpu", "t4") == ""


def test_every_name_of_the_plan_is_found_under_what_the_file_calls_its_part(file: Path) -> None:
    named = {each.path: each for each in planned.inventory(CHECKOUT, file, "dev").names}
    for path in (
        "container_groups.check",
        f"container_groups.{LONG}",
        "pools.train",
        "clusters.gpu",
        "clusters.gpu.gpu_pools.t4",
    ):
        assert named[path] in planned_names.of(file, "dev", path.rpartition(".")[2])


def test_what_is_off_is_told_from_what_is_not_there(ask: Asked, file: Path) -> None:
    file.write_text(FILE.replace("train: {size", "train: {enabled: false, size"))
    assert ask("train", told="pools.train is switched off: enabled: false in Pulumi.dev.yaml") is None
    assert ask("trainer") is None
