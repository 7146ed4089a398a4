"""Diagnostic settings: which logs of a resource go to which workspace. Kept as they are; no log is sent.

A container group is restarted by its setting: Microsoft Learn, container-instances/monitor-azure-container-instances-reference
(2025-11-17). That one which has ended is too, and one that a user stopped isn't, is assumed.

Only of the types in CATEGORIES.
"""

from collections.abc import Mapping, Sequence

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from localazure import evidence
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body, Resource
from localazure.containers.runtime import Runtime
from localazure.kinds import container_group_runs
from localazure.services import Services
from localazure.weather import registrations

CATEGORIES: Mapping[str, Sequence[str]] = {
    arm_type.lower(): row["log_categories"] for arm_type, row in evidence.types().items() if "log_categories" in row
}
METRICS = ("AllMetrics",)
_NO_RETENTION: Body = {"enabled": False, "days": 0}
SINKS = ("workspaceId", "storageAccountId", "eventHubAuthorizationRuleId", "marketplacePartnerId", "serviceBusRuleId")


class DiagnosticSettings(Kind):
    """An extension of the resources whose logs it is about."""

    azure_type = azure_types.DIAGNOSTIC_SETTING

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def check(self, change: Change) -> None:
        registrations.check_insights(change.services)
        change.body.setdefault("properties", {})
        super().check(change)

    def facts(self, change: Change) -> Body:
        scope = parse(change.id.scope)
        scope_type = scope.type if scope is not None and change.services.store.get(change.id.scope) else ""
        others = [one for one in _of(change.id.scope, change.services) if one.key != change.id.key]
        return {
            "scope": change.id.scope,
            "scope_type": scope_type,
            "has_logs": scope_type.lower() in CATEGORIES,
            "categories": list(CATEGORIES.get(scope_type.lower(), ())),
            "sinks": any(change.properties.get(name) for name in SINKS),
            "others": len(others) if change.creating else 0,
            "reused": _reused(change.properties, others),
        }

    async def provision(self, change: Change) -> Body:
        services = change.services
        group = services.store.get(change.id.scope)
        changed = change.previous is None or change.previous.properties != change.properties
        if changed and group is not None and group.id.is_type(azure_types.CONTAINER_GROUP.arm_type):
            await container_group_runs.restart_of_its_own_accord(group, self._runtime, services)
        return {}

    def view(self, resource: Resource, services: Services) -> Body:
        """With the metrics that weren't requested, but in the answer to a PUT."""
        body = super().view(resource, services)
        properties = dict(body["properties"])
        unasked = [] if resource.answering else [{"category": METRICS[0], "enabled": False, "retentionPolicy": _NO_RETENTION}]
        properties["metrics"] = properties["metrics"] or unasked
        above = services.store.get(resource.id.scope)
        place = {"location": above.location} if above is not None and above.location else {}
        return {**place, **body, "properties": properties}

    def listed(self, scope: str, conditions: str, services: Services) -> list[Resource]:
        if conditions:
            raise not_implemented(f"$filter on the list of '{self.arm_type}'")
        if services.store.get(scope) is None:
            raise ArmError(404, "ResourceNotFound", f"The resource '{scope}' was not found.")
        return _of(scope, services)


def _of(scope: str, services: Services) -> list[Resource]:
    return [
        one
        for one in services.store.of_type(DiagnosticSettings.azure_type.arm_type, scope)
        if one.id.scope.lower() == scope.lower()
    ]


def _enabled(properties: Body) -> set[str]:
    return {str(log.get("category") or log.get("categoryGroup")) for log in properties.get("logs") or [] if log.get("enabled")}


def _reused(properties: Body, others: list[Resource]) -> Body:
    """The first sink that another setting has for the same category."""
    for other in others:
        shared = _enabled(properties) & _enabled(other.properties)
        for name in SINKS:
            sink = str(properties.get(name) or "")
            if shared and sink and sink.lower() == str(other.properties.get(name)).lower():
                return {"sink": sink, "setting": other.id.name, "category": min(shared)}
    return {}
