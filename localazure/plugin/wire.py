"""Property values between the engine's protobuf `Struct` and plain Python: unknowns, secrets, nulls.

Source of the marks: pulumi/sdk, go/common/resource/plugin/rpc.go and properties.go.
"""

from collections.abc import Mapping
from typing import Any

from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct, Value

Properties = dict[str, Any]

# The value isn't known yet. The Python SDK sends the first for everything; the engine has one for each type.
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
_UNKNOWNS = frozenset(
    {
        UNKNOWN,
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",  # boolean
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",  # number
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",  # array
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",  # object
    }
)
_SIGNATURE = "4dabf18193072939515e22adb298388d"
_SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105  (the mark of a secret, not one)


def is_unknown(value: object) -> bool:
    return isinstance(value, str) and value in _UNKNOWNS


def has_unknown(value: object) -> bool:
    """Whether `value` or anything inside of it is unknown."""
    match value:
        case Mapping():
            return any(has_unknown(each) for each in value.values())
        case list():
            return any(has_unknown(each) for each in value)
        case _:
            return is_unknown(value)


def from_struct(struct: Struct) -> Properties:
    """Plain values: nulls in objects left out, secrets opened. Unknowns stay the marks that they are."""
    found = {key: _from_value(value) for key, value in struct.fields.items()}
    return {key: value for key, value in found.items() if value is not None}


def to_struct(properties: Mapping[str, Any]) -> Struct:
    return json_format.ParseDict(dict(properties), Struct())


def _from_value(value: Value) -> Any:
    match value.WhichOneof("kind"):
        case "struct_value":
            fields = value.struct_value.fields
            if _SIGNATURE in fields and fields[_SIGNATURE].string_value == _SECRET:
                return _from_value(fields["value"])
            return from_struct(value.struct_value)
        case "list_value":
            return [_from_value(each) for each in value.list_value.values]
        case "string_value":
            return value.string_value
        case "number_value":
            return value.number_value
        case "bool_value":
            return value.bool_value
        case _:
            return None
