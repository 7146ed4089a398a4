"""Extensions of clusters. Azure Machine Learning's is imitated as far as ARM sees it: its settings are judged, and it is there.

What it would put into the cluster (a router, controllers, a scheduler) doesn't run; endpoints there are served without it.
Rules: the catalog's. Codes are assumed.
"""

from azure_gpu.catalog.services.machine_learning import extension
from azure_gpu.catalog.services.machine_learning.extension import EXTENSION_TYPE, ExtensionRequest
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.kind import Change, Kind, merged
from localazure.arm.store import Body, Resource
from localazure.kinds import managed_cluster_pools
from localazure.kinds.ml_kind import system_data
from localazure.kinds.problem_refusals import of_service, refusal
from localazure.services import Services

VERSION = "1.1"  # of what isn't installed: the line of versions that is current
_SETTINGS, _PROTECTED = "configurationSettings", "configurationProtectedSettings"


class KubernetesExtensions(Kind):
    """An extension of a managed cluster."""

    azure_type = azure_types.KUBERNETES_EXTENSION
    location = "none"
    long_running = True
    long_running_delete = True

    def check(self, change: Change) -> None:
        cluster = change.services.store.get(change.id.scope)
        if cluster is None or not cluster.id.is_type(azure_types.MANAGED_CLUSTER.arm_type):
            raise ArmError(404, "ResourceNotFound", f"The cluster '{change.id.scope}' was not found.")
        properties = change.body.setdefault("properties", {})
        given = properties.get("extensionType") or (change.previous.properties["extensionType"] if change.previous else "")
        if str(given).lower() != EXTENSION_TYPE.lower():
            raise not_implemented(f"the extension '{given}'")
        properties["extensionType"] = EXTENSION_TYPE
        if (change.body.get("identity") or {}).get("type", "None") != "None":
            # Azure/azure-powershell issues 22455 and 24321: on AKS an extension has the identity that AKS gives it.
            reason = "Failed to perform resource identity operation. Status: 'BadRequest'."
            message = f"Identity operation for resource '{change.id.text}' failed with error '{reason}'."
            raise ArmError(400, "FailedIdentityOperation", message, target="identity")
        if "namespace" in (properties.get("scope") or {}):
            raise ArmError(400, "BadRequest", f"{EXTENSION_TYPE} is installed for a whole cluster.", target="properties.scope")
        if change.previous is not None and properties.get("scope") not in (None, change.previous.properties["scope"]):
            raise ArmError(400, "BadRequest", "The scope of an extension can't be changed.", target="properties.scope")
        others = [one for one in of_cluster(cluster, change.services) if one.key != change.id.key]
        if change.creating and others:
            message = f"An extension of the type {EXTENSION_TYPE} is installed on the cluster as '{others[0].id.name}'."
            raise ArmError(409, "ExtensionAlreadyExists", message)
        found = of_service(extension.extension_problems(_request(change, cluster), change.as_of))
        if found:
            raise refusal(found, "BadRequest")

    def defaults(self, change: Change) -> Body:
        kept = change.previous.properties if change.previous else {}
        secret = {_PROTECTED: kept[_PROTECTED]} if kept.get(_PROTECTED) else {}
        scope = kept.get("scope") or {"cluster": {"releaseNamespace": "azureml"}}
        return {
            "properties": {
                "autoUpgradeMinorVersion": True,
                "releaseTrain": "stable",
                "scope": scope,
                _SETTINGS: {},
                _PROTECTED: {},
                **secret,
            },
        }

    async def provision(self, change: Change) -> Body:
        version = str(change.properties.get("version") or VERSION)
        return {"properties": {"currentVersion": version, "isSystemExtension": False, "statuses": []}}

    def hidden(self, body: Body) -> Body:
        """The names of the protected settings are shown, and nothing of what they hold."""
        protected = body["properties"].get(_PROTECTED) or {}
        return {**body, "properties": {**body["properties"], _PROTECTED: dict.fromkeys(protected, "")}}

    def view(self, resource: Resource, services: Services) -> Body:
        return {**merged(resource.body, resource.service), "systemData": system_data(resource, services)}

    def listed(self, scope: str, conditions: str, services: Services) -> list[Resource]:
        if conditions:
            raise not_implemented(f"$filter on the list of '{self.arm_type}'")
        cluster = services.store.get(scope)
        if cluster is None:
            raise ArmError(404, "ResourceNotFound", f"The resource '{scope}' was not found.")
        return of_cluster(cluster, services)


def of_cluster(cluster: Resource, services: Services) -> list[Resource]:
    found = services.store.of_type(azure_types.KUBERNETES_EXTENSION.arm_type, cluster.key)
    return [one for one in found if one.id.scope.lower() == cluster.key]


def _request(change: Change, cluster: Resource) -> ExtensionRequest:
    kept = change.previous.properties if change.previous else {}
    whole = {**(kept.get(_SETTINGS) or {}), **(change.properties.get(_SETTINGS) or {})}
    protected = {**(kept.get(_PROTECTED) or {}), **(change.properties.get(_PROTECTED) or {})}
    nodes, vcpus = _capacity(cluster, change.services)
    parsed = parse(cluster.id.text)
    return ExtensionRequest(
        settings={str(name): str(value) for name, value in whole.items()},
        path=f"properties.{_SETTINGS}",
        cluster_path="id",
        protected=frozenset(protected),
        nodes=nodes,
        vcpus=vcpus,
        service_principal=(cluster.body.get("identity") or {}).get("type", "None") == "None",
        local_accounts=not cluster.properties.get("disableLocalAccounts"),
        same_subscription=parsed is not None and parsed.subscription == change.id.subscription,
    )


def _capacity(cluster: Resource, services: Services) -> tuple[int, int]:
    """Nodes and vCPUs that a cluster keeps: of a pool that scales itself, its fewest."""
    nodes = vcpus = 0
    for pool in managed_cluster_pools.of(cluster.key, services):
        given = pool.properties
        count = int(given.get("minCount") or 0) if given.get("enableAutoScaling") else int(given.get("count") or 0)
        size = SIZES.find(str(given.get("vmSize")))
        nodes += count
        vcpus += count * ((size.vcpus if size else None) or 0)
    return nodes, vcpus
