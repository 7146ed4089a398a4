"""Validates a request body against a shape: returns every problem with its path.

As ARM does: `null` counts as not given; `id`, `name`, `type` and `apiVersion` on the top level only repeat the URL and pass.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from localazure.shapes.model import (
    AnyShape,
    ArrayShape,
    BooleanShape,
    MapShape,
    NumberShape,
    ObjectShape,
    Shape,
    StringShape,
    UnionShape,
)
from localazure.shapes.versions import presence

Kind = Literal["unknown", "missing", "type", "enum", "read-only"]
_REPEAT_THE_URL = frozenset({"id", "name", "type", "apiVersion"})


@dataclass(frozen=True, slots=True)
class BodyProblem:
    """One problem. `path` is where in the body, such as `properties.containers[0].properties.image`; "" is the body itself."""

    path: str
    kind: Kind
    message: str
    owner: str = ""  # of an unknown property: the name of the object that it was given in


class _Options(NamedTuple):
    creating: bool
    version: str


def body_problems(shape: ObjectShape, body: Any, *, creating: bool, version: str = "") -> list[BodyProblem]:
    """The problems of `body`. `creating` false (a PATCH) lets required properties be missing; what `version` lacks is unknown."""
    if isinstance(body, Mapping):
        body = {key: value for key, value in body.items() if key not in _REPEAT_THE_URL}
    return list(_problems(shape, body, "", _Options(creating, version)))


def _problems(shape: Shape, value: Any, path: str, options: _Options) -> Iterator[BodyProblem]:
    taken, what = _TAKES.get(type(shape), (object, ""))
    if not isinstance(value, taken):
        yield _wrong(path, what, value)
        return
    match shape:
        case ObjectShape():
            yield from _object_problems(shape, value, path, options)
        case UnionShape():
            yield from _union_problems(shape, value, path, options)
        case ArrayShape():
            for index, each in enumerate(value):
                yield from _problems(shape.items, each, f"{path}[{index}]", options)
        case MapShape():
            for key, each in value.items():
                yield from _problems(shape.values, each, _join(path, key), options)
        case StringShape() if shape.allowed and not shape.open and value not in shape.allowed:
            allowed = ", ".join(f"'{each}'" for each in shape.allowed)
            yield BodyProblem(path, "enum", f"'{value}' is not a value of '{path}'; it takes {allowed}")
        case NumberShape():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or (shape.integer and value != int(value)):
                yield _wrong(path, "an integer" if shape.integer else "a number", value)
        case _:
            return


def _object_problems(shape: ObjectShape, body: Mapping[str, Any], path: str, options: _Options) -> Iterator[BodyProblem]:
    def of_another_version(name: str) -> bool:
        return options.version != "" and presence(shape.name, name, options.version) == "missing"

    for name, each in shape.properties.items():
        if options.creating and each.required and body.get(name) is None and not of_another_version(name):
            yield BodyProblem(_join(path, name), "missing", f"the required property '{_join(path, name)}' is missing")
    for name, value in body.items():
        here = _join(path, name)
        each = shape.properties.get(name)
        if of_another_version(name) or (each is None and shape.additional is None):
            what = shape.name.split(":")[-1]
            yield BodyProblem(here, "unknown", f"'{here}' is not a property of '{what}'", owner=shape.name)
        elif each is None:
            yield from _problems(shape.additional or AnyShape(), value, here, options)
        elif value is None:
            continue
        elif each.read_only and value != {}:
            yield BodyProblem(here, "read-only", f"'{here}' is set by the service and can't be given")
        elif not each.read_only:
            yield from _problems(each.shape, value, here, options)


def _union_problems(shape: UnionShape, value: Mapping[str, Any], path: str, options: _Options) -> Iterator[BodyProblem]:
    given, here = value.get(shape.discriminator), _join(path, shape.discriminator)
    if given is None:
        yield BodyProblem(here, "missing", f"the required property '{here}' is missing")
    elif not isinstance(given, str):
        yield _wrong(here, "a string", given)
    elif given not in shape.options:
        allowed = ", ".join(f"'{each}'" for each in shape.options)
        yield BodyProblem(here, "enum", f"'{given}' is not a value of '{here}'; it takes {allowed}")
    else:
        yield from _problems(shape.options[given], value, path, options)


def _wrong(path: str, expected: str, value: Any) -> BodyProblem:
    # The value itself stays out of the message: it may be a secret.
    given = "true or false" if isinstance(value, bool) else _NAMES.get(type(value), type(value).__name__)
    return BodyProblem(path, "type", f"'{path}' takes {expected}, given was {given}")


_TAKES: Mapping[type, tuple[type, str]] = {
    **dict.fromkeys((ObjectShape, UnionShape, MapShape), (Mapping, "an object")),
    ArrayShape: (list, "an array"),
    StringShape: (str, "a string"),
    BooleanShape: (bool, "true or false"),
}
_NAMES = {str: "a string", int: "a number", float: "a number", list: "an array", dict: "an object"}


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
