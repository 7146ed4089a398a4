"""What a deployment would change: resource by resource, property by property, without changing anything.

Changes have the form of ARM's what-if. Bodies are compared as they are stored, with the services' defaults; what a service fills
in by itself isn't a change. Form: REST reference of Microsoft.Resources 2025-04-01, "What If".
"""

from collections.abc import Iterable, Mapping
from typing import Any

from azure_gpu.formats.arm_template import Expanded, TemplateResource
from localazure import shapes
from localazure.arm import answers
from localazure.arm.caller import Caller
from localazure.arm.errors import ArmError
from localazure.arm.in_process import InProcessArm
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body, Resource
from localazure.deployments.checking import in_order, sent
from localazure.deployments.view import TYPE


def changes(expanded: Expanded, group_ids: Iterable[str], arm: InProcessArm, caller: Caller, *, only_ids: bool) -> list[Body]:
    """All changes, by id. What the template doesn't name of the groups is ignored."""
    here = [(resource, waits) for resource, waits in in_order(expanded) if resource.type.lower() != TYPE.lower()]
    named = [_change(resource, waits, arm, caller) for resource, waits in here]
    ids = {change["resourceId"].lower() for change in named}
    listed = [resource for group_id in group_ids for resource in arm.listed_in(group_id)]
    others = [_untouched(resource, arm) for resource in listed if resource.key not in ids]
    found = sorted([*named, *others], key=lambda change: change["resourceId"].lower())
    return [{key: change[key] for key in ("resourceId", "changeType")} for change in found] if only_ids else found


def _change(resource: TemplateResource, waits: bool, arm: InProcessArm, caller: Caller) -> Body:
    if resource.unresolved:
        return {"resourceId": resource.id, "changeType": "Deploy"}
    version = str(resource.body["apiVersion"])
    kind, _ = arm.target(resource.id)
    try:
        change = arm.prepared(resource.id, version, sent(resource.body), caller)
    except ArmError:
        if not waits:
            raise
        after = {"id": resource.id, **answers.without_secrets(kind, resource.body)}  # what it needs doesn't exist yet
        return {"resourceId": resource.id, "changeType": "Create", "before": None, "after": after}
    return _compared(kind, change, version)


def _compared(kind: Kind, change: Change, version: str) -> Body:
    after = _shown(kind, change.id.text, change.id.name, version, change.body)
    if change.previous is None:
        return {"resourceId": change.id.text, "changeType": "Create", "before": None, "after": after}
    before = _shown(kind, change.id.text, change.id.name, version, change.previous.body)
    delta = differences(before, after)
    return {
        "resourceId": change.id.text,
        "changeType": "Modify" if delta else "NoChange",
        "before": before,
        "after": after,
        "delta": delta,
    }


def _untouched(resource: Resource, arm: InProcessArm) -> Body:
    kind, _ = arm.target(resource.id.text)
    before = _shown(kind, resource.id.text, resource.id.name, shapes.default_api_version(kind.azure_type), resource.body)
    return {"resourceId": resource.id.text, "changeType": "Ignore", "before": before, "after": before}


def _shown(kind: Kind, resource_id: str, name: str, version: str, body: Body) -> Body:
    return {"apiVersion": version, "id": resource_id, "name": name, "type": kind.arm_type, **answers.without_secrets(kind, body)}


def differences(before: Mapping[str, Any], after: Mapping[str, Any], path: str = "") -> list[Body]:
    """The members that differ, by path from the resource."""
    found: list[Body] = []
    for name in sorted({*before, *after}):
        where = f"{path}.{name}" if path else name
        one, other = before.get(name), after.get(name)
        if name not in after:
            found.append(_difference(where, "Delete", one, None))
        elif name not in before:
            found.append(_difference(where, "Create", None, other))
        elif isinstance(one, dict) and isinstance(other, dict):
            found += differences(one, other, where)
        elif isinstance(one, list) and isinstance(other, list) and one != other:
            found.append({**_difference(where, "Array", None, None), "children": _elements(one, other)})
        elif one != other:
            found.append(_difference(where, "Modify", one, other))
    return found


def _elements(before: list[Any], after: list[Any]) -> list[Body]:
    """Elements by position."""
    found: list[Body] = []
    for index in range(max(len(before), len(after))):
        if index >= len(after):
            found.append(_difference(str(index), "Delete", before[index], None))
        elif index >= len(before):
            found.append(_difference(str(index), "Create", None, after[index]))
        elif isinstance(before[index], dict) and isinstance(after[index], dict) and before[index] != after[index]:
            below = differences(before[index], after[index])
            found.append({**_difference(str(index), "Modify", None, None), "children": below})
        elif before[index] != after[index]:
            found.append(_difference(str(index), "Modify", before[index], after[index]))
    return found


def _difference(path: str, how: str, before: Any, after: Any) -> Body:
    return {"path": path, "propertyChangeType": how, "before": before, "after": after, "children": None}
