"""Upgrade profiles of a cluster and of a pool, and the versions of new pools."""

from azure_gpu.formats import azure_types
from localazure.arm.kind import Answer, Call
from localazure.arm.store import Body, Resource
from localazure.kinds import managed_cluster_pools, managed_cluster_versions as versions
from localazure.kinds.managed_cluster_requests import version_of

_TYPE = azure_types.MANAGED_CLUSTER.arm_type


async def upgrades(resource: Resource, call: Call) -> Answer:
    pools = managed_cluster_pools.of(resource.key, call.services)
    shown = [{"name": pool.id.name, **_row(version_of(pool, call.as_of), pool.properties["osType"], call)} for pool in pools]
    properties = {"controlPlaneProfile": _row(version_of(resource, call.as_of), "Linux", call), "agentPoolProfiles": shown}
    return _answer(resource, "upgradeprofiles/default", "upgradeprofiles", properties)


async def pool_upgrades(resource: Resource, call: Call) -> Answer:
    """Nodes go up to the version of the control plane."""
    cluster = call.services.store.get(resource.id.scope)
    if cluster is None:
        raise ValueError("a pool is stored below its cluster")
    most = versions.numbers(version_of(cluster, call.as_of))
    row = _row(version_of(resource, call.as_of), resource.properties["osType"], call)
    row["upgrades"] = [each for each in row["upgrades"] if versions.numbers(each["kubernetesVersion"]) <= most]
    shape = managed_cluster_pools.pool_shape(resource, call.as_of)
    row["latestNodeImageVersion"] = managed_cluster_pools.node_image(shape, call.as_of)
    return _answer(resource, "upgradeProfiles/default", "agentPools/upgradeProfiles", row)


def _answer(resource: Resource, path: str, type_name: str, properties: Body) -> Answer:
    head = {"id": f"{resource.id.text}/{path}", "name": "default", "type": f"{_TYPE}/{type_name}"}
    return Answer(body={**head, "properties": properties})


def _row(version: str, system: str, call: Call) -> Body:
    rows = [{"kubernetesVersion": each, "isPreview": None} for each in versions.upgrades(version, call.as_of)]
    return {"kubernetesVersion": version, "osType": system, "upgrades": rows}
