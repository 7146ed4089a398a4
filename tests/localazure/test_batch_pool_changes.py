"""What of a pool may change, whatever its form. What may not is in `answers/batch.yaml` and the tables of refusals."""

from typing import Any

from hypothesis import HealthCheck, given, settings

from azure_gpu.formats.azure_types import BATCH_POOL
from localazure.kinds import batch_pool_changes
from localazure.shapes import to_arm
from tests.support.examples import examples
from tests.support.shapes import sdk_inputs_of

THOROUGH = settings(
    max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
# Microsoft Learn, REST reference of Microsoft.Batch 2024-07-01, "Pool - Update".
CAN_CHANGE = {"scaleSettings", "startTask", "applicationPackages", "metadata", "certificates", "targetNodeCommunicationMode"}
properties = sdk_inputs_of(BATCH_POOL).map(lambda inputs: to_arm(BATCH_POOL, inputs).get("properties") or {})


@given(properties, properties)
@THOROUGH
def test_what_can_change_may_be_anything(before: dict[str, Any], other: dict[str, Any]) -> None:
    fixed = {name: value for name, value in before.items() if name not in CAN_CHANGE}
    batch_pool_changes.check(before, {**fixed, **{name: value for name, value in other.items() if name in CAN_CHANGE}})


def test_each_of_them_may_come_and_go() -> None:
    for name in CAN_CHANGE:
        batch_pool_changes.check({}, {name: "new"})
        batch_pool_changes.check({name: "old"}, {})
