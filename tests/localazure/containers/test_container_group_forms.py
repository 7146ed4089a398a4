"""Any container group of the right shape is judged: what is wrong with it is a refusal with its path, never an error of ours."""

from typing import Any

from hypothesis import given, settings, strategies as st

from azure_gpu.formats import azure_types
from localazure import shapes
from localazure.kinds import container_group_address, container_group_form, container_group_volumes
from localazure.shapes.model import ArrayShape, BooleanShape, MapShape, NumberShape, ObjectShape, Shape, StringShape
from tests.support.examples import examples

TEXT = st.text(alphabet="aZ0-./:\0=", max_size=6)
PROPERTIES = shapes.arm_shape(azure_types.CONTAINER_GROUP).properties["properties"].shape


def values(shape: Shape) -> st.SearchStrategy[Any]:
    """Values that the check of shapes lets through."""
    match shape:
        case ObjectShape():
            taken = {name: values(each.shape) for name, each in shape.properties.items() if not each.read_only}
            required = {name: value for name, value in taken.items() if shape.properties[name].required}
            optional = {name: value for name, value in taken.items() if name not in required}
            return st.fixed_dictionaries(required, optional=optional)
        case ArrayShape():
            return st.lists(values(shape.items), max_size=2)
        case MapShape():
            return st.dictionaries(TEXT, values(shape.values), max_size=2)
        case StringShape():
            return st.sampled_from(shape.allowed) | TEXT if shape.allowed else TEXT
        case NumberShape():
            return st.integers(-1, 70000) if shape.integer else st.floats(-1, 100)
        case BooleanShape():
            return st.booleans()
        case _:
            return st.just({})


@settings(max_examples=examples(200), deadline=None)
@given(values(PROPERTIES))
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
