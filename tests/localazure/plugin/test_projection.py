"""Ids, inputs and outputs laid over each other."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from azure_gpu.formats.azure_types import ALL, ROLE_ASSIGNMENT, AzureType
from localazure.plugin.projection import path_inputs, refreshed_inputs

names = st.text("abc-19", min_size=1, max_size=8)
values = st.recursive(
    st.one_of(st.integers(0, 3), st.booleans(), names),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)),
    max_leaves=12,
)
objects = st.dictionaries(st.sampled_from("abcd"), values, max_size=4)


@given(st.sampled_from([each for each in ALL if each != ROLE_ASSIGNMENT]), st.data())
def test_an_id_says_the_inputs_that_it_was_made_of(azure_type: AzureType, data: st.DataObject) -> None:
    inputs = {name: data.draw(names) for name in azure_type.path_parameters}
    resource_id = azure_type.id_of("00000000-0000-0000-0000-000000000000", inputs)
    assert path_inputs(azure_type, resource_id) == inputs
    assert path_inputs(azure_type, resource_id.replace("resourceGroups", "resourcegroups")) == inputs


def test_a_role_assignments_scope_may_be_any_resource() -> None:
    scope = "subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/a"
    found = path_inputs(ROLE_ASSIGNMENT, f"/{scope}/providers/Microsoft.Authorization/roleAssignments/n")
    assert found == {"scope": scope, "roleAssignmentName": "n"}


@given(objects, objects)
def test_a_refresh_that_found_nothing_new_changes_no_input(inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
    assert refreshed_inputs(inputs, outputs, outputs) == inputs


@given(objects, objects)
def test_where_inputs_were_what_azure_said_they_become_what_azure_says(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert refreshed_inputs(old, old, new) == new


@pytest.mark.parametrize(
    ("inputs", "old", "new", "expected"),
    [
        ({"a": 1}, {"a": 1, "default": 2}, {"a": 1, "default": 2}, {"a": 1}),  # a default of the service is no input
        ({"a": 1}, {"a": 1, "default": 2}, {"a": 1, "default": 3}, {"a": 1, "default": 3}),  # until somebody changes it
        ({"a": 1, "secret": "s"}, {"a": 1}, {"a": 2}, {"a": 2, "secret": "s"}),  # what is never answered is kept
        ({"tags": {"a": "1"}}, {"tags": {"a": "1"}}, {}, {}),  # taken away
        ({"l": [{"a": 1, "s": 1}]}, {"l": [{"a": 1}]}, {"l": [{"a": 2}, {"a": 3}]}, {"l": [{"a": 2, "s": 1}, {"a": 3}]}),
    ],
)
def test_only_what_changed_in_azure_changes_in_the_inputs(inputs: Any, old: Any, new: Any, expected: Any) -> None:
    assert refreshed_inputs(inputs, old, new) == expected
