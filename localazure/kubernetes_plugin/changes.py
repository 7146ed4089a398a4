"""Compares old and new inputs of an object: nothing, an update, or a replacement.

The table of what replaces (`kinds.toml`) is the real provider's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from localazure.kubernetes_plugin import objects
from localazure.kubernetes_plugin.kinds import TABLE, Kind
from localazure.kubernetes_plugin.objects import Object
from localazure.kubernetes_plugin.values import canonical_object
from localazure.plugin.diff import Diff, lies_in, object_changes

_IDENTITY = ("metadata.name", "metadata.namespace")


def changes(kind: Kind, old: Object, new: Object, live: Object, *, namespaced: bool) -> Diff:
    """`old`, `new`: inputs. `live`: the object as last seen, which has the name that the server knows."""
    before, after = (canonical_object(_in_namespace(each, namespaced)) for each in (old, new))
    same_name = bool(objects.name(new)) and objects.name(new) == objects.name(live)
    if same_name:
        before["metadata"] = {**objects.metadata(before), "name": objects.name(live)}
    patterns = (*_IDENTITY, *TABLE["force_new"].get(kind.key, ()))
    found = tuple(
        replace(each, replaces=any(lies_in(key, patterns) for key in _keys(each.key, each.new)))
        for each in object_changes(before, after)
    )
    # A replacement can't exist beside what it replaces where it has the same name, and that name was given by hand.
    first = same_name and not objects.annotated(new, objects.AUTONAMED)
    first = first and (not namespaced or objects.namespace_or_default(new) == objects.namespace_or_default(live))
    return Diff(found, first and any(each.replaces for each in found))


def _keys(key: str, value: Any) -> Iterator[str]:
    """What changed, and what is new inside of it."""
    yield key
    match value:
        case Mapping():
            for name, each in value.items():
                yield from _keys(f"{key}.{name}", each)
        case list():
            for each in value:
                yield from _keys(key, each)


def _in_namespace(inputs: Object, namespaced: bool) -> Object:
    """Without a namespace where the kind has none; in `default` where it isn't set. Without what the server alone writes."""
    given = inputs.get("metadata")
    if not isinstance(given, Mapping):
        return inputs
    found = {key: value for key, value in given.items() if key not in (*objects.SERVER_METADATA, "namespace")}
    if namespaced:
        found["namespace"] = objects.namespace_or_default(inputs)
    return {**inputs, "metadata": found}
