"""Extensions of clusters: kept and shown. Azure Machine Learning's settings are validated too; of the others none is known.

What they would put into the cluster (a router, controllers, a scheduler) doesn't run; endpoints there are served without it.
Statuses, headers and members: Azure Service Operator's session Test_KubernetesConfiguration_Extension_20230501_CRUD (2026-03-20),
"the session" below. Other codes are assumed.
"""

import uuid

from azure_gpu.catalog.services.machine_learning.extension import EXTENSION_TYPE
from azure_gpu.formats import azure_types
from localazure.arm import refusals
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.kind import Change, Kind, merged
from localazure.arm.store import Body, Resource
from localazure.kinds import managed_cluster_pools
from localazure.services import Services

# Of what isn't installed: of Azure Machine Learning's the line of versions that is current, of Flux the session's.
VERSIONS = {EXTENSION_TYPE.lower(): "1.1", "microsoft.flux": "1.19.5"}
UNKNOWN_VERSION = "1.0.0"
JUDGED_AS = f"Microsoft.KubernetesConfiguration/extensions/{EXTENSION_TYPE}"  # as the table of refusals has it
_SETTINGS, _PROTECTED = "configurationSettings", "configurationProtectedSettings"


class KubernetesExtensions(Kind):
    """An extension of a managed cluster."""

    azure_type = azure_types.KUBERNETES_EXTENSION

    def check(self, change: Change) -> None:
        cluster = change.services.store.get(change.id.scope)
        is_cluster = cluster is not None and cluster.id.is_type(azure_types.MANAGED_CLUSTER.arm_type)
        properties = change.body.setdefault("properties", {})
        before = change.previous.properties if change.previous else {}
        given, scope = str(properties.get("extensionType") or before.get("extensionType") or ""), properties.get("scope")
        is_ml = given.lower() == EXTENSION_TYPE.lower()
        properties["extensionType"] = EXTENSION_TYPE if is_ml else given
        change.body.pop("identity", None)  # taken and not shown: AKS gives an extension its identity (the session)
        facts = {
            "scope": change.id.scope,
            "cluster": is_cluster,
            "in_namespace": is_ml and "namespace" in (scope or {}),
            "moves": scope is not None and not change.creating and scope != before["scope"],
            "same": _same(change, given, cluster) if cluster is not None else "",
        }
        self.judge(change, change.body, facts)
        if is_ml and cluster is not None:
            judged = {"id": change.id.text, "properties": {"extensionType": EXTENSION_TYPE, _SETTINGS: _settings(change)}}
            refusals.judge(JUDGED_AS, judged, change.as_of, facts=_facts(change, cluster))

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


def _same(change: Change, extension_type: str, cluster: Resource) -> str:
    """The name of another extension of that type on the cluster."""
    others = (one for one in of_cluster(cluster, change.services) if one.key != change.id.key)
    return next((one.id.name for one in others if str(one.properties["extensionType"]).lower() == extension_type.lower()), "")


def _settings(change: Change) -> Body:
    kept = change.previous.properties if change.previous else {}
    given = {**(kept.get(_SETTINGS) or {}), **(change.properties.get(_SETTINGS) or {})}
    return {"enableTraining": "False", **{str(name): str(value) for name, value in given.items()}}


def _facts(change: Change, cluster: Resource) -> Body:
    kept = change.previous.properties if change.previous else {}
    protected = {**(kept.get(_PROTECTED) or {}), **(change.properties.get(_PROTECTED) or {})}
    settings = {name: value.lower() == "true" for name, value in _settings(change).items()}
    return {
        "training": settings["enableTraining"],
        "inference": settings.get("enableInference"),
        "insecure": settings.get("allowInsecureConnections"),
        "available": settings.get("inferenceRouterHA", True),
        "certified": {"sslCertPemFile", "sslKeyPemFile"} <= set(protected),
        "nodes": _nodes(cluster, change.services),
        "service_principal": (cluster.body.get("identity") or {}).get("type", "None") == "None",
    }


def _nodes(cluster: Resource, services: Services) -> int:
    """Those that a cluster keeps: of a pool that scales itself, its fewest."""
    pools = [pool.properties for pool in managed_cluster_pools.of(cluster.key, services)]
    return sum(int(one.get("minCount" if one.get("enableAutoScaling") else "count") or 0) for one in pools)
