"""Names of properties are read without regard to letter case, keys of free maps are not."""

from azure_gpu.formats.azure_types import CONTAINER_GROUP
from localazure.shapes import arm_shape, respelled

SHAPE = arm_shape(CONTAINER_GROUP)


def test_names_at_any_depth_get_the_shapes_spelling() -> None:
    body = {"Location": "eastus", "PROPERTIES": {"containers": [{"Name": "a", "properties": {"Image": "i"}}], "OsType": "Linux"}}
    assert respelled(SHAPE, body) == {
        "location": "eastus",
        "properties": {"containers": [{"name": "a", "properties": {"image": "i"}}], "osType": "Linux"},
    }


def test_free_keys_unknown_names_and_names_given_twice_stay() -> None:
    for body in ({"tags": {"Name": "x"}}, {"nobodyKnows": {"Name": 1}}, {"location": "a", "Location": "b"}):
        assert respelled(SHAPE, body) == body


def test_what_is_no_object_stays() -> None:
    assert respelled(SHAPE, {"properties": {"containers": "none"}}) == {"properties": {"containers": "none"}}
    assert respelled(SHAPE, None) is None
