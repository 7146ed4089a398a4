"""The pool that a run goes to, and what speaks against it, in the words of the stack file; the quotas that its nodes need."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from azure_gpu.formats.task_file import Task, TaskFile
from azure_gpu_operations.batch.pool_facts import PoolFacts, facts_of
from azure_gpu_operations.connection import Connection
from azure_gpu_operations.run.context import of_folder, of_script
from azure_gpu_operations.run.on_batch.find_pool import check, quota_problems
from azure_gpu_operations.run.on_batch.request import BatchRequest, check as check_outputs
from azure_gpu_operations.run.target import Target
from azure_gpu_operations.stack_view import StackView
from tests.operations.batch_answers import pool, scaled

VIEW = StackView("dev", Connection("s"), pools={"train": "/a/pools/train-1"}, registry="/r", storage="/st")
POOL = PoolFacts("train-1", "Standard_NC4as_T4_v3", identities=("/i",), formula="$x")
ROWS = yaml.load((Path(__file__).parent / "pools_for_runs.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
TARGETS = {
    "script": Target(of_script("train.py", "", "", "python:3.11-slim")),
    "folder": Target(of_folder("mnist", {"Dockerfile": b'FROM a\nENTRYPOINT ["python"]\n'})),
    "shell": Target(of_folder("mnist", {"Dockerfile": b"FROM a\nENTRYPOINT python x.py\n"})),
    "none": Target(),
}


def wanted(target: Target, asked: Mapping[str, Any], **fields: Any) -> BatchRequest:
    return BatchRequest(target, TaskFile((Task(**{"id": "main", "command": "", "path": "TARGET", **fields}),)), **asked)


@pytest.mark.parametrize("row", [*ROWS["refused"], *ROWS["taken"]])
def test_what_a_pool_can_not_do_is_refused_and_all_else_taken(row: Mapping[str, Any]) -> None:
    facts = POOL._replace(has_containers=row.get("containers", False), **row.get("pool", {}))
    target = Target(image=row["image"]) if "image" in row else TARGETS[row.get("target", "script")]
    asked = wanted(target, row.get("asked", {}), **row.get("task", {}))
    found = [str(problem) for problem in check(VIEW._replace(**row.get("view", {})), "train", facts, asked)]
    expected = [row["said"]] if "said" in row else []
    assert [text for text, part in zip(found, expected, strict=True) if part not in text] == []


def test_files_of_tasks_need_a_storage_account() -> None:
    asked = wanted(TARGETS["script"], {"outputs": ("*",)})
    assert "no storage account" in str(check_outputs(VIEW._replace(storage=""), "train", asked)[0])


def test_a_pool_is_read_as_batch_answers_it() -> None:
    answered = scaled(
        virtualMachineConfiguration={
            "imageReference": {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2204"},
            "nodeAgentSKUId": "batch.node.ubuntu 22.04",
            "containerConfiguration": {
                "type": "dockerCompatible",
                "containerRegistries": [{"registryServer": "Reg.azurecr.io", "identityReference": {"resourceId": "/i"}}],
            },
        },
        identity={"type": "UserAssigned", "userAssignedIdentities": [{"resourceId": "/i"}]},
        enableInterNodeCommunication=True,
    )
    facts = facts_of(answered)
    assert (facts.has_containers, facts.is_windows, facts.inter_node, facts.mpi) == (True, False, True, "")
    assert facts.image_mpi == "hpcx"
    assert (facts.registries, facts.identities) == ((("reg.azurecr.io", "/i"),), ("/i",))
    assert facts_of(pool(metadata=[{"name": "mpi", "value": "intel_mpi"}])).mpi == "intel_mpi"


T4_POOL = PoolFacts("train-1", "Standard_NC4as_T4_v3", inter_node=True, formula="$TargetDedicatedNodes = 8;")
SPOT_POOL = T4_POOL._replace(formula="$TargetLowPriorityNodes = 8;")
MIXED_POOL = T4_POOL._replace(formula="", target_dedicated=4, target_spot=4)
T4 = [{"name": "Standard NCASv3_T4 Family", "coreQuota": 8}]  # two nodes of four vCPUs


def said(nodes: int, pool: PoolFacts = T4_POOL, **properties: Any) -> list[str]:
    wanted = BatchRequest(Target(), TaskFile((Task("main", "x", "TARGET", nodes=nodes),)))
    limits = {"dedicatedCoreQuotaPerVMFamilyEnforced": True, "dedicatedCoreQuotaPerVMFamily": T4, "lowPriorityCoreQuota": 4}
    account = {"name": "batch", "location": "eastus", "properties": {**limits, **properties}}
    return [str(problem) for problem in quota_problems(pool, wanted, account)]


def test_more_nodes_than_the_familys_quota_is_refused_with_what_to_ask_for() -> None:
    (problem,) = said(4)
    assert problem.startswith("--nodes: ")
    assert "in Batch account batch" in problem
    assert "16" in problem, "vCPUs that four nodes need"


@pytest.mark.parametrize(
    ("nodes", "pool", "properties"),
    [
        (2, T4_POOL, {}),
        (1, T4_POOL, {"dedicatedCoreQuotaPerVMFamily": []}),  # a task on one node waits, and its pool says for what
        (4, MIXED_POOL, {}),
        (4, T4_POOL, {"poolAllocationMode": "UserSubscription"}),
        (4, T4_POOL, {"dedicatedCoreQuotaPerVMFamilyEnforced": False, "dedicatedCoreQuota": 16}),
    ],
)
def test_what_may_run_is_taken(nodes: int, pool: PoolFacts, properties: dict[str, Any]) -> None:
    assert said(nodes, pool, **properties) == []


def test_spot_nodes_have_a_quota_of_their_own() -> None:
    assert len(said(2, SPOT_POOL)) == 1
    assert said(2, SPOT_POOL, lowPriorityCoreQuota=8) == []
