"""The shapes as text: `shapes.json` holds what `introspect` reads in Pulumi's SDK, so that nobody else imports that package.

Its import takes seconds, and each `pulumi` command starts a provider. An object that several types have stands in the file once,
under its name, and with a number behind it where objects of one name differ. `make renew` writes the file.
"""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from azure_gpu.formats.azure_types import AzureType
from localazure.shapes.model import (
    AnyShape,
    ArrayShape,
    BooleanShape,
    MapShape,
    NumberShape,
    ObjectShape,
    Property,
    Shape,
    StringShape,
    UnionShape,
)

FILE = Path(__file__).parent / "shapes.json"
Json = dict[str, Any]

# What holds of a property, by its letter in the file.
_FLAGS = {
    "r": "required",
    "s": "sdk_required",
    "o": "read_only",
    "x": "secret",
    "w": "answered_whole",
    "k": "key_set",
}
_PLAIN: dict[str, Shape] = {
    "any": AnyShape(),
    "within itself": AnyShape(within_itself=True),
    "boolean": BooleanShape(),
    "integer": NumberShape(integer=True),
    "number": NumberShape(integer=False),
    "string": StringShape(),
}
_WORDS = {shape: word for word, shape in _PLAIN.items()}


def arm_shape(azure_type: AzureType) -> ObjectShape:
    """The body of `azure_type` as ARM takes and answers it at the default API version."""
    return _object(_of(azure_type)["body"])


def default_api_version(azure_type: AzureType) -> str:
    """The API version that the SDK's class is generated from."""
    return _of(azure_type)["version"]


@functools.cache
def api_versions(azure_type: AzureType) -> frozenset[str]:
    """Every API version that the SDK knows for the type."""
    return frozenset(_of(azure_type)["versions"])


@functools.cache
def sdk_inputs(azure_type: AzureType) -> frozenset[str]:
    """The inputs that the SDK's class takes, by wire name."""
    return frozenset(_of(azure_type)["inputs"])


@functools.cache
def _file() -> Json:
    return json.loads(FILE.read_text())


def _of(azure_type: AzureType) -> Json:
    return _file()["types"][azure_type.token]


def _read(written: Any) -> Shape:
    match written:
        case str():
            return _PLAIN.get(written) or _object(written)
        case {"one of": allowed}:
            return StringShape(tuple(allowed), open=False)
        case {"often": allowed}:
            return StringShape(tuple(allowed))
        case {"list": items}:
            return ArrayShape(_read(items))
        case {"map": values}:
            return MapShape(_read(values))
        case {"by": discriminator, "options": options}:
            return UnionShape(discriminator, {value: _object(key) for value, key in options.items()})
        case _:
            raise ValueError(f"{FILE.name}: {written} is no shape")


@functools.cache
def _object(key: str) -> ObjectShape:
    written = _file()["objects"][key]
    properties = {name: _property(name, each) for name, each in written["properties"].items()}
    additional = written.get("more")
    return ObjectShape(key.partition("~")[0], properties, None if additional is None else _read(additional))


def _property(name: str, written: Any) -> Property:
    shape, flags, sdk_name = (written, "", name) if not isinstance(written, list) else (*written, name)[:3]
    return Property(name, _read(shape), sdk_name, **{_FLAGS[each]: True for each in flags})


class Writing:
    """Collects types for the file."""

    def __init__(self) -> None:
        self._types: Json = {}
        self._objects: Json = {}
        self._keys: dict[str, str] = {}  # what an object looks like -> its key

    def add(
        self,
        azure_type: AzureType,
        body: ObjectShape,
        *,
        inputs: frozenset[str],
        version: str,
        versions: frozenset[str],
    ) -> None:
        self._types[azure_type.token] = {
            "version": version,
            "versions": sorted(versions),
            "inputs": sorted(inputs),
            "body": self._object(body),
        }

    def text(self) -> str:
        """The file: one line for each type and object, in the order of their names."""
        sections = {"types": self._types, "objects": self._objects}
        return "{" + ",".join(f"\n{json.dumps(name)}: {{{_lines(section)}\n}}" for name, section in sections.items()) + "\n}"

    def _shape(self, shape: Shape) -> Any:
        match shape:
            case ObjectShape():
                return self._object(shape)
            case ArrayShape():
                return {"list": self._shape(shape.items)}
            case MapShape():
                return {"map": self._shape(shape.values)}
            case UnionShape():
                options = {value: self._object(option) for value, option in shape.options.items()}
                return {"by": shape.discriminator, "options": options}
            case StringShape(allowed, open) if allowed:
                return {"often" if open else "one of": list(allowed)}
            case _:
                return _WORDS[shape]

    def _object(self, shape: ObjectShape) -> str:
        written: Json = {"properties": {name: self._property(each) for name, each in shape.properties.items()}}
        if shape.additional is not None:
            written["more"] = self._shape(shape.additional)
        looks = json.dumps([shape.name, written])
        if looks not in self._keys:
            same_name = sum(1 for key in self._objects if key.partition("~")[0] == shape.name)
            self._keys[looks] = f"{shape.name}~{same_name + 1}" if same_name else shape.name
            self._objects[self._keys[looks]] = written
        return self._keys[looks]

    def _property(self, each: Property) -> Any:
        flags = "".join(letter for letter, name in _FLAGS.items() if getattr(each, name))
        shape = self._shape(each.shape)
        if each.sdk_name != each.name:
            return [shape, flags, each.sdk_name]
        return [shape, flags] if flags else shape


def _lines(section: Mapping[str, Any]) -> str:
    return ",".join(f"\n{json.dumps(key)}: {json.dumps(section[key], separators=(',', ':'))}" for key in sorted(section))
