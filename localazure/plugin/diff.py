"""Compares old and new inputs: nothing, an update, or a replacement.

It is exactly as wise as the real provider: a path parameter or a property of `force_new.toml` replaces, everything else
updates, even where the service will refuse it. Source: pulumi/pulumi-azure-native, provider/pkg/provider/diff.go and
provider/pkg/gen/replacement.go.
"""

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from azure_gpu.formats.azure_types import AzureType
from localazure.plugin.naming import CREATE_BEFORE_DELETE

FORCE_NEW: Mapping[str, Sequence[str]] = tomllib.loads(Path(__file__).with_name("force_new.toml").read_text(encoding="utf-8"))


class Kind(StrEnum):
    ADD = "add"
    DELETE = "delete"
    UPDATE = "update"


@dataclass(frozen=True, slots=True)
class Change:
    """One property that differs. `path` is the engine's (`containers[0].image`), `key` the same without indexes."""

    path: str
    key: str
    kind: Kind
    new: Any = None
    replaces: bool = False

    @property
    def top_level(self) -> str:
        return self.key.split(".")[0].removesuffix("[]")


@dataclass(frozen=True, slots=True)
class Diff:
    changes: tuple[Change, ...]
    delete_before_replace: bool

    @property
    def replaces(self) -> list[str]:
        return [change.path for change in self.changes if change.replaces]


def diff(
    azure_type: AzureType, old_inputs: Mapping[str, Any], new_inputs: Mapping[str, Any], old_state: Mapping[str, Any]
) -> Diff:
    """The difference, by wire name. `old_state`: an input that is new but says what the resource already is doesn't replace."""
    replace_keys = {*azure_type.path_parameters, *FORCE_NEW.get(azure_type.arm_type, ())}
    changes: list[Change] = []
    for change in object_changes(_visible(old_inputs), _visible(new_inputs)):
        if change.path == "location" and _same_location(old_inputs.get("location"), new_inputs.get("location")):
            continue
        already = change.kind is Kind.ADD and _at(old_state, change.key) == _at(new_inputs, change.key)
        changes.append(replace(change, replaces=lies_in(change.key, replace_keys) and not already))
    replaced = any(change.replaces for change in changes)
    return Diff(tuple(changes), replaced and old_inputs.get(CREATE_BEFORE_DELETE) is not True)


def lies_in(key: str, names: Collection[str]) -> bool:
    """Whether a key is, or lies inside of, one of these properties: `vmSize`, `networkProfile.podCidr`."""
    steps = key.replace("[]", "").split(".")
    return any(".".join(steps[:count]) in names for count in range(1, len(steps) + 1))


def object_changes(old: Mapping[str, Any], new: Mapping[str, Any], path: str = "", key: str = "") -> Iterator[Change]:
    """The changes between two objects, deeply."""
    for name in [*old, *(name for name in new if name not in old)]:
        here, here_key = _join(path, name), f"{key}.{name}" if key else name
        if name not in new:
            yield Change(here, here_key, Kind.DELETE)
        elif name not in old:
            yield Change(here, here_key, Kind.ADD, new[name])
        else:
            yield from _changes(old[name], new[name], here, here_key)


def _changes(old: Any, new: Any, path: str, key: str) -> Iterator[Change]:
    if old == new and isinstance(old, bool) == isinstance(new, bool):
        return
    match old, new:
        case Mapping(), Mapping():
            yield from object_changes(old, new, path, key)
        case list(), list():
            for index in range(max(len(old), len(new))):
                here, here_key = f"{path}[{index}]", f"{key}[]"
                if index >= len(new):
                    yield Change(here, here_key, Kind.DELETE)
                elif index >= len(old):
                    yield Change(here, here_key, Kind.ADD, new[index])
                else:
                    yield from _changes(old[index], new[index], here, here_key)
        case _:
            yield Change(path, key, Kind.UPDATE, new)


def _at(values: Mapping[str, Any], key: str) -> Any:
    """What stands at a path of names; None for one that leads through a list."""
    found: Any = values
    for name in key.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _visible(inputs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in inputs.items() if not name.startswith("__")}


def _same_location(old: object, new: object) -> bool:
    """'West US 2' and 'westus2' are one place."""
    return isinstance(old, str) and isinstance(new, str) and normal_location(old) == normal_location(new)


def normal_location(location: str) -> str:
    return location.replace(" ", "").lower()


def _join(path: str, name: str) -> str:
    if any(sign in name for sign in '.[]"'):
        escaped = name.replace('"', '\\"')
        return f'{path}["{escaped}"]'
    return f"{path}.{name}" if path else name
