"""Applies `overrides`: azure-native properties that a user sets on a resource beside those that its component declares.

An argument is annotated `Annotated[Overrides, OverridesOf(<type>)]`, by which its properties are checked before anything is
declared; the resource is declared with `transformations=applied(...)`. Names are azure-native's: `vmSize`, as its documentation
and ARM write them, or `vm_size`, as its Python SDK does.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pulumi

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.shared import sdk_types
from azure_gpu.shared.validation import OUTPUT, OpenInput

_WORDS: Mapping[Any, str] = {str: "a string", bool: "true or false", int: "a number", float: "a number"}
Overrides = Mapping[str, OpenInput[Any]]
"""Properties by name. An object is merged with what is declared, anything else replaces it, and null removes it."""


@dataclass(frozen=True, slots=True)
class OverridesOf:
    """Checks overrides of resources of one type."""

    azure_type: AzureType

    def check(self, given: object, path: str) -> list[Problem]:
        """Rejects properties that the type doesn't have, or that are part of the resource's id. Azure validates the values."""
        if not isinstance(given, Mapping):
            return []  # the wrong type is already a problem
        return list(_below(cast(Mapping[str, object], given), sdk_types.args_class(self.azure_type.token), path, self.azure_type))


def applied(given: Overrides | None, component: pulumi.Resource) -> list[pulumi.ResourceTransformation] | None:
    """Returns the resource option that sets `given`. A preview logs it at `component`."""
    if not given:
        return None

    def set_on(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult:
        expected = sdk_types.args_class(args.type_)
        if pulumi.runtime.is_dry_run():
            pulumi.log.info(f"overrides set {', '.join(_paths(given, expected))} of {args.name}", component)
        return pulumi.ResourceTransformationResult(_set_on(args.props, given, expected), args.opts)

    return [set_on]


def left_alone(paths: Sequence[str], given: Overrides | None) -> list[str]:
    """Returns those of these wire paths at or below which the overrides set nothing: for `ignore_changes`, of defaults for new
    resources alone. Name an object that isn't declared otherwise, too: without it an empty one would be new."""
    return [path for path in paths if not _sets(given or {}, path.split("."))]


def _sets(given: object, names: Sequence[str]) -> bool:
    if not names:
        return True
    below = cast(Mapping[str, object], given) if isinstance(given, Mapping) else {}
    wanted = names[0].lower()
    return any(key.replace("_", "").lower() == wanted and _sets(value, names[1:]) for key, value in below.items())


def properties(azure_type: AzureType) -> list[str]:
    """Returns the sorted names of the properties of this type that aren't part of its id."""
    return sorted(sdk_types.kinds(sdk_types.args_class(azure_type.token)).keys() - set(azure_type.path_parameters))


def in_body(body: Mapping[str, Any], given: Overrides | None, azure_type: AzureType) -> dict[str, Any]:
    """Applies the overrides to the body of a resource that is sent in a template, too."""
    return _merged(body, given or {}, sdk_types.args_class(azure_type.token))


def _set_on(declared: Mapping[str, Any], given: Overrides, kind: Any) -> dict[str, Any]:
    """Returns the resource's properties under their Python names, by which its outputs are found."""
    wire, kinds = sdk_types.wire_names(kind), sdk_types.kinds(kind)
    python = {name: key for key, name in wire.items()}
    changed = {wire.get(key, key): value for key, value in given.items()}
    of_given = {python[name]: _merged(declared.get(python[name]), value, kinds[name]) for name, value in changed.items()}
    return {**declared, **of_given}


def _merged(declared: object, given: object, kind: Any) -> Any:
    if not isinstance(given, Mapping):
        return given
    values = cast(Mapping[str, object], given)
    if isinstance(declared, pulumi.Output):
        return cast("pulumi.Output[Any]", declared).apply(lambda value: _merged(value, values, kind))
    if sdk_types.is_object(type(declared)):
        kind = type(declared)  # the actual one, where a property allows several types
    wire, kinds = sdk_types.wire_names(kind), sdk_types.kinds(kind)
    kept: dict[str, Any] = {
        wire.get(key, key): value for key, value in sdk_types.properties_of(declared).items() if value is not None
    }
    for key, value in values.items():
        name = wire.get(key, key)
        kept[name] = _merged(kept.get(name), value, kinds.get(name))
    return {name: value for name, value in kept.items() if value is not None}


def _paths(given: Mapping[str, object], kind: Any, before: str = "") -> Iterator[str]:
    """Yields the paths of what is set, down to the first value that isn't an object with known properties."""
    wire, kinds = sdk_types.wire_names(kind), sdk_types.kinds(kind)
    for key, value in given.items():
        name = wire.get(key, key)
        if isinstance(value, Mapping) and sdk_types.is_object(kinds.get(name)):
            yield from _paths(cast(Mapping[str, object], value), kinds[name], f"{before}{name}.")
        else:
            yield f"{before}{name}"


def _below(given: Mapping[str, object], kind: Any, path: str, of: AzureType | None = None) -> Iterator[Problem]:
    """Checks properties. `of`: the resource that they belong to; None for an object inside of it."""
    wire, kinds = sdk_types.wire_names(kind), sdk_types.kinds(kind)
    for key, value in given.items():
        here, name = f"{path}.{key}", wire.get(key, key)
        if name not in kinds:
            yield unknown(here, key, key, sorted(kinds), kind.__name__.removesuffix("Args"))
        elif of is not None and name in of.path_parameters:
            yield refused("overrides.of_id", here, key)
        elif not isinstance(value, OUTPUT) and value is not None:
            yield from _value(value, kinds[name], here)


def _value(value: object, kind: Any, path: str) -> Iterator[Problem]:
    [item] = _item_kinds(kind) or [None]
    if sdk_types.is_object(kind):
        if isinstance(value, Mapping):
            yield from _below(cast(Mapping[str, object], value), kind, path)
        else:
            yield _wrong(path, value, "an object")
    elif item is not None:
        if not isinstance(value, list | tuple):
            yield _wrong(path, value, "a list")
            return
        for index, each in enumerate(cast(Sequence[object], value)):
            if not isinstance(each, OUTPUT):
                yield from _value(each, item, f"{path}[{index}]")
    elif kind in _WORDS and isinstance(value, Mapping | list | tuple):
        yield _wrong(path, cast(object, value), _WORDS[kind])


def _item_kinds(kind: Any) -> list[Any]:
    """Returns the type of a list's items; empty where `kind` isn't a list."""
    if getattr(kind, "__origin__", None) is not Sequence:
        return []
    return [sdk_types.plain(each) for each in kind.__args__]


def unknown(path: str, given: str, key: str, names: Sequence[str], what: str) -> Problem:
    """The problem of a property that a resource doesn't have. `key`: the property that is misspelt in `given`."""
    close = difflib.get_close_matches(key, names, n=1)
    fix = f"did you mean {close[0]}?" if close else "remove it"
    return refused("overrides.unknown", path, given, what=what, allowed=", ".join(names), fix=fix)


def _wrong(path: str, value: object, expected: str) -> Problem:
    return Problem(path=path, message=f"expected {expected}", value=value, allowed=expected, fix=f"write {expected}")
