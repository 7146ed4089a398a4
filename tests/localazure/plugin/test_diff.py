"""What a change of inputs means: the real provider's answers, by rule."""

from typing import Any

from hypothesis import HealthCheck, given, settings, strategies as st
from pulumi.runtime.proto import provider_pb2

from azure_gpu.formats.azure_types import ALL, BY_TOKEN, CONTAINER_GROUP, STORAGE_ACCOUNT, AzureType
from localazure.plugin.diff import diff
from tests.localazure.plugin.conftest import Engine
from tests.support.examples import examples
from tests.support.shapes import sdk_inputs_of
from tests.support.tables import of_table

QUICK = settings(
    max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
typed_inputs = st.sampled_from(ALL).flatmap(lambda each: st.tuples(st.just(each), sdk_inputs_of(each)))
GROUP_INPUTS: dict[str, Any] = {
    "resourceGroupName": "rg",
    "containerGroupName": "cg",
    "location": "westeurope",
    "containers": [{"name": "a", "image": "i", "command": ["run", "fast"]}],
    "tags": {"team": "a"},
}


@given(typed_inputs)
@QUICK
def test_equal_inputs_are_no_difference(case: tuple[AzureType, dict[str, Any]]) -> None:
    azure_type, inputs = case
    found = diff(azure_type, {**inputs, "__createBeforeDelete": True}, inputs, inputs)
    assert found.changes == ()


@given(typed_inputs, st.data())
@QUICK
def test_a_changed_name_of_the_path_replaces_whatever_else_changes(
    case: tuple[AzureType, dict[str, Any]], data: st.DataObject
) -> None:
    azure_type, inputs = case
    parameter = data.draw(st.sampled_from(azure_type.path_parameters))
    changed = {**data.draw(sdk_inputs_of(azure_type)), **{name: inputs[name] for name in azure_type.path_parameters}}
    found = diff(azure_type, inputs, {**changed, parameter: inputs[parameter] + "-other"}, inputs)
    assert parameter in found.replaces
    assert found.delete_before_replace


@given(typed_inputs)
@QUICK
def test_a_name_that_we_gave_lets_the_new_one_come_first(case: tuple[AzureType, dict[str, Any]]) -> None:
    azure_type, inputs = case
    changed = {**inputs, azure_type.name_parameter: "another"}
    assert not diff(azure_type, {**inputs, "__createBeforeDelete": True}, changed, inputs).delete_before_replace


@given(st.sampled_from(["westeurope", "West Europe", "WESTEUROPE", "west europe"]), st.sampled_from(ALL))
def test_the_spelling_of_a_location_is_no_difference(spelling: str, azure_type: AzureType) -> None:
    assert diff(azure_type, {"location": "West Europe"}, {"location": spelling}, {}).changes == ()


@of_table("token", "name", "old", "new")
def test_what_the_table_names_replaces(token: str, name: str, old: Any, new: Any) -> None:
    assert diff(BY_TOKEN[token], {name: old}, {name: new}, {}).replaces == [name]


# `old` and `new` are of the property; `replaces`: the paths in it that do.
@of_table("token", "name", "old", "new", "replaces")
def test_what_a_change_inside_of_a_property_replaces(token: str, name: str, old: Any, new: Any, replaces: list[str]) -> None:
    found = diff(BY_TOKEN[token], {name: old}, {name: new}, {"networkProfile": {"podCidr": "10.244.0.0/16"}})
    assert (found.replaces, found.delete_before_replace) == ([f"{name}.{each}" for each in replaces], bool(replaces))
    assert found.changes


def test_an_input_that_says_what_is_so_already_does_not_replace() -> None:
    old, new = {"accountName": "a"}, {"accountName": "a", "location": "westeurope"}
    assert diff(STORAGE_ACCOUNT, old, new, {"location": "westeurope"}).replaces == []
    assert diff(STORAGE_ACCOUNT, old, new, {"location": "northeurope"}).replaces == ["location"]


def test_the_engine_is_told_each_changed_property_by_its_path(offline: Engine) -> None:
    news = {
        **GROUP_INPUTS,
        "containers": [{"name": "a", "image": "j", "command": ["run"]}, {"name": "b"}],
        "tags": {"team": "a", "a.b": "c"},
        "osType": "Linux",
    }
    answer = offline.diff(CONTAINER_GROUP.token, GROUP_INPUTS, news)
    kinds = provider_pb2.PropertyDiff
    assert {path: found.kind for path, found in answer.detailedDiff.items()} == {
        "containers[0].image": kinds.UPDATE,
        "containers[0].command[1]": kinds.DELETE,
        "containers[1]": kinds.ADD,
        'tags["a.b"]': kinds.ADD,
        "osType": kinds.ADD,
    }
    assert all(found.inputDiff for found in answer.detailedDiff.values())
    assert list(answer.diffs) == ["containers", "osType", "tags"]
    assert (answer.changes, list(answer.replaces), answer.hasDetailedDiff) == (provider_pb2.DiffResponse.DIFF_SOME, [], True)


def test_a_replacement_is_told_with_its_kind_and_its_order(offline: Engine) -> None:
    answer = offline.diff(CONTAINER_GROUP.token, GROUP_INPUTS, {**GROUP_INPUTS, "containerGroupName": "other"})
    assert answer.detailedDiff["containerGroupName"].kind == provider_pb2.PropertyDiff.UPDATE_REPLACE
    assert (list(answer.replaces), answer.deleteBeforeReplace) == (["containerGroupName"], True)


def test_a_value_that_is_not_known_yet_is_a_difference(offline: Engine) -> None:
    unknown = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
    answer = offline.diff(CONTAINER_GROUP.token, GROUP_INPUTS, {**GROUP_INPUTS, "tags": unknown})
    assert answer.detailedDiff["tags"].kind == provider_pb2.PropertyDiff.UPDATE
