"""A request body with the names of its properties as the shape spells them: services read them without regard to letter case.

The Azure CLI relies on it: `az containerapp env create` (2.91) sends `Name` of a workload profile.
"""

from collections.abc import Mapping
from typing import Any

from localazure.shapes.model import ArrayShape, MapShape, ObjectShape, Shape, UnionShape


def respelled(shape: Shape, value: Any) -> Any:
    """`value` with the shape's own spellings. What the shape doesn't know, and what is there in both spellings, stays."""
    match shape, value:
        case ObjectShape(), Mapping():
            return {name: _inner(shape, name, each) for name, each in _names(shape, value).items()}
        case ArrayShape(), list():
            return [respelled(shape.items, each) for each in value]
        case MapShape(), Mapping():
            return {key: respelled(shape.values, each) for key, each in value.items()}
        case UnionShape(), Mapping():
            option = shape.options.get(str(value.get(shape.discriminator)))
            return respelled(option, value) if option else value
        case _:
            return value


def _names(shape: ObjectShape, value: Mapping[str, Any]) -> dict[str, Any]:
    known = {name.lower(): name for name in shape.properties}

    def spelled(name: str) -> str:
        ours = known.get(name.lower(), name)
        return name if ours in value else ours

    return {spelled(name): each for name, each in value.items()}


def _inner(shape: ObjectShape, name: str, value: Any) -> Any:
    known = shape.properties.get(name)
    return respelled(known.shape, value) if known else value
