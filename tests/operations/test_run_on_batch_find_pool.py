"""The pool that a run goes to, and what speaks against it, in the words of the stack file."""

from datetime import date
from typing import Any

import pytest

from azure_gpu.formats.task_file import Task, TaskFile
from azure_gpu_operations.batch.pool_facts import PoolFacts, facts_of
from azure_gpu_operations.connection import Connection
from azure_gpu_operations.run.context import of_folder, of_script
from azure_gpu_operations.run.on_batch.find_pool import check, check_end, check_stack
from azure_gpu_operations.run.on_batch.request import BatchRequest
from azure_gpu_operations.run.target import Target
from azure_gpu_operations.stack_view import StackView
from tests.operations.batch_answers import pool, scaled

VIEW = StackView("dev", Connection("s"), pools={"train": "/a/pools/train-1"}, registry="/r", storage="/st")
POOL = PoolFacts("train-1", "Standard_NC4as_T4_v3", identities=("/i",), formula="$x")
CONTAINERS = POOL._replace(has_containers=True)
SCRIPT = Target(of_script("train.py", "", "", "python:3.11-slim"))
FOLDER = Target(of_folder("mnist", {"Dockerfile": b'FROM a\nENTRYPOINT ["python"]\n'}))
SHELL_FORM = Target(of_folder("mnist", {"Dockerfile": b"FROM a\nENTRYPOINT python x.py\n"}))


def wanted(target: Target, **fields: Any) -> BatchRequest:
    outputs = fields.pop("outputs", ())
    return BatchRequest(target, TaskFile((Task(**{"id": "main", "command": "", "path": "TARGET", **fields}),)), outputs=outputs)


def said(pool_facts: PoolFacts, asked: BatchRequest, view: StackView = VIEW) -> list[str]:
    return [str(problem) for problem in check(view, "train", pool_facts, asked)]


@pytest.mark.parametrize(
    ("facts", "asked", "message"),
    [
        (POOL, wanted(FOLDER), "the pool runs no containers"),
        (POOL, wanted(Target(image="r/x:1")), "the pool runs no containers"),
        (POOL, wanted(Target(), command="x", image="r/x:1"), "the pool runs no containers"),
        (POOL._replace(is_windows=True), wanted(SCRIPT), "Windows nodes have no Python"),
        (POOL._replace(identities=()), wanted(SCRIPT), "no identity on its pool"),
        (POOL._replace(formula=""), wanted(SCRIPT), "the pool has no nodes and no autoscale formula"),
        (POOL._replace(state="deleting"), wanted(SCRIPT), "the pool is being deleted"),
        (POOL, wanted(SCRIPT, nodes=2), "a pool with inter-node communication"),
        (POOL._replace(inter_node=True, slots=4), wanted(SCRIPT, nodes=2), "a pool with one task slot per node"),
        (
            POOL._replace(inter_node=True, formula="", target_dedicated=2),
            wanted(SCRIPT, nodes=3),
            "the pool has fewer nodes than one task requests",
        ),
        (
            POOL._replace(inter_node=True, formula="$TargetDedicatedNodes = min(2, $PendingTasks.GetSample(1));"),
            wanted(SCRIPT, nodes=3),
            "the pool gets fewer nodes than one task requests; given: 3; allowed: 1 to 2",
        ),
        (CONTAINERS, wanted(Target(), command="nvidia-smi"), "the pool runs tasks in containers"),
        (
            CONTAINERS._replace(inter_node=True),
            wanted(SCRIPT, nodes=2)._replace(processes=4),
            "where mpirun isn't supported",
        ),
        (CONTAINERS._replace(inter_node=True), wanted(SHELL_FORM, nodes=2), "the image's command isn't known"),
        (
            POOL._replace(inter_node=True, is_windows=True),
            wanted(Target(), command="x.exe", nodes=2),
            "workers require Linux",
        ),
        (POOL, wanted(SCRIPT)._replace(gpus=2), "has fewer GPUs; given: 2; allowed: 0 to 1"),
        (POOL._replace(size="Standard_HB120rs_v3"), wanted(SCRIPT)._replace(gpus=1), "has no GPU; given: 1; allowed: 0"),
        (POOL._replace(size="Standard_NC64as_T4_v3", slots=4), wanted(SCRIPT)._replace(gpus=2), "the same first GPUs"),
        (CONTAINERS, wanted(SHELL_FORM, command="$AZ_BATCH_TASK_ID"), "the image's command isn't known"),
        (CONTAINERS._replace(identities=()), wanted(FOLDER, outputs=("*",)), "no identity for access to the storage account"),
    ],
)
def test_what_a_pool_can_not_do_is_refused(facts: PoolFacts, asked: BatchRequest, message: str) -> None:
    found = said(facts, asked)
    assert [message in text for text in found] == [True], found


@pytest.mark.parametrize(
    ("facts", "asked"),
    [
        (POOL, wanted(SCRIPT)),
        (POOL, wanted(Target(), command="nvidia-smi")),
        (POOL._replace(inter_node=True), wanted(SCRIPT, nodes=2)),
        (CONTAINERS._replace(inter_node=True), wanted(FOLDER, nodes=2)),
        (POOL._replace(inter_node=True, is_windows=True, mpi="microsoft_mpi"), wanted(Target(), command="x.exe", nodes=2)),
        (POOL._replace(size="Standard_NC64as_T4_v3"), wanted(SCRIPT)._replace(gpus=2)),
        (POOL._replace(slots=4), wanted(SCRIPT)._replace(gpus=1)),
        (CONTAINERS, wanted(SCRIPT)),
        (CONTAINERS, wanted(FOLDER)),
        (CONTAINERS, wanted(Target(), command="x", image="r/x:1")),
        (POOL._replace(formula="", target_spot=1), wanted(SCRIPT)),
    ],
)
def test_what_a_pool_can_do_is_taken(facts: PoolFacts, asked: BatchRequest) -> None:
    assert said(facts, asked) == []


def test_files_of_tasks_need_a_storage_account_and_an_image_a_registry() -> None:
    assert "no storage account" in str(check_stack(VIEW._replace(storage=""), wanted(SCRIPT, outputs=("*",)))[0])
    assert "the stack has no registry" in said(CONTAINERS, wanted(SCRIPT), VIEW._replace(registry=""))[0]


def test_a_pool_past_its_end_is_warned_about() -> None:
    ended = VIEW._replace(expires_at={"train": "2026-11-20T00:00:00Z"})
    assert "the pool expired on 2026-11-20" in str(check_end(ended, "train", date(2026, 11, 21))[0])
    assert check_end(ended, "train", date(2026, 11, 19)) == []


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


def test_of_a_pool_without_nodes_no_range_of_nodes_is_told() -> None:
    found = said(POOL._replace(inter_node=True, formula=""), wanted(SCRIPT, nodes=2))
    assert len(found) == 1
    assert "after a drain run `pulumi up --refresh`" in found[0]
