"""What deployments, nodes of computes and virtual machines cost, by what ARM says of them."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from azure_gpu_operations.azure import Arm
from azure_gpu_operations.running_rows import machine_usd, machine_words, of_compute, of_endpoint
from azure_gpu_operations.virtual_machines import Machine, machine_of

SIZE = "Standard_NC4as_T4_v3"
T4 = Decimal("0.526")  # USD an hour in East US, of 2026-06-18


class Written(Arm):
    """One that knows what is written down."""

    def __init__(self, bodies: dict[str, dict[str, Any]], lists: dict[str, list[dict[str, Any]]] | None = None) -> None:
        self.bodies, self.lists = bodies, lists or {}

    def get(self, resource_id: str, api_version: str, **query: str) -> dict[str, Any] | None:
        return self.bodies.get(resource_id)

    def values(self, path: str, api_version: str, **query: str) -> Iterator[dict[str, Any]]:
        yield from self.lists.get(path, [])


def deployment(name: str, instances: int, state: str = "Succeeded", kind: str = "Managed") -> dict[str, Any]:
    properties = {"provisioningState": state, "endpointComputeType": kind, "instanceType": SIZE}
    created = {"createdAt": "2026-11-22T06:00:00Z"}
    return {
        "id": f"/e/deployments/{name}",
        "name": name,
        "sku": {"capacity": instances},
        "properties": properties,
        "systemData": created,
    }


def rows(*deployments: dict[str, Any], traffic: dict[str, int]) -> list[Any]:
    endpoint = {"id": "/e", "name": "e", "location": "eastus", "properties": {"traffic": traffic, "mirrorTraffic": {"green": 5}}}
    return list(of_endpoint(Written({"/e": endpoint}, {"/e/deployments": list(deployments)}), "/e", "digits"))


def test_each_deployment_has_a_row_with_its_instances_its_traffic_and_its_cost() -> None:
    blue, green = rows(deployment("blue", 2), deployment("green", 1), traffic={"blue": 90, "green": 10})
    assert (blue.name, blue.usd_hour) == ("digits/blue", 2 * T4)
    assert blue.state == f"2 instances of {SIZE}, 90 % of the traffic"
    assert green.state == f"1 instance of {SIZE}, 10 % of the traffic, 5 % mirrored"
    assert green.since is not None


def test_what_runs_on_a_cluster_costs_what_its_nodes_do_and_what_failed_costs_nothing() -> None:
    (only,) = rows(deployment("blue", 1, kind="Kubernetes"), deployment("green", 1, "Failed"), traffic={"blue": 100})
    assert (only.name, only.counted) == ("digits/blue", False)


def compute(count: int, kind: str = "AmlCompute") -> list[Any]:
    inner = {"vmSize": SIZE, "vmPriority": "Dedicated", "currentNodeCount": count, "nodeStateCounts": {"runningNodeCount": 1}}
    body = {"id": "/c", "location": "eastus", "properties": {"computeType": kind, "properties": inner}}
    return list(of_compute(Written({"/c": body}), "/c", "t4"))


def test_a_compute_runs_as_long_as_it_has_nodes() -> None:
    (row,) = compute(2)
    assert (row.state, row.usd_hour) == (f"2 nodes of {SIZE}, 1 at work", 2 * T4)
    assert compute(0) == []
    assert compute(1, "Kubernetes") == [], "a cluster has rows of its own"


@pytest.mark.parametrize(
    ("power", "words", "usd_hour"),
    [
        ("running", f"running {SIZE}", T4),
        ("stopped", f"stopped {SIZE}, billed as if it ran: it isn't deallocated", T4),
        ("deallocated", f"deallocated {SIZE}, its disks are billed", Decimal("0.0270")),  # 19.71 USD a month
    ],
)
def test_a_machine_that_is_only_stopped_is_billed_on_and_a_deallocated_one_for_its_disk(
    power: str, words: str, usd_hour: Decimal
) -> None:
    machine = Machine("/vm", "vm", "Succeeded", power, size=SIZE, location="eastus", disk_type="Premium_LRS", disk_gib=128)
    assert machine_words(machine) == words
    assert machine_usd(machine) == usd_hour


def test_a_machine_is_read_from_its_body_and_its_view() -> None:
    disk = {"osType": "Linux", "diskSizeGB": 128, "managedDisk": {"storageAccountType": "Premium_LRS"}}
    body = {
        "id": "/vm",
        "name": "vm",
        "location": "eastus",
        "properties": {
            "provisioningState": "Succeeded",
            "hardwareProfile": {"vmSize": SIZE},
            "storageProfile": {"osDisk": disk},
            "priority": "Spot",
        },
    }
    statuses = [{"code": "ProvisioningState/succeeded"}, {"code": "PowerState/deallocated"}]
    view = {
        "statuses": statuses,
        "extensions": [{"name": "d", "type": "T", "statuses": [{"code": "ProvisioningState/failed/1", "message": "no"}]}],
    }
    found = machine_of(body, view)
    assert (found.power, found.size, found.spot, found.disk_gib) == ("deallocated", SIZE, True, 128)
    assert [(each.name, each.state, each.message) for each in found.extensions] == [("d", "failed", "no")]
