"""What a JSON value may look like in a request to ARM, as plain data: objects, arrays, maps, strings, numbers.

A shape is ARM's form. Where Pulumi's SDK spells a property otherwise, or lies flat what ARM wraps in `properties`, the `Property`
says so: that is all that `convert.py` needs to get from one form to the other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class AnyShape:
    """Any JSON value, such as the settings of an extension."""

    within_itself: bool = False  # an object of the kind that it lies in, which would continue for ever


@dataclass(frozen=True, slots=True)
class BooleanShape:
    """`true` or `false`."""


@dataclass(frozen=True, slots=True)
class NumberShape:
    """A number; `integer` says that it has no fraction."""

    integer: bool


@dataclass(frozen=True, slots=True)
class StringShape:
    """A string.

    `allowed` lists an enum's values; an `open` enum takes others too, since services add values without a new API version.
    """

    allowed: tuple[str, ...] = ()
    open: bool = True


@dataclass(frozen=True, slots=True)
class ArrayShape:
    items: "Shape"


@dataclass(frozen=True, slots=True)
class MapShape:
    """An object with free keys, such as tags."""

    values: "Shape"


@dataclass(frozen=True, slots=True)
class UnionShape:
    """One of several objects; the string in the property `discriminator` says which."""

    discriminator: str
    options: Mapping[str, "ObjectShape"]


@dataclass(frozen=True, slots=True)
class Property:
    """One property of an object."""

    name: str  # as ARM spells it
    shape: "Shape"
    sdk_name: str  # as Pulumi's SDK spells it; "" for a wrapper, whose own properties lie flat in the SDK's object
    required: bool = False  # by ARM
    sdk_required: bool = False  # by the SDK too, which may have a default where ARM has none
    read_only: bool = False  # set by the service
    secret: bool = False  # write-only: never answered
    answered_whole: bool = False  # a wrapper that the SDK's outputs have as an object too, under ARM's name
    key_set: bool = False  # a map in ARM of which only the keys matter, given by the SDK as a list of those keys


@dataclass(frozen=True, slots=True)
class ObjectShape:
    name: str
    properties: Mapping[str, Property] = field(default_factory=dict)
    additional: "Shape | None" = None  # what further properties look like; None where there may be none


Shape = ObjectShape | ArrayShape | MapShape | StringShape | NumberShape | BooleanShape | AnyShape | UnionShape
