"""Fields that a program leaves to others (`ignore_changes`): what is sent for them is what the object has.

A field that another owns and this program doesn't is left out, so that applying neither takes it nor meets a conflict.
Paths through lists are left as they are, as in the real provider.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from localazure.kubernetes_plugin import objects
from localazure.kubernetes_plugin.objects import Object


def without_ignored(inputs: Object, live: Object, ignored: Sequence[str], manager: str) -> Object:
    """`inputs` with the fields at `ignored` (`spec.replicas`) as the live object has them."""
    found = copy.deepcopy(inputs)
    for path in ignored:
        keys = path.split(".")
        if "[" in path or not all(keys):
            continue
        if _owned(live, keys, manager, by_others=True) and not _owned(live, keys, manager, by_others=False):
            _drop(found, keys)
        elif (value := objects.path(live, *keys)) is not None:
            _put(found, keys, value)
    return found


def _owned(live: Object, keys: list[str], manager: str, *, by_others: bool) -> bool:
    for entry in objects.metadata(live).get("managedFields") or []:
        if (entry.get("manager") != manager) is by_others and _in_set(entry.get("fieldsV1"), keys):
            return True
    return False


def _in_set(fields: Any, keys: list[str]) -> bool:
    for key in keys:
        if not isinstance(fields, Mapping) or f"f:{key}" not in fields:
            return False
        fields = fields[f"f:{key}"]
    return True


def _drop(thing: Object, keys: list[str]) -> None:
    inner = objects.path(thing, *keys[:-1]) if keys[:-1] else thing
    if isinstance(inner, dict):
        inner.pop(keys[-1], None)


def _put(thing: Object, keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        inner = thing.setdefault(key, {})
        if not isinstance(inner, dict):
            return
        thing = inner
    thing[keys[-1]] = value
