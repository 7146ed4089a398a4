"""Property values between the engine's protobuf `Struct` and plain Python: unknowns, secrets, nulls.

Source of the marks: pulumi/sdk, go/common/resource/plugin/rpc.go and properties.go.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Secret:
    """A value that the engine keeps encrypted."""

    value: Any


def is_unknown(value: object) -> bool:
    return isinstance(value, str) and value in _UNKNOWNS


def leaves(value: object) -> Iterator[object]:
    """`value`, or what is in it at any depth. A secret isn't looked into."""
    if isinstance(value, (Mapping, list)):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from leaves(each)
    else:
        yield value


def has_unknown(value: object) -> bool:
    """Whether `value` or anything inside of it is unknown."""
    return any(map(is_unknown, leaves(value)))


def from_struct(struct: Struct, *, keep_secrets: bool = False) -> Properties:
    """Plain values: nulls in objects left out, secrets opened (or kept as `Secret`). Unknowns stay the marks that they are."""
    found = {key: _from_value(value, keep_secrets) for key, value in struct.fields.items()}
    return {key: value for key, value in found.items() if value is not None}


def to_struct(properties: Mapping[str, Any]) -> Struct:
    return json_format.ParseDict({key: _marked(value) for key, value in properties.items()}, Struct())


def opened(value: Any) -> Any:
    """`value` without marks of secrets, at any depth."""
    match value:
        case Secret():
            return opened(value.value)
        case Mapping():
            return {key: opened(each) for key, each in value.items()}
        case list():
            return [opened(each) for each in value]
        case _:
            return value


def _marked(value: Any) -> Any:
    """`value` with each `Secret` in the engine's form."""
    match value:
        case Secret():
            return {_SIGNATURE: _SECRET, "value": _marked(value.value)}
        case Mapping():
            return {key: _marked(each) for key, each in value.items()}
        case list():
            return [_marked(each) for each in value]
        case _:
            return value


def _from_value(value: Value, keep_secrets: bool) -> Any:
    match value.WhichOneof("kind"):
        case "struct_value":
            fields = value.struct_value.fields
            if _SIGNATURE in fields and fields[_SIGNATURE].string_value == _SECRET:
                inside = _from_value(fields["value"], keep_secrets)
                return Secret(inside) if keep_secrets and inside is not None else inside
            return from_struct(value.struct_value, keep_secrets=keep_secrets)
        case "list_value":
            return [_from_value(each, keep_secrets) for each in value.list_value.values]
        case "string_value":
            return value.string_value
        case "number_value":
            return value.number_value
        case "bool_value":
            return value.bool_value
        case _:
            return None
