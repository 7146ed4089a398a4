"""What `up` does about pools: which the engine deletes before their successors come, and how a pool gives its nodes up."""

from typing import Any

import pytest

from azure_gpu.stack.requests import PackageUse
from azure_gpu_operations.azure import AzureError
from azure_gpu_operations.batch.account import Counts
from azure_gpu_operations.batch.drain import drain
from azure_gpu_operations.pool_steps import keeps_its_name, replaced_first
from azure_gpu_operations.preflight.packages import inactive
from tests.operations.batch_answers import node, pool, scaled
from tests.upgrades import records

TYPE = "azure-native:batch:Pool"
URN = f"urn:pulumi:dev::azure-gpu::{TYPE}::train"


def step(operation: str, follows: str, kind: str = TYPE) -> dict[str, Any]:
    """As `pulumi preview --json` tells it."""
    old = {"type": kind, "id": "/a/pools/train", "inputs": {"poolName": "train"}}
    return {"op": operation, "urn": URN, "oldState": old, "newState": {"type": kind, "inputs": {"poolName": follows}}}


def test_a_pool_whose_successor_has_its_name_goes_first_and_is_drained() -> None:
    assert list(replaced_first([step("replace", "train")])) == ["/a/pools/train"]


def test_a_pool_that_stands_until_its_successor_is_there_is_not() -> None:
    assert list(replaced_first([step("replace", "train-1a2b3c4d"), step("update", "train"), {"op": "create", "urn": URN}])) == []


@pytest.mark.parametrize(
    ("state", "name", "keeps"),
    [("pool.happy.defaults", "train-4d116c85", False), ("pool.happy.mpi", "ring", True)],
    ids=["side-by-side", "drain-first"],
)
def test_only_a_pool_that_stands_beside_its_successor_has_another_name_for_each_form(state: str, name: str, keeps: bool) -> None:
    [found] = [each for each in records.load(state)["state"]["resources"] if each["type"] == TYPE]
    assert found["id"].endswith(f"/{name}")
    assert keeps_its_name(found) is keeps


def test_a_name_that_ends_in_a_hash_because_it_was_cut_stays() -> None:
    assert keeps_its_name({"id": "/a/pools/a-very-long-name-1a2b3c4d", "replacementTrigger": "99999999"})


def test_other_resources_are_no_pools() -> None:
    assert list(replaced_first([step("replace", "train", "azure-native:batch:BatchAccount")])) == []


class Account:
    """A pool whose nodes go one a look."""

    location = "eastus"

    def __init__(self, found: Any, nodes: int) -> None:
        self.found, self.left = found, nodes
        self.told: list[str] = []

    def pool(self, pool_id: str) -> Any:
        return self.found

    def nodes(self, pool_id: str) -> list[Any]:
        self.left -= 1
        return [node("running", str(number), runningTasksCount=1) for number in range(self.left)]

    def stop_resize(self, pool_id: str) -> None:
        self.told.append("stop the resize")
        self.found = pool()

    def empty(self, found: Any) -> None:
        self.told.append("give the nodes up")

    def jobs_on(self, pool_id: str) -> list[Any]:
        return [type("Job", (), {"id": "run-x"})]

    def counts(self, job_id: str) -> Counts:
        return Counts(active=3)


def drained(account: Any, seconds: float = 100.0) -> tuple[bool, list[str]]:
    said: list[str] = []
    time = [0.0]

    def sleep(passed: float) -> None:
        time[0] += passed

    done = drain(account, "train", "train", said.append, limit_seconds=seconds, sleep=sleep, clock=lambda: time[0])
    return done, said


def test_a_pool_gives_its_nodes_up_when_their_tasks_have_ended() -> None:
    account = Account(scaled(), 4)
    done, said = drained(account)
    assert done
    assert account.told == ["give the nodes up"]
    assert "the pool train has 2 nodes, 2 tasks running" in said
    assert said[-1] == "the pool train has no nodes any more; 3 tasks wait for nodes"


def test_a_resize_that_goes_on_is_stopped_first() -> None:
    account = Account(scaled(allocationState="resizing"), 3)
    assert drained(account)[0]
    assert account.told == ["stop the resize", "give the nodes up"]


def test_tasks_that_take_longer_than_one_waits_are_told() -> None:
    done, said = drained(Account(scaled(), 1000), seconds=12)
    assert not done
    assert "it continues to remove them" in said[-1]


def test_a_pool_that_is_not_there_can_not_be_drained() -> None:
    with pytest.raises(AzureError, match="doesn't exist"):
        drained(Account(None, 1))


ACCOUNT = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Batch/batchAccounts/batchabc"


@pytest.mark.parametrize(
    ("state", "account", "message"),
    [
        ("pending", ACCOUNT, "the application package GPUDriver 411.82 is pending"),
        ("", ACCOUNT, "the Batch account has no application package GPUDriver 411.82"),
        ("", "", "the Batch account isn't created yet"),
    ],
)
def test_a_package_that_is_not_active_is_refused_with_what_pushes_it(state: str, account: str, message: str) -> None:
    use = PackageUse(application="GPUDriver", version="411.82", path="pools.train.packages.GPUDriver")
    (problem,) = inactive([use], [state], account)
    assert message in str(problem)
    assert "package create --application-name GPUDriver --version-name 411.82" in str(problem)
    assert (" --name batchabc --resource-group rg" in str(problem)) == bool(account)
    assert inactive([use], ["active"], account) == []
