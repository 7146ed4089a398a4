"""The graph of what a program declares: its parts, what depends on what, roles, machines and costs."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from azure_gpu.catalog.roles import NAMES
from azure_gpu_operations.graph import kinds, words
from azure_gpu_operations.graph.diagrams import as_json
from azure_gpu_operations.graph.machines import Machines, gpu_of, idle_nodes
from azure_gpu_operations.graph.model import Graph, Part
from tests.components import recorded_bodies
from tests.support import graphs

RECORD = recorded_bodies.recorded()
STACKS = yaml.load((Path(__file__).parent / "graphs.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)


def part(graph: Graph, name: str, noun: str = "") -> Part:
    [found] = [each for each in graph.parts if each.name == name and noun in ("", each.noun)]
    return found


@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_has_its_parts_by_layer_their_machines_what_they_depend_on_and_who_may_do_what(stack: str) -> None:
    graph = graphs.graph(stack)
    found: dict[str, list[Any]] = {
        "parts": [[each.layer.value, each.noun, each.name] for each in graph.parts],
        "exists": sorted(each.name for each in graph.parts if each.exists),
        "uses": [[words.name_of(graph, each.part), each.words, words.name_of(graph, each.on)] for each in graph.uses],
        "roles": [[words.name_of(graph, each.who), each.role, words.name_of(graph, each.scope)] for each in graph.roles],
    }
    for key, expected in STACKS[stack].items():
        if key == "machines":
            told = {name: [[*each] for each in part(graph, name).machines] for name in expected}
            assert told == {name: [[*Machines(*each)] for each in machines] for name, machines in expected.items()}
        elif key == "costs":
            assert {name: part(graph, name).idle_cost for name in expected} == pytest.approx(expected)
        elif key.startswith("some_"):
            assert [each for each in expected if each not in found[key.removeprefix("some_")]] == []
        elif key in ("uses", "roles"):
            assert sorted(found[key]) == sorted(expected)
        else:
            assert found[key] == expected


def test_a_part_has_notes() -> None:
    assert part(graphs.graph("edge.happy.everything"), "box").notes == ("jobs cuda-sample1, report, train",)
    assert part(graphs.graph("edge.happy.everything"), "registry").notes == ("builds mnist",)
    assert part(graphs.graph("budget.happy.everything"), "budget").notes == ("460.5 a month",)


def test_every_stack_that_is_recorded_has_a_graph_of_all_its_parts_roles_and_costs() -> None:
    wrong: list[str] = []
    for name in graphs.names():
        graph, record = graphs.graph(name), RECORD[name]
        same = {
            "roles": (sorted(each.role for each in graph.roles), roles_of(record)),
            **costs(graph, record["exports"]),
            "components": (
                {each.key for each in graph.parts if kinds.is_component(each.type)},
                {f"{urn.rpartition('$')[2]}" for urn in record["resources"] if is_part(urn)},
            ),
        }
        wrong += [f"{name}: {what}: {found}, not {expected}" for what, (found, expected) in same.items() if found != expected]
        keys = Counter(each.key for each in graph.parts)
        used = {use.part for use in graph.uses} | {use.on for use in graph.uses} | {role.who for role in graph.roles}
        wrong += [f"{name}: there is no part {key}" for key in used - keys.keys()]
        wrong += [f"{name}: more than one {key}" for key, times in keys.items() if times > 1]
        wrong += [f"{name}: {each.key} is of no kind" for each in graph.parts if each.type not in kinds.KINDS]
    assert wrong == []


_OWN_SUBNET = re.compile(r"(?<=^/id-of/foundation-network)/subnets/.*")


def roles_of(record: Any) -> list[str]:
    """Of one role on two subnets of the stack's network the graph shows one: the network is the part."""
    assignments = [each["wire"] for urn, each in record["resources"].items() if urn.split("::")[2].endswith(":RoleAssignment")]
    found = {(each["principalId"], _OWN_SUBNET.sub("", each["scope"]), each["roleDefinitionId"]) for each in assignments}
    return sorted(NAMES[role.rsplit("/", 1)[-1]] for _, _, role in found)


def costs(graph: Graph, exports: Any) -> dict[str, tuple[Any, Any]]:
    """What the graph and the program's exports say for the same names."""
    priced = [each for each in graph.parts if each.has_cost and kinds.kind_of(each.type).has_cost]
    idle = {each.name: each.idle_cost for each in priced}
    return {
        "most": ({each.name: each.most_cost for each in priced}, exports["hourly_cost"]),
        "idle": ({key: idle.get(key, "not there") for key in exports["idle_cost"]}, exports["idle_cost"]),
        "expires": ({each.name: each.expires or None for each in priced}, exports["expires_at"]),
    }


def is_part(urn: str) -> bool:
    return "$azuregpu:index:" in urn and kinds.FOUNDATION not in urn


def test_a_pool_costs_at_idle_what_its_nodes_do_that_stay() -> None:
    pools = {each.name: (each.most_cost, each.idle_cost) for each in graphs.graph("pool.happy.autoscale_scenarios").parts}
    assert pools["fixed"] == (1.052, 1.052)
    assert pools["pending"] == (pytest.approx(3 * 0.526), 0.526)
    assert pools["night"][1] == 0
    assert pools["own"] == (None, 0.526)  # a formula of one's own may ask for any number, and asks for one while nothing waits


@pytest.mark.parametrize(
    ("scale", "nodes"),
    [
        ({"fixedScale": {"targetDedicatedNodes": 2.0, "targetLowPriorityNodes": 3.0}}, (2, 3)),
        ({"autoScale": {"formula": "$TargetDedicatedNodes = max(1, min(4, $PendingTasks.GetSample(1)));"}}, (1, 0)),
        ({"autoScale": {"formula": "$TargetLowPriorityNodes = time().hour > 6 ? 3 : 0;"}}, (0, 3)),
        ({"autoScale": {"formula": "no formula"}}, None),
        ({}, None),
    ],
)
def test_the_nodes_that_stay_are_those_of_a_week_in_which_nothing_waits(
    scale: dict[str, Any], nodes: tuple[int, int] | None
) -> None:
    assert idle_nodes({"scaleSettings": scale}) == nodes


def test_a_part_without_a_region_of_its_own_is_where_it_runs() -> None:
    graph = graphs.graph("job.happy.everything")
    assert part(graph, "westeurope").location == part(graph, "nightly").location == "westeurope"
    assert part(graphs.graph("pool.happy.defaults"), "train").location == "eastus"
    assert words.region(graphs.graph("pool.happy.defaults")) == "eastus"


def test_words_say_what_is_not_known() -> None:
    ring = part(graphs.graph("pool.happy.mpi"), "ring")
    assert words.cost(ring._replace(most_cost=None)) == "price not known, 0 at idle"
    assert words.cost(part(graphs.graph("container_group.happy.gpu"), "gpucontainergroup")) == "cost not known"
    assert words.cost(part(graphs.graph("pool.happy.defaults"), "storage")) == ""
    total = "per hour idle: 2.10 USD; at most: at least 4.86 USD (1 cost isn't known)"
    assert words.total_line(graphs.graph("pool.happy.autoscale_scenarios")) == total
    assert words.total_line(graphs.graph("foundation.happy.existing")).startswith("per hour idle: not known")
    assert words.total_line(graphs.graph("foundation.happy.serving_identity")) == "no machines"
    assert words.machines(Machines("t4", "S", "T4", 0, 2, spot=True)) == "t4: 0 to 2 x S (T4) Spot"
    assert words.machines(Machines("", "S", "", 1, 1)) == "S"
    assert words.machines(Machines("", "S", "", 2, 2)) == "2 x S"
    assert words.machines(Machines("", "S", "", None, 3)) == "? to 3 x S"
    assert words.machines(Machines("", "S", "", None, None)) == "any number of S"
    assert gpu_of("Standard_NC24ads_A100_v4") == "A100"
    assert gpu_of("none such") == ""


def test_the_object_of_json_has_everything() -> None:
    told: dict[str, Any] = json.loads(json.dumps(as_json(graphs.graph("pool.happy.autoscale_scenarios"))))
    assert (told["stack"], told["region"]) == ("pool.happy.autoscale_scenarios", "eastus")
    parts = {each["name"]: each for each in told["parts"]}
    assert parts["fixed"]["kind"] == "Batch pool"
    assert parts["fixed"]["usd_an_hour"] == {"at_most": 1.052, "at_idle": 1.052}
    assert parts["own"]["usd_an_hour"]["at_most"] is None
    assert parts["fixed"]["machines"][0]["gpu"] == "T4"
    assert "usd_an_hour" not in parts["storage"]
    assert told["usd_an_hour"]["at_most"]["not_known"] == 1
    assert [each["role"] for each in told["roles"]] == ["Storage Blob Data Contributor"]
    assert {each["words"] for each in told["depends_on"]} == {"runs as", "runs in", "keeps data in"}
