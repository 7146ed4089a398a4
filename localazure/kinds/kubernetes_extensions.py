"""Extensions of clusters: kept and shown. Azure Machine Learning's settings are validated too; of the others none is known.

What they would put into the cluster (a router, controllers, a scheduler) doesn't run; endpoints there are served without it.
Statuses, headers and members: Azure Service Operator's session Test_KubernetesConfiguration_Extension_20230501_CRUD (2026-03-20),
"the session" below. Rules of Azure Machine Learning's extension: the catalog's. Other codes are assumed.
"""

import uuid

from azure_gpu.catalog.services.machine_learning import extension
from azure_gpu.catalog.services.machine_learning.extension import EXTENSION_TYPE, ExtensionRequest
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.kind import Change, Kind, merged
from localazure.arm.store import Body, Resource
from localazure.kinds import managed_cluster_pools
from localazure.kinds.problem_refusals import of_service, refusal
from localazure.services import Services

# Of what isn't installed: of Azure Machine Learning's the line of versions that is current, of Flux the session's.
VERSIONS = {EXTENSION_TYPE.lower(): "1.1", "microsoft.flux": "1.19.5"}
UNKNOWN_VERSION = "1.0.0"
_SETTINGS, _PROTECTED = "configurationSettings", "configurationProtectedSettings"


class KubernetesExtensions(Kind):
    """An extension of a managed cluster."""

    azure_type = azure_types.KUBERNETES_EXTENSION
    location = "none"
    long_running = True
    long_running_delete = True
    created_headers = updated_headers = "both"  # the session's, and the next line
    deleted_headers = "async"

    def check(self, change: Change) -> None:
        cluster = change.services.store.get(change.id.scope)
        if cluster is None or not cluster.id.is_type(azure_types.MANAGED_CLUSTER.arm_type):
            raise ArmError(404, "ResourceNotFound", f"The cluster '{change.id.scope}' was not found.")
        properties = change.body.setdefault("properties", {})
        kept = change.previous.properties["extensionType"] if change.previous else ""
        given = str(properties.get("extensionType") or kept)
        if not given:
            raise ArmError(400, "BadRequest", "An extension requires 'extensionType'.", target="properties.extensionType")
        is_ml = given.lower() == EXTENSION_TYPE.lower()
        properties["extensionType"] = EXTENSION_TYPE if is_ml else given
        change.body.pop("identity", None)  # taken and not shown: AKS gives an extension its identity (the session)
        if is_ml and "namespace" in (properties.get("scope") or {}):
            raise ArmError(400, "BadRequest", f"{EXTENSION_TYPE} is installed for a whole cluster.", target="properties.scope")
        if change.previous is not None and properties.get("scope") not in (None, change.previous.properties["scope"]):
            raise ArmError(400, "BadRequest", "The scope of an extension can't be changed.", target="properties.scope")
        others = [
            one
            for one in of_cluster(cluster, change.services)
            if one.key != change.id.key and str(one.properties["extensionType"]).lower() == given.lower()
        ]
        if change.creating and others:
            message = (
                f"An extension of the type {properties['extensionType']} is installed on the cluster as '{others[0].id.name}'."
            )
            raise ArmError(409, "ExtensionAlreadyExists", message)
        if not is_ml:
            return
        found = of_service(extension.extension_problems(_request(change, cluster), change.as_of))
        if found:
            raise refusal(found, "BadRequest")

    def defaults(self, change: Change) -> Body:
        kept = change.previous.properties if change.previous else {}
        secret = {_PROTECTED: kept[_PROTECTED]} if kept.get(_PROTECTED) else {}
        is_ml = change.properties["extensionType"] == EXTENSION_TYPE
        scope = kept.get("scope") or {"cluster": {"releaseNamespace": "azureml"} if is_ml else {}}
        return {
            "properties": {
                "autoUpgradeMinorVersion": True,
                "releaseTrain": "Stable",
                "scope": scope,
                _SETTINGS: {},
                _PROTECTED: {},
                **secret,
            },
        }

    def begun(self, change: Change) -> Body:  # noqa: ARG002
        return {"properties": {"isSystemExtension": False, "statuses": []}}

    async def provision(self, change: Change) -> Body:
        properties = change.properties
        known = VERSIONS.get(str(properties["extensionType"]).lower(), UNKNOWN_VERSION)
        own = {"principalId": str(uuid.uuid4()), "tenantId": change.services.settings.tenant_id, "type": None}
        kept = change.stored.service.get("properties", {}).get("aksAssignedIdentity")
        return {"properties": {"currentVersion": properties.get("version") or known, "aksAssignedIdentity": kept or own}}

    def hidden(self, body: Body) -> Body:
        """The names of the protected settings are shown, and nothing of what they hold."""
        protected = body["properties"].get(_PROTECTED) or {}
        return {**body, "properties": {**body["properties"], _PROTECTED: dict.fromkeys(protected, "")}}

    def view(self, resource: Resource, services: Services) -> Body:  # noqa: ARG002
        when = {"createdAt": resource.created_at, "lastModifiedAt": resource.changed_at}
        who = dict.fromkeys(("createdBy", "createdByType", "lastModifiedBy", "lastModifiedByType"))  # null in the session
        return {**merged(resource.body, resource.service), "systemData": {**who, **when}}

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
