"""The shapes as text: `shapes.json` holds what `introspect` reads in Pulumi's SDK, so that nobody else imports that package.

Its import takes seconds, and each `pulumi` command starts a provider. `make renew` writes the file.
"""

import functools
import json
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
FLAGS = {
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
    return Property(name, _read(shape), sdk_name, **{FLAGS[each]: True for each in flags})
