"""Writes the file of `pulumi import --file`, with the URNs that the program gives its resources.

Components come before their children. A component that isn't in the state yet is declared as one; the program's next update
describes it.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from azure_gpu_operations.adopting.matching import Planned

_STACK = "pulumi:pulumi:Stack"


def of_state(deployment: Mapping[str, Any]) -> frozenset[str]:
    """The URNs of a state."""
    return frozenset(each["urn"] for each in deployment.get("resources") or [])


def import_file(
    resources: Sequence[Planned],
    ids: Mapping[str, str],
    plan: Mapping[str, Mapping[str, Any]],
    there: frozenset[str],
    states: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """`ids` by URN; `plan`: new states by URN; `there`: URNs of the stack's state; `states`: inputs and outputs under which a
    resource is taken in, by URN. What has none is read by its provider."""
    table: dict[str, str] = {}
    entries: dict[str, dict[str, Any]] = {}
    for each in resources:
        parent = _parent(each.parent, plan, there, table, entries)
        state = states.get(each.urn, {})
        given = {name: state[name] for name in ("inputs", "outputs") if state.get(name)}
        entries[each.urn] = {
            "type": each.azure_type.token,
            "name": each.urn,
            "logicalName": each.name,
            "id": ids[each.urn],
            "version": _version(each.provider),
            **({"parent": parent} if parent else {}),
            **given,
        }
    return {"nameTable": table, "resources": list(entries.values())}


def _parent(
    urn: str,
    plan: Mapping[str, Mapping[str, Any]],
    there: frozenset[str],
    table: dict[str, str],
    entries: dict[str, dict[str, Any]],
) -> str:
    """The name of a parent in the file; "" for the stack."""
    if not urn or _type(urn) == _STACK:
        return ""
    if urn in there:
        table[urn] = urn
    elif urn not in entries:
        above = _parent(plan[urn].get("parent", ""), plan, there, table, entries)
        of_component = {"type": _type(urn), "name": urn, "logicalName": urn.rsplit("::", 1)[-1], "component": True}
        entries[urn] = {**of_component, **({"parent": above} if above else {})}
    return urn


def _type(urn: str) -> str:
    return urn.split("::")[-2].rsplit("$", 1)[-1]


def _version(provider: str) -> str:
    """The version of a default provider, from its name: `default_3_29_0`."""
    found = re.search(r"::default_(\d+)_(\d+)_(\d+)", provider)
    return ".".join(found.groups()) if found else ""
