"""What of a pool may change: by rule, over bodies of every form."""

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from azure_gpu.formats.azure_types import BATCH_POOL
from localazure import shapes
from localazure.arm.errors import ArmError
from localazure.kinds import batch_pool_changes
from localazure.kinds.batch_pool_changes import UPDATABLE
from localazure.shapes import arm_shape, to_arm
from tests.support.examples import examples
from tests.support.shapes import sdk_inputs_of

THOROUGH = settings(
    max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
properties = sdk_inputs_of(BATCH_POOL).map(lambda inputs: to_arm(BATCH_POOL, inputs).get("properties") or {})


def shown(given: dict[str, Any]) -> dict[str, Any]:
    """As a GET answers it: without secrets."""
    return shapes.without_secrets(arm_shape(BATCH_POOL), {"properties": given})["properties"]


@given(properties)
@THOROUGH
def test_what_is_and_what_a_get_shows_of_it_are_no_change(before: dict[str, Any]) -> None:
    batch_pool_changes.check(before, copy.deepcopy(before))
    batch_pool_changes.check(before, shown(before))


@given(properties)
@THOROUGH
def test_what_cannot_change_is_kept_with_its_secrets(before: dict[str, Any]) -> None:
    kept = batch_pool_changes.kept(before, shown(before))
    assert kept == {name: value for name, value in before.items() if name not in UPDATABLE}


@given(properties, properties)
@THOROUGH
def test_whatever_else_differs_is_refused_by_its_name(before: dict[str, Any], after: dict[str, Any]) -> None:
    names = {name for name in before.keys() | after.keys() if name not in UPDATABLE}
    differ = {name for name in names if shown({name: before.get(name)}) != shown({name: after.get(name)})}
    if not differ:
        return
    with pytest.raises(ArmError) as refused:
        batch_pool_changes.check(before, after)
    name = next(detail.message for detail in refused.value.details if detail.code == "PropertyName")
    assert name in names


@given(properties, st.data())
@THOROUGH
def test_what_can_change_may_be_anything(before: dict[str, Any], data: st.DataObject) -> None:
    other = data.draw(properties)
    fixed = {name: value for name, value in before.items() if name not in UPDATABLE}
    batch_pool_changes.check(before, {**fixed, **{name: value for name, value in other.items() if name in UPDATABLE}})


def with_registry(password: str, server: str) -> dict[str, Any]:
    containers = {"containerRegistries": [{"registryServer": server, "password": password}]}
    return {"deploymentConfiguration": {"virtualMachineConfiguration": {"containerConfiguration": containers}}}


def test_letter_case_is_a_change_of_secrets_alone() -> None:
    before = with_registry("secret", "lab.azurecr.io")
    batch_pool_changes.check(before, with_registry("secret", "LAB.azurecr.io"))
    with pytest.raises(ArmError, match="PropertyCannotBeUpdated"):
        batch_pool_changes.check(before, with_registry("Secret", "lab.azurecr.io"))
