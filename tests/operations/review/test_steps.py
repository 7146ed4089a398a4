"""Steps of the engine as resources: which operation, what changes, and what forces it."""

from typing import Any

import pytest

from azure_gpu_operations.review.model import SECRET, UNKNOWN_YET, Operation, Property
from azure_gpu_operations.review.steps import followers, leaves, parts, planned, without_noise

_PREFIX = "urn:pulumi:dev::azure-gpu::"
POOL = "azure-native:batch:Pool"
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
_MARK = "4dabf18193072939515e22adb298388d"


def urn(type_: str, name: str) -> str:
    return f"{_PREFIX}{type_}::{name}"


def state(type_: str, name: str, inputs: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"urn": urn(type_, name), "type": type_, "custom": True, "id": f"/id/{name}", "inputs": inputs, **more}


def step(op: str, old: dict[str, Any] | None, new: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    told = new or old
    assert told is not None
    return {"op": op, "urn": told["urn"], **({"oldState": old} if old else {}), **({"newState": new} if new else {}), **more}


def replaced(old: dict[str, Any], new: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    """The three steps of a replacement, the later ones without reasons, as the engine lists them."""
    return [step("create-replacement", old, new, **more), step("replace", old, new), step("delete-replaced", old, None)]


def test_a_replacement_by_a_trigger_is_told_by_the_inputs_that_the_program_watches() -> None:
    """The engine's JSON has no reason there: neither replaceReasons nor a detailed diff."""
    old = state(POOL, "t4-pool", {"vmSize": "A", "poolName": "t4-1"}, replacementTrigger="1")
    new = state(
        POOL, "t4-pool", {"vmSize": "B", "poolName": "t4-2"}, replacementTrigger="2", replaceOnChanges=["vmSize", "identity"]
    )
    [found] = planned(replaced(old, new, detailedDiff=None), {})
    assert found.operation is Operation.REPLACE
    assert found.properties == (Property("poolName", "t4-1", "t4-2"), Property("vmSize", "A", "B", forces=True))


def test_a_reason_of_the_provider_forces_what_lies_within() -> None:
    old = state(POOL, "x", {"deployment": {"image": {"sku": "a"}}, "slots": 1})
    new = state(POOL, "x", {"deployment": {"image": {"sku": "b"}}, "slots": 2})
    diff = {"deployment.image.sku": {"kind": "update-replace"}, "slots": {"kind": "update"}}
    [found] = planned(replaced(old, new, replaceReasons=["deployment"], detailedDiff=diff), {})
    assert [(one.path, one.forces) for one in found.properties] == [("deployment.image.sku", True), ("slots", False)]


def test_an_update_shows_what_the_provider_takes_for_different() -> None:
    old, new = state(POOL, "x", {"a": "West Europe", "b": 1}), state(POOL, "x", {"a": "westeurope", "b": 2})
    [found] = planned([step("update", old, new, detailedDiff={"b": {"kind": "update", "inputDiff": True}})], {})
    assert found.properties == (Property("b", "1", "2"),)


@pytest.mark.parametrize(
    ("op", "operation"),
    [
        ("create", Operation.CREATE),
        ("delete", Operation.DELETE),
        ("update", Operation.UPDATE),
        ("same", Operation.SAME),
        ("import", Operation.IMPORT),
        ("read", Operation.READ),
        ("replace", Operation.REPLACE),
    ],
)
def test_each_operation(op: str, operation: Operation) -> None:
    before = None if op in ("create", "import") else state(POOL, "x", {})
    after = None if op == "delete" else state(POOL, "x", {})
    [found] = planned([step(op, before, after)], {})
    assert found.operation is operation


def test_what_the_engine_does_not_list_stays() -> None:
    there = {"resources": [state(POOL, "x", {"a": 1}), state(POOL, "y", {}), state(POOL, "old", {}, delete=True)]}
    found = {each.name: each.operation for each in planned([step("delete", state(POOL, "y", {}), None)], there)}
    assert found == {"x": Operation.SAME, "y": Operation.DELETE}


def test_what_an_earlier_update_has_left_to_delete_is_no_news() -> None:
    old = state(POOL, "x", {}, delete=True)
    there = {"resources": [state(POOL, "x", {}), old]}
    assert [each.operation for each in planned([step("delete", old, None)], there)] == [Operation.SAME]


def test_a_secret_that_changes_is_shown_as_one() -> None:
    secret = {_MARK: "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:abc"}
    old, new = state(POOL, "x", {"key": secret, "other": secret}), state(POOL, "x", {"key": secret, "other": secret})
    [found] = planned([step("update", old, new, detailedDiff={"key": {"kind": "update"}})], {})
    assert found.properties == (Property("key", SECRET, SECRET),)


def test_what_has_another_name_by_an_alias_is_one_resource() -> None:
    old, new = state(POOL, "before", {"a": 1}), state(POOL, "after", {"a": 2})
    found = planned([step("update", old, new)], {"resources": [old]})
    assert [(each.name, each.operation) for each in found] == [("after", Operation.UPDATE)]


def test_a_step_without_a_urn_is_refused() -> None:
    with pytest.raises(ValueError, match="no URN"):
        planned([{"op": "update"}], {})


def test_secrets_and_what_is_not_known_yet_are_told_as_such() -> None:
    secret = {_MARK: "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:abc"}
    found = dict(leaves({"key": secret, "id": UNKNOWN, "list": [], "map": {}, "tags": {"a.b": "c"}, "n": [1, {"x": None}]}))
    assert found == {
        "key": SECRET,
        "id": UNKNOWN_YET,
        "list": "[]",
        "map": "{}",
        'tags["a.b"]': "c",
        "n[0]": "1",
        "n[1].x": "null",
    }


def test_what_follows_another_replacement_says_which_and_shows_only_its_own_changes() -> None:
    group = "azure-native:resources:ResourceGroup"
    leader = replaced(state(group, "g", {"name": "a"}), state(group, "g", {"name": "b"}), replaceReasons=["name"])
    old, new = state(POOL, "p", {"group": "a", "slots": 1}), state(POOL, "p", {"group": UNKNOWN, "slots": 2})
    new["propertyDependencies"] = {"group": [urn(group, "g")], "slots": [], "location": None}
    found = planned([*leader, *replaced(old, new, replaceReasons=["group"])], {})
    assert {urn_: each.name for urn_, each in followers(found).items()} == {urn(POOL, "p"): "g"}
    [part], unchanged = parts(found)
    told = {each.name: each for each in part.resources}
    assert unchanged == 0
    assert told["p"].follows == "g"
    assert told["p"].properties == (Property("slots", "1", "2"),)
    assert told["g"].follows == ""


def test_resources_are_under_the_part_that_declares_them_also_when_they_go() -> None:
    component = "azuregpu:index:BatchPool"
    around = {"urn": f"{_PREFIX}{component}::t4", "type": component, "inputs": {}}
    child = f"{_PREFIX}{component}$"
    kept = {**state(POOL, "t4-pool", {}), "urn": f"{child}{POOL}::t4-pool", "parent": around["urn"]}
    role = "azure-native:authorization:RoleAssignment"
    gone = {**state(role, "t4-role", {}), "urn": f"{child}{role}::t4-role", "parent": around["urn"]}
    [part], unchanged = parts(planned([step("delete", gone, None)], {"resources": [around, kept, gone]}))
    assert (part.component, part.name, part.path, part.unchanged, unchanged) == ("BatchPool", "t4", "pools.t4", 1, 1)
    # The component itself goes too: then only the URN of the parent tells.
    [part], _ = parts(planned([step("delete", gone, None)], {}))
    assert (part.component, part.name) == ("BatchPool", "t4")


def test_noise_is_left_out_and_an_update_of_noise_alone_stays_one() -> None:
    deployment = "azure-native:resources:Deployment"
    old = state(
        deployment, "traffic", {"properties": {"template": {"metadata": {"read": "1"}, "resources": [1]}}, "azureApiVersion": "a"}
    )
    new = state(
        deployment, "traffic", {"properties": {"template": {"metadata": {"read": "2"}, "resources": [2]}}, "azureApiVersion": "b"}
    )
    [found] = without_noise(planned([step("update", old, new)], {}))
    assert [one.path for one in found.properties] == ["properties.template.resources[0]"]
    assert found.operation is Operation.UPDATE


def test_what_stays_tells_what_its_inputs_come_from() -> None:
    group = urn("azure-native:resources:ResourceGroup", "g")
    stays = state(POOL, "p", {"resourceGroupName": "g"}, propertyDependencies={"resourceGroupName": [group], "vmSize": []})
    [found] = planned([], {"resources": [stays]})
    assert (found.operation, found.depends_on) == (Operation.SAME, {"resourceGroupName": (group,)})
