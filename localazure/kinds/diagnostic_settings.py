"""Diagnostic settings: which logs of a resource go to which workspace. Kept as they are; no log is sent.

A container group is restarted by its setting: Microsoft Learn, container-instances/monitor-azure-container-instances-reference
(2025-11-17). That one which has ended is too, and one that a user stopped isn't, is assumed.

Of the types in CATEGORIES alone. Their categories: Microsoft Learn, azure-monitor/reference/supported-logs, a page for each.
"""

from collections.abc import Mapping

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId, parse
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body, Resource
from localazure.containers.runtime import Runtime
from localazure.kinds import container_group_runs
from localazure.services import Services
from localazure.weather import registrations

CATEGORIES: Mapping[str, tuple[str, ...]] = {
    azure_types.MANAGED_ENVIRONMENT.arm_type.lower(): (
        "ContainerAppConsoleLogs",
        "ContainerAppSystemLogs",
        "AppEnvSpringAppConsoleLogs",
        "AppEnvSessionConsoleLogs",
        "AppEnvSessionLifeCycleLogs",
        "AppEnvSessionPoolEventLogs",
    ),
    azure_types.BATCH_ACCOUNT.arm_type.lower(): ("AuditLog", "ServiceLog", "ServiceLogs"),
    azure_types.MANAGED_CLUSTER.arm_type.lower(): (
        "cloud-controller-manager",
        "cluster-autoscaler",
        "csi-azuredisk-controller",
        "csi-azurefile-controller",
        "csi-snapshot-controller",
        "fleet-mcs-controller-manager",
        "fleet-member-agent",
        "fleet-member-net-controller-manager",
        "guard",
        "kube-apiserver",
        "kube-audit",
        "kube-audit-admin",
        "kube-controller-manager",
        "kube-scheduler",
    ),
    azure_types.CONTAINER_GROUP.arm_type.lower(): ("ContainerInstanceLog", "ContainerEvent"),
    azure_types.VIRTUAL_NETWORK.arm_type.lower(): ("VMProtectionAlerts",),
    azure_types.NETWORK_SECURITY_GROUP.arm_type.lower(): ("NetworkSecurityGroupEvent", "NetworkSecurityGroupRuleCounter"),
    azure_types.PUBLIC_IP_ADDRESS.arm_type.lower(): (
        "DDoSMitigationFlowLogs",
        "DDoSMitigationReports",
        "DDoSProtectionNotifications",
    ),
    azure_types.NETWORK_INTERFACE.arm_type.lower(): (),
    azure_types.STORAGE_ACCOUNT.arm_type.lower(): (),
    azure_types.BLOB_SERVICE.arm_type.lower(): ("StorageRead", "StorageWrite", "StorageDelete"),
    azure_types.REGISTRY.arm_type.lower(): ("ContainerRegistryRepositoryEvents", "ContainerRegistryLoginEvents"),
    azure_types.LOG_WORKSPACE.arm_type.lower(): ("Audit", "SummaryLogs"),
    azure_types.AUTOSCALE_SETTING.arm_type.lower(): ("AutoscaleEvaluations", "AutoscaleScaleActions"),
    azure_types.KEY_VAULT.arm_type.lower(): ("AuditEvent", "AzurePolicyEvaluationDetails"),
    azure_types.ML_WORKSPACE.arm_type.lower(): (
        "AmlComputeClusterEvent",
        "AmlComputeClusterNodeEvent",
        "AmlComputeCpuGpuUtilization",
        "AmlComputeJobEvent",
        "AmlRunStatusChangedEvent",
        "ComputeInstanceEvent",
        "DataLabelChangeEvent",
        "DataLabelReadEvent",
        "DataSetChangeEvent",
        "DataSetReadEvent",
        "DataStoreChangeEvent",
        "DataStoreReadEvent",
        "DeploymentEventACI",
        "DeploymentEventAKS",
        "DeploymentReadEvent",
        "EnvironmentChangeEvent",
        "EnvironmentReadEvent",
        "InferencingOperationACI",
        "InferencingOperationAKS",
        "ModelsActionEvent",
        "ModelsChangeEvent",
        "ModelsReadEvent",
        "PipelineChangeEvent",
        "PipelineReadEvent",
        "RunEvent",
        "RunReadEvent",
    ),
    azure_types.ML_ONLINE_ENDPOINT.arm_type.lower(): (
        "AmlOnlineEndpointConsoleLog",
        "AmlOnlineEndpointEventLog",
        "AmlOnlineEndpointTrafficLog",
    ),
}
METRICS = ("AllMetrics",)
_NO_RETENTION: Body = {"enabled": False, "days": 0}
SINKS = ("workspaceId", "storageAccountId", "eventHubAuthorizationRuleId", "marketplacePartnerId", "serviceBusRuleId")


class DiagnosticSettings(Kind):
    """An extension of the resources whose logs it is about."""

    azure_type = azure_types.DIAGNOSTIC_SETTING
    location = "none"
    created_status = 200
    patchable = False
    shows_state = False

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

    def not_found(self, resource_id: ArmId) -> ArmError:
        """This and what is shown: Test_Insights_DiagnosticSetting_v20210501preview_CRUD (2025-08-07)."""
        return ArmError(404, "ResourceNotFound", f"The diagnostic setting '{resource_id.name}' doesn't exist.")

    def defaults(self, change: Change) -> Body:  # noqa: ARG002
        return {"properties": {"logs": [], "metrics": []}}

    async def provision(self, change: Change) -> Body:
        services = change.services
        group = services.store.get(change.id.scope)
        changed = change.previous is None or change.previous.properties != change.properties
        if changed and group is not None and group.id.is_type(azure_types.CONTAINER_GROUP.arm_type):
            await container_group_runs.restart_of_its_own_accord(group, self._runtime, services)
        return {}

    def view(self, resource: Resource, services: Services) -> Body:
        """Every log and metric with its retention, and, but in the answer to a PUT, the metrics that weren't requested."""
        body = super().view(resource, services)
        properties = dict(body["properties"])
        properties["logs"] = [{"retentionPolicy": _NO_RETENTION, **each} for each in properties["logs"]]
        unasked = [] if resource.answering else [{"category": METRICS[0], "enabled": False}]
        metrics = properties["metrics"] or unasked
        properties["metrics"] = [{"retentionPolicy": _NO_RETENTION, **each} for each in metrics]
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
