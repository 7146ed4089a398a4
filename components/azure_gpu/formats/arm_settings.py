"""Resources of Azure Resource Manager as entries of a stack file, for `import` of files and of ids.

A body may be an entry of a template, what a GET answers, or what `az … show -o json` prints, which has no `properties`. A setting
without a key in the stack file, a placeholder and an expression without a value are reported with their lines; secrets are never
copied.
"""

from collections.abc import Callable, Mapping
from typing import Any

from azure_gpu.formats import arm_batch, arm_clusters, arm_container_apps, arm_machine_learning
from azure_gpu.formats.body_reader import BodyReader, PartInFile, Reading, mapping

_ANSWERED = (  # by Azure, about a resource that exists
    *("id", "type", "apiVersion", "etag", "eTag", "resourceGroup", "provisioningState", "powerState", "systemData", "url"),
    *("creationTime", "lastModified", "state", "stateTransitionTime", "allocationState", "allocationStateTransitionTime"),
    *("currentNodeCommunicationMode", "currentDedicatedNodes", "currentLowPriorityNodes", "resizeOperationStatus", "stats"),
    *("provisioningStateTransitionTime", "autoScaleRun", "resizeErrors", "poolStatistics", "dependsOn"),
)

Reader = Callable[[BodyReader, BodyReader], list[PartInFile]]
READERS: Mapping[str, Reader] = {
    "Microsoft.Batch/batchAccounts": arm_batch.account,
    "Microsoft.Batch/batchAccounts/pools": arm_batch.pool,
    "Microsoft.ContainerService/managedClusters": arm_clusters.cluster,
    "Microsoft.ContainerService/managedClusters/agentPools": arm_clusters.agent_pool,
    "Microsoft.MachineLearningServices/workspaces": arm_machine_learning.workspace,
    "Microsoft.MachineLearningServices/workspaces/computes": arm_machine_learning.compute,
    "Microsoft.MachineLearningServices/workspaces/onlineEndpoints": arm_machine_learning.endpoint,
    "Microsoft.MachineLearningServices/workspaces/onlineEndpoints/deployments": arm_machine_learning.deployment,
    "Microsoft.App/managedEnvironments": arm_container_apps.environment,
    "Microsoft.App/jobs": arm_container_apps.job,
}
"""The types that are read."""
ACCOUNT, POOL, CLUSTER, AGENT_POOL = list(READERS)[:4]


# A body without a type is of one by a key, with one of others beside it.
_BY_KEYS = (
    (CLUSTER, "agentpoolprofiles", ""),
    (POOL, "vmsize", "deploymentconfiguration virtualmachineconfiguration targetdedicatednodes scalesettings"),
    (AGENT_POOL, "vmsize", "nodetaints orchestratorversion ossku scalesetpriority mode"),
    (ACCOUNT, "poolallocationmode", ""),
    (ACCOUNT, "accountendpoint", ""),
    ("Microsoft.Compute/virtualMachines", "hardwareprofile", ""),
)


def kind_of(body: Mapping[str, Any]) -> str:
    """The type of a body, by its `type` or, of what `az` prints without one, by its keys. "" if it is none of Azure's."""
    by_lower = {str(key).lower(): value for key, value in body.items()}
    declared = by_lower.get("type")
    if isinstance(declared, str) and declared.lower().startswith("microsoft."):
        return next((one for one in READERS if one.lower() == declared.lower()), declared)
    keys = {*by_lower, *(str(key).lower() for key in mapping(by_lower.get("properties")))}
    return next((kind for kind, key, others in _BY_KEYS if key in keys and (not others or keys & set(others.split()))), "")


def read(kind: str, body: Mapping[str, Any], path: str, reading: Reading) -> list[PartInFile]:
    """The entries that one body becomes. `path`: of the body in the document."""
    reader = BodyReader(body, path, reading)
    inside = reader.inside("properties") if "properties" in reader else reader
    reader.skip(*_ANSWERED)
    inside.skip(*_ANSWERED)
    parts = READERS[kind](reader, inside)
    reader.rest()
    return parts


def exists_as(body: Mapping[str, Any]) -> str:
    """The ARM id of a body that Azure answered; "" for one that is still to be deployed."""
    text = next((str(value) for key, value in body.items() if str(key).lower() == "id"), "")
    return text if text.lower().startswith("/subscriptions/") else ""
