"""What a change takes away: which key forces it, what is lost, and the milder way."""

from collections.abc import Mapping, Sequence
from typing import Any

from azure_gpu.formats import azure_types
from azure_gpu_operations.guard.held import held
from azure_gpu_operations.review.annotations import annotations
from azure_gpu_operations.review.dangers import Change, Difference, dangers, differences
from azure_gpu_operations.review.model import Danger, Lane, Operation, Outcome, Review, SourceLocation, StackReview
from azure_gpu_operations.review.source_locations import SourceLocations
from azure_gpu_operations.review.steps import owners, planned

PREFIX = "urn:pulumi:dev::azure-gpu::"
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
FILE = """config:
  azure-gpu:team: heavy
  azure-gpu:pools:
    train:
      size: Standard_NC8as_T4_v3
      tasks_per_node: 2
  azure-gpu:clusters:
    shared:
      gpu_pools:
        t4: {size: Standard_NC8as_T4_v3}
"""
POOL, STORAGE, GROUP = (each.token for each in (azure_types.BATCH_POOL, azure_types.STORAGE_ACCOUNT, azure_types.RESOURCE_GROUP))


def component(type_: str, name: str) -> dict[str, Any]:
    return {"urn": f"{PREFIX}azuregpu:index:{type_}::{name}", "type": f"azuregpu:index:{type_}", "inputs": {}}


def child(of: Mapping[str, Any], type_: str, name: str, inputs: dict[str, Any], **more: Any) -> dict[str, Any]:
    urn = f"{PREFIX}{of['type']}${type_}::{name}"
    return {"urn": urn, "type": type_, "custom": True, "id": f"/x/{name}", "parent": of["urn"], "inputs": inputs, **more}


def replaced(old: dict[str, Any], inputs: dict[str, Any], reasons: Sequence[str], **more: Any) -> dict[str, Any]:
    return {
        "op": "create-replacement",
        "urn": old["urn"],
        "oldState": old,
        "newState": {**old, "inputs": inputs, **more},
        "replaceReasons": list(reasons),
    }


def of(resources: list[dict[str, Any]], steps: list[dict[str, Any]], *differences: Difference) -> list[Danger]:
    deployment = {"resources": resources}
    found = planned(steps, deployment)
    places = SourceLocations({"Pulumi.dev.yaml": FILE}, "azure-gpu")
    return dangers(Change(found, owners(found), held(deployment), differences, places), steps)


TRAIN = component("BatchPool", "train")
TRAIN_POOL = child(TRAIN, POOL, "train-pool", {"vmSize": "Standard_NC4as_T4_v3", "poolName": "train-1"})
FOUNDATION = component("Foundation", "foundation")
RESOURCE_GROUP = child(FOUNDATION, GROUP, "foundation-resource-group", {"resourceGroupName": "a", "tags": {"team": "lite"}})
ACCOUNT = child(FOUNDATION, STORAGE, "foundation-storage", {"accountName": "a", "tags": {"team": "lite"}}, protect=True)


def test_the_key_whose_value_forces_it_is_named_and_not_another_of_the_same_part() -> None:
    step = replaced(TRAIN_POOL, {"vmSize": "Standard_NC8as_T4_v3", "poolName": "train-2"}, ["vmSize"])
    size = Difference("pools.train.size", "Standard_NC4as_T4_v3", "Standard_NC8as_T4_v3")
    [found] = of([TRAIN, TRAIN_POOL], [step], Difference("pools.train.tasks_per_node", "1", "2"), size)
    assert (found.cause, found.before, found.after) == size
    assert found.place == SourceLocation("Pulumi.dev.yaml", 5)
    assert (found.operation, found.part, found.is_held, found.refused) == (Operation.REPLACE, "pools.train", False, "")
    assert found.quota == "8 vCPUs of Standard NCASv3_T4 Family for each new machine"
    assert "`replace: drain-first`" in found.milder


def test_what_holds_data_comes_first_with_the_word_that_lets_it_go() -> None:
    steps = [
        replaced(TRAIN_POOL, {"vmSize": "B", "poolName": "train-2"}, ["vmSize"]),
        replaced(RESOURCE_GROUP, {"resourceGroupName": "b", "tags": {"team": "heavy"}}, ["resourceGroupName"]),
        replaced(
            ACCOUNT,
            {"accountName": "b", "tags": {"team": "heavy"}, "resourceGroupName": UNKNOWN},
            ["resourceGroupName"],
            propertyDependencies={"resourceGroupName": [RESOURCE_GROUP["urn"]]},
        ),
    ]
    team = Difference("team", "lite", "heavy")
    first, second = of([FOUNDATION, RESOURCE_GROUP, ACCOUNT, TRAIN, TRAIN_POOL], steps, team)
    assert (first.name, first.lost, first.refused, first.is_held) == (
        "foundation-storage",
        "its blobs",
        "--replace foundation-storage",
        True,
    )
    assert (first.cause, first.place.line) == ("team", 2)
    assert "set team back to lite" in first.milder
    assert second.name == "train-pool"


def test_what_the_file_no_longer_has_is_deleted_by_that() -> None:
    step = {"op": "delete", "urn": TRAIN_POOL["urn"], "oldState": TRAIN_POOL}
    [found] = of([TRAIN, TRAIN_POOL], [step], Difference("pools.train.size", "Standard_NC4as_T4_v3", None))
    assert (found.operation, found.cause, found.after, found.place.line) == (Operation.DELETE, "pools.train.size", None, 5)
    assert found.milder.startswith("restore pools.train.size")


def test_a_part_that_goes_as_a_whole_is_named_as_a_whole() -> None:
    step = {"op": "delete", "urn": TRAIN_POOL["urn"], "oldState": TRAIN_POOL}
    gone = [Difference("pools.train.autoscale.max_nodes", "2", None), Difference("pools.train.size", "a", None)]
    [found] = of([TRAIN, TRAIN_POOL], [step], *gone)
    assert (found.cause, found.before, found.after) == ("pools.train", None, None)
    assert found.milder.startswith("restore pools.train")


def test_a_part_that_was_renamed_is_told_with_the_name_that_keeps_it() -> None:
    step = {"op": "delete", "urn": TRAIN_POOL["urn"], "oldState": TRAIN_POOL}
    gone = [Difference("pools.train.autoscale.max_nodes", "2", None), Difference("pools.train.size", "a", None)]
    new = [Difference(each.key.replace("train", "trainer"), None, each.first) for each in gone]
    [found] = of([TRAIN, TRAIN_POOL], [step], *gone, *new)
    assert found.milder.startswith("pools.trainer is new and has the same keys: if this part was renamed, take back its name")
    [found] = of([TRAIN, TRAIN_POOL], [step], *gone, *new[:1])
    assert found.milder.startswith("restore pools.train")


def test_without_a_changed_key_the_program_has_changed() -> None:
    [found] = of([TRAIN, TRAIN_POOL], [replaced(TRAIN_POOL, {"vmSize": "B"}, ["vmSize"])])
    assert (found.cause, found.place.file) == ("", "")


def test_an_update_that_interrupts_is_told_and_another_is_not() -> None:
    group = component("ContainerGroup", "web")
    old = child(group, azure_types.CONTAINER_GROUP.token, "web-group", {"cpu": "1", "tags": {"a": "b"}})

    def told(inputs: dict[str, Any]) -> list[Danger]:
        step = {"op": "update", "urn": old["urn"], "oldState": old, "newState": {**old, "inputs": inputs}}
        return of([group, old], [step], Difference("container_groups.web.cpu", "1", "2"))

    [found] = told({"cpu": "2", "tags": {"a": "b"}})
    assert (found.operation, found.cause, found.is_held) == (Operation.UPDATE, "container_groups.web.cpu", False)
    assert found.lost == "all containers of the group are restarted in place"
    assert told({"cpu": "1", "tags": {"a": "c"}}) == []


def test_a_pool_of_a_cluster_is_at_its_own_key() -> None:
    cluster = component("GpuCluster", "shared")
    pool = child(
        cluster, azure_types.AGENT_POOL.token, "shared-pool-t4", {"vmSize": "Standard_NC4as_T4_v3", "agentPoolName": "t4a"}
    )
    step = replaced(pool, {"vmSize": "Standard_NC8as_T4_v3", "agentPoolName": "t4b"}, ["vmSize"])
    size = Difference("clusters.shared.gpu_pools.t4.size", "Standard_NC4as_T4_v3", "Standard_NC8as_T4_v3")
    [found] = of([cluster, pool], [step], size)
    assert (found.part, found.cause, found.place.line, found.minutes) == ("clusters.shared.gpu_pools.t4", size.key, 10, "2 to 20")


def test_each_key_has_one_annotation_on_its_line() -> None:
    step = replaced(TRAIN_POOL, {"vmSize": "Standard_NC8as_T4_v3"}, ["vmSize"])
    found = of([TRAIN, TRAIN_POOL], [step], Difference("pools.train.size", "Standard_NC4as_T4_v3", "Standard_NC8as_T4_v3"))
    stack = StackReview("dev", "Pulumi.dev.yaml", Lane.EMBEDDED, Outcome.CHANGED, dangers=tuple(found))
    [told] = annotations(Review("b", "h", "", (stack,)))
    assert (told["file"], told["line"], told["level"], told["title"]) == ("Pulumi.dev.yaml", 5, "warning", "dev: replaced")
    assert "pools.train.size (Standard_NC4as_T4_v3 -> Standard_NC8as_T4_v3)" in str(told["message"])


def test_each_leaf_that_differs_is_one_row() -> None:
    first = {"team": "t", "pools": {"a": {"max": 1, "zones": [1]}, "b": {}}, "tags": {}}
    second = {"team": "u", "pools": {"a": {"max": 1, "zones": [2]}}, "tags": {"x": "y"}}
    assert list(differences(first, second)) == [
        Difference("pools.a.zones", "[1]", "[2]"),
        Difference("pools.b", "{}", None),
        Difference("tags.x", None, "y"),
        Difference("team", "t", "u"),
    ]
    assert list(differences(first, first)) == []
