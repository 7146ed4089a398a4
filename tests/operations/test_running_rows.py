"""What runs and what it costs: unknown stays unknown, and a total says so."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from azure_gpu_operations import azure, running
from azure_gpu_operations.azure import Arm
from azure_gpu_operations.connection import Connection
from azure_gpu_operations.running_report import MACHINE, Row, as_json, show, stop_command, total
from azure_gpu_operations.running_rows import group_row, machine_usd, machine_words, of_compute, of_endpoint
from azure_gpu_operations.stack_view import StackView
from azure_gpu_operations.virtual_machines import Machine, machine_of

NOW = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)
BEGAN = datetime(2026, 11, 21, 18, 30, tzinfo=UTC)
EXECUTION = Row("train", "job execution", "Running", "/j/executions/e", "dev", BEGAN, None, Decimal("0.8"))
GROUP = Row("web", "container group", "Running", "/g", "dev", BEGAN, datetime(2026, 11, 20, tzinfo=UTC))


def group(state: str | None, started: str | None = "2026-11-21T18:30:00Z", **more: Any) -> dict[str, Any]:
    current = {"currentState": {"state": "Running", "startTime": started}} if started else {}
    properties = {
        "provisioningState": "Succeeded",
        "instanceView": {"state": state} if state else {},
        "containers": [{"name": "c", "properties": {"instanceView": current}}],
    }
    return {"id": "/g", "name": "g", "properties": properties, **more}


def test_a_cost_so_far_is_the_hours_price_times_its_hours_where_both_are_known() -> None:
    assert EXECUTION.so_far(NOW) == Decimal("1.2")
    assert GROUP.so_far(NOW) is None
    assert EXECUTION._replace(since=None).so_far(NOW) is None


def test_an_execution_has_the_command_that_stops_it() -> None:
    job = "/subscriptions/s/resourceGroups/g/providers/Microsoft.App/jobs/trainer"
    told = stop_command(EXECUTION._replace(id=f"{job}/executions/trainer-abc"))
    assert told == "az containerapp job stop --name trainer --resource-group g --job-execution-name trainer-abc"
    assert stop_command(GROUP) == ""


def test_a_machine_is_stopped_by_its_name_in_the_stack_else_by_its_id() -> None:
    machine = Row("trainer", MACHINE, "running Standard_NC4as_T4_v3", "/vm", "dev")
    assert stop_command(machine).endswith(" stop trainer --stack dev")
    assert stop_command(machine._replace(stack="")) == "az vm deallocate --ids /vm"
    assert stop_command(machine._replace(state="deallocated Standard_NC4as_T4_v3")) == ""


def test_a_total_of_known_and_unknown_says_what_it_leaves_out() -> None:
    assert str(total([Decimal("0.5"), Decimal("0.25")])) == "0.75 USD"
    assert str(total([Decimal("0.5"), None])) == "at least 0.50 USD (1 cost isn't known)"
    assert str(total([Decimal("0.5"), None, None])) == "at least 0.50 USD (2 costs aren't known)"
    assert str(total([None])) == "not known"
    assert str(total([])) == "0.00 USD"


@pytest.mark.parametrize("state", ["Running", "Pending", "Repairing", "Succeeded", "Failed", "Stopped"])
@pytest.mark.parametrize("started", ["2026-11-21T18:30:00Z", None])
def test_a_group_runs_until_it_has_ended_and_has_a_beginning_once_it_began(state: str, started: str | None) -> None:
    row = group_row(group(state, started, tags={"expires-at": "2026-11-28T00:00:00Z"}), "g")
    ended = state in ("Succeeded", "Failed", "Stopped")
    expected = (state, BEGAN if started else None, datetime(2026, 11, 28, tzinfo=UTC))
    assert (row and (row.state, row.since, row.expires_at)) == (None if ended else expected)


def test_the_table_shows_each_with_its_times_and_costs_and_the_total(capsys: pytest.CaptureFixture[str]) -> None:
    show([EXECUTION, GROUP], NOW)
    text = capsys.readouterr().out
    assert "2026-11-21 18:30 UTC" in text
    assert "0.80 USD" in text
    assert "1.20 USD" in text
    assert "2026-11-20 00:00 UTC, passed" in text
    assert "no end" in text
    assert "not known" in text
    assert "together an hour: at least 0.80 USD (1 cost isn't known); so far: at least 1.20 USD (1 cost isn't known)" in text


def test_nothing_that_runs_is_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    show([], NOW)
    assert capsys.readouterr().out == "nothing is running\n"


def test_json_has_null_for_what_is_not_known() -> None:
    data = json.loads(json.dumps(as_json([EXECUTION, GROUP], NOW)))
    first, second = data["running"]
    assert (first["usd_hour"], first["usd_so_far"], first["expires_at"]) == (0.8, 1.2, None)
    assert (second["usd_hour"], second["usd_so_far"]) == (None, None)
    assert (data["usd_hour"], data["usd_so_far"], data["without_known_cost"]) == (0.8, 1.2, 1)


def test_the_end_that_a_stack_gives_counts_before_the_tag() -> None:
    view = StackView("dev", Connection("s"), expires_at={"web": "2027-01-01T00:00:00Z"}, hourly_cost={"web": 2.5})
    row = running._of_stack(GROUP, view, "web")
    assert row.expires_at == datetime(2027, 1, 1, tzinfo=UTC)
    assert row.usd_hour == Decimal("2.5")


class TwoGroups:
    """A subscription with two container groups and nothing else."""

    def get(self, resource_id: str, api_version: str) -> dict[str, Any] | None:
        return group("Running") | {"id": resource_id}

    def values(self, path: str, api_version: str) -> Iterator[dict[str, Any]]:
        if path == "/subscriptions/s/providers/Microsoft.ContainerInstance/containerGroups":
            yield from ({"id": "/G/OURS", "name": "ours-3f2a"}, {"id": "/g/theirs", "name": "theirs"})

    def close(self) -> None:
        pass


def test_a_part_has_its_name_and_its_cost_of_the_stack_file_in_a_stack_and_in_the_whole_subscription(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(azure, "Arm", lambda _: TwoGroups())
    view = StackView("dev", Connection("s"), groups={"web": "/g/ours"}, hourly_cost={"web": 2.5})
    assert [(row.name, row.stack, row.usd_hour) for row in running._of_stacks([view])] == [("web", "dev", Decimal("2.5"))]
    everything = [
        (row.name, row.stack, row.usd_hour) for row in running._everything([view, view._replace(name="other", groups={})])
    ]
    assert everything == [("web", "dev", Decimal("2.5")), ("theirs", "", None)]


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
