"""Diagnostic settings: which logs of a resource go to which workspace. Kept as they are; no log is sent.

A container group is restarted by its setting: Microsoft Learn, container-instances/monitor-azure-container-instances-reference
(2025-11-17). That one which has ended is too, and one that a user stopped isn't, is assumed.

Of the types in CATEGORIES alone. Their categories: Microsoft Learn, azure-monitor/reference/supported-logs, a page for each.
Codes and sentences of the service were read in
  - ResourceTypeNotSupported: Azure/Mission-Critical-Online issue 185
  - Data sink … is already used: Azure/bicep-registry-modules issue 3407
  - Category … is not supported: hashicorp/terraform issue 20534; of metrics MicrosoftDocs/azure-docs issue 69798
All others here are assumed.
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
CATEGORY_GROUPS = ("allLogs", "audit")
METRICS = ("AllMetrics",)
MOST = 5  # Microsoft Learn, azure-monitor/essentials/diagnostic-settings: settings of one resource
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
        scope = parse(change.id.scope)
        resource = change.services.store.get(change.id.scope)
        if scope is None or resource is None:
            raise ArmError(404, "ResourceNotFound", f"The resource '{change.id.scope}' was not found.")
        categories = CATEGORIES.get(scope.type.lower())
        if categories is None:
            message = f"The resource type '{scope.type}' does not support diagnostic settings."
            raise ArmError(400, "ResourceTypeNotSupported", message)
        _check_destination(change)
        _check_categories(change.properties, categories)
        others = [one for one in _of(change.id.scope, change.services) if one.key != change.id.key]
        if change.creating and len(others) >= MOST:
            message = f"The limit of {MOST} diagnostic settings was reached."
            raise ArmError(409, "Conflict", message)
        same = [one for one in others if _same_sink(one.properties, change.properties)]
        if same:
            sink = _same_sink(same[0].properties, change.properties)
            message = (
                f"Data sink '{sink}' is already used in diagnostic setting '{same[0].id.name}' for "
                f"category '{_shared(same[0].properties, change.properties)}'. Data sinks can't be reused in different settings "
                "on the same category for the same resource."
            )
            raise ArmError(409, "Conflict", message)

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


def _check_destination(change: Change) -> None:
    properties = change.body.setdefault("properties", {})
    if not any(properties.get(name) for name in SINKS):
        message = "At least one data sink needs to be specified."
        raise ArmError(400, "BadRequest", message, target="properties.workspaceId")
    given = properties.get("workspaceId")
    if not given:
        return  # storage accounts, event hubs and partners are kept by their ids
    parsed = parse(given)
    is_one = parsed is not None and parsed.is_type(azure_types.LOG_WORKSPACE.arm_type)
    if parsed is None or not is_one or change.services.store.get(parsed.key) is None:
        message = f"The Log Analytics workspace '{given}' was not found."
        raise ArmError(404, "ResourceNotFound", message, target="properties.workspaceId")


def _check_categories(properties: Body, categories: tuple[str, ...]) -> None:
    for index, log in enumerate(properties.get("logs") or []):
        target = f"properties.logs[{index}]"
        category, group = log.get("category"), log.get("categoryGroup")
        if bool(category) == bool(group):
            raise ArmError(400, "BadRequest", "A log setting names either a category or a categoryGroup.", target=target)
        if category and category not in categories:
            raise ArmError(400, "BadRequest", f"Category '{category}' is not supported.", target=f"{target}.category")
        if group and group.lower() not in {one.lower() for one in CATEGORY_GROUPS}:
            message = f"Category group '{group}' is not supported."
            raise ArmError(400, "BadRequest", message, target=f"{target}.categoryGroup")
    for index, metric in enumerate(properties.get("metrics") or []):
        category = metric.get("category")
        if category and category not in METRICS:
            message = f"Metric category '{category}' is not supported."
            raise ArmError(400, "BadRequest", message, target=f"properties.metrics[{index}].category")


def _enabled(properties: Body) -> set[str]:
    return {str(log.get("category") or log.get("categoryGroup")) for log in properties.get("logs") or [] if log.get("enabled")}


def _same_sink(one: Body, other: Body) -> str:
    """The sink that two settings have in common for a category; "" where there is none."""
    if not _enabled(one) & _enabled(other):
        return ""
    shared = (str(one[name]) for name in SINKS if one.get(name) and str(one[name]).lower() == str(other.get(name)).lower())
    return next(shared, "")


def _shared(one: Body, other: Body) -> str:
    return min(_enabled(one) & _enabled(other))
