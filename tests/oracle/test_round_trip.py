"""Random SDK inputs, made ARM's: Microsoft's types find no problem in them, and back they are what they were."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from azure_gpu.formats import arm_bodies
from azure_gpu.formats.azure_types import ALL, AzureType
from localazure import shapes
from localazure.evidence import shapes_file
from localazure.plugin.projection import inputs_of
from localazure.shapes import bodies, written
from tests.oracle import arm_types
from tests.support.examples import examples
from tests.support.shapes import sdk_inputs_of

THOROUGH = settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
JUDGED = [each for each in ALL if each.arm_type not in arm_types.WITHOUT_TYPES]
# The SDK's classes of networks take what Microsoft's types say the service sets: `etag`, `type` and states, from older versions.
MADE_OF_RIGHT_INPUTS = [each for each in JUDGED if not each.arm_type.startswith("Microsoft.Network/")]
inputs_of_any_type = st.sampled_from(ALL).flatmap(lambda each: st.tuples(st.just(each), sdk_inputs_of(each)))


@pytest.mark.parametrize("azure_type", MADE_OF_RIGHT_INPUTS, ids=lambda each: each.arm_type)
@given(data=st.data())
@settings(THOROUGH, max_examples=examples(10))
def test_microsofts_types_take_every_body_that_is_made_of_right_inputs(azure_type: AzureType, data: st.DataObject) -> None:
    inputs = data.draw(sdk_inputs_of(azure_type))
    body = shapes.to_arm(azure_type, inputs)
    assert arm_types.arm_problems(azure_type.arm_type, shapes.default_api_version(azure_type), body) == []


@given(inputs_of_any_type)
@THOROUGH
def test_our_own_shape_takes_it_too(case: tuple[AzureType, dict[str, Any]]) -> None:
    azure_type, inputs = case
    assert shapes.body_problems(shapes.arm_shape(azure_type), shapes.to_arm(azure_type, inputs), creating=True) == []


@given(inputs_of_any_type)
@THOROUGH
def test_the_librarys_own_table_makes_the_same_body(case: tuple[AzureType, dict[str, Any]]) -> None:
    azure_type, inputs = case
    assert arm_bodies.body_of(azure_type, inputs) == shapes.to_arm(azure_type, inputs)


def test_the_shapes_are_those_of_the_installed_sdk() -> None:
    assert written.FILE.read_text() == shapes_file.text() + "\n", "make renew"


def test_the_librarys_table_is_that_of_the_shapes() -> None:
    file = Path(arm_bodies.__file__).with_suffix(".json")
    assert json.loads(file.read_text()) == bodies.table(), "make renew"


@given(inputs_of_any_type)
@THOROUGH
def test_inputs_come_back_from_arms_form_unchanged(case: tuple[AzureType, dict[str, Any]]) -> None:
    azure_type, inputs = case
    outputs = shapes.from_arm(azure_type, shapes.to_arm(azure_type, inputs))
    outside_of_the_path = {name: value for name, value in inputs.items() if name not in azure_type.path_parameters}
    assert inputs_of(azure_type, outputs) == sorted_sets(outside_of_the_path)


@given(inputs_of_any_type)
@THOROUGH
def test_a_body_without_what_the_service_sets_and_without_secrets_is_still_within_the_shape(case: tuple[AzureType, dict]) -> None:
    azure_type, inputs = case
    shape, body = shapes.arm_shape(azure_type), shapes.to_arm(azure_type, inputs)
    assert shapes.without_read_only(shape, body) == body
    answered = shapes.without_secrets(shape, body)
    assert shapes.without_secrets(shape, answered) == answered
    assert shapes.body_problems(shape, answered, creating=False) == []


def sorted_sets(value: Any) -> Any:
    """Identities that are given by their ids are a set: ARM keeps no order of them."""
    if isinstance(value, dict):
        return {key: sorted(each) if _is_set(key, each) else sorted_sets(each) for key, each in value.items()}
    return [sorted_sets(each) for each in value] if isinstance(value, list) else value


def _is_set(key: str, value: Any) -> bool:
    return key == "userAssignedIdentities" and isinstance(value, list) and all(isinstance(each, str) for each in value)
