"""A task over more nodes than the account's quotas allow is refused before anything starts."""

from typing import Any

import pytest

from azure_gpu.formats.task_file import Task, TaskFile
from azure_gpu_operations.batch.pool_facts import PoolFacts
from azure_gpu_operations.run.on_batch.find_pool import quota_problems
from azure_gpu_operations.run.on_batch.request import BatchRequest
from azure_gpu_operations.run.target import Target

POOL = PoolFacts("train-1", "Standard_NC4as_T4_v3", inter_node=True, formula="$TargetDedicatedNodes = 8;")
SPOT = POOL._replace(formula="$TargetLowPriorityNodes = 8;")
BOTH = POOL._replace(formula="", target_dedicated=4, target_spot=4)
T4 = [{"name": "Standard NCASv3_T4 Family", "coreQuota": 8}]  # two nodes of four vCPUs


def said(nodes: int, pool: PoolFacts = POOL, **properties: Any) -> list[str]:
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
        (2, POOL, {}),
        (1, POOL, {"dedicatedCoreQuotaPerVMFamily": []}),  # a task on one node waits, and its pool says for what
        (4, BOTH, {}),
        (4, POOL, {"poolAllocationMode": "UserSubscription"}),
        (4, POOL, {"dedicatedCoreQuotaPerVMFamilyEnforced": False, "dedicatedCoreQuota": 16}),
    ],
)
def test_what_may_run_is_taken(nodes: int, pool: PoolFacts, properties: dict[str, Any]) -> None:
    assert said(nodes, pool, **properties) == []


def test_spot_nodes_have_a_quota_of_their_own() -> None:
    assert len(said(2, SPOT)) == 1
    assert said(2, SPOT, lowPriorityCoreQuota=8) == []
