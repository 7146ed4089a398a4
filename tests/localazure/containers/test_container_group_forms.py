"""Any container group of the right shape is judged: what is wrong with it is a refusal with its path, never an error of ours."""

from typing import Any

from hypothesis import given, strategies as st

from azure_gpu.formats import azure_types
from localazure import shapes
from localazure.kinds import container_group_address, container_group_form, container_group_volumes
from tests.localazure.any_body import allowed_by, many

TEXT = st.text(alphabet="aZ0-./:\0=", max_size=6)
PROPERTIES = shapes.arm_shape(azure_types.CONTAINER_GROUP).properties["properties"].shape


VALUES = allowed_by(PROPERTIES, TEXT, st.integers(-1, 70000), st.floats(-1, 100), st.just({}), odd=True)


@many(200)
@given(VALUES)
def test_each_refusal_says_where(properties: dict[str, Any]) -> None:
    found = [
        *container_group_form.malformed("one", properties),
        *container_group_address.malformed("one", properties),
        *container_group_volumes.malformed(properties.get("volumes") or []),
    ]
    for error in found:
        assert error.status == 400
        assert error.target.startswith("properties.")
        assert error.message
