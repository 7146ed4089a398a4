"""Upgrade profiles of a cluster and of a pool, and the versions of new pools."""

from azure_gpu.formats import azure_types
from localazure.arm.kind import Answer, Call
from localazure.arm.store import Body, Resource
from localazure.kinds import managed_cluster_pools, managed_cluster_versions as versions
from localazure.kinds.managed_cluster_requests import version_of

_TYPE = azure_types.MANAGED_CLUSTER.arm_type


async def upgrades(resource: Resource, call: Call) -> Answer:
    pools = managed_cluster_pools.of(resource.key, call.services)
    control_plane = version_of(resource, call.as_of)
    body: Body = {
        "id": f"{resource.id.text}/upgradeprofiles/default",
        "name": "default",
        "type": f"{_TYPE}/upgradeprofiles",
        "properties": {
            "controlPlaneProfile": _row(control_plane, "Linux", call),
            "agentPoolProfiles": [
                {"name": pool.id.name, **_row(version_of(pool, call.as_of), pool.properties["osType"], call)} for pool in pools
            ],
        },
    }
    return Answer(body=body)


async def pool_versions(resource: Resource, call: Call) -> Answer:
    rows = versions.pool_rows(version_of(resource, call.as_of), call.as_of)
    body: Body = {
        "id": f"{resource.id.text}/availableagentpoolversions",
        "name": "default",
        "type": f"{_TYPE}/availableAgentpoolVersions",
        "properties": {"agentPoolVersions": rows},
    }
    return Answer(body=body)


async def pool_upgrades(resource: Resource, call: Call) -> Answer:
    """Nodes go up to the version of the control plane."""
    cluster = call.services.store.get(resource.id.scope)
    if cluster is None:
        raise ValueError("a pool is stored below its cluster")
    control_plane = version_of(cluster, call.as_of)
    row = _row(version_of(resource, call.as_of), resource.properties["osType"], call)
    row["upgrades"] = [
        each for each in row["upgrades"] if versions.numbers(each["kubernetesVersion"]) <= versions.numbers(control_plane)
    ]
    shape = managed_cluster_pools.pool_shape(resource, call.as_of)
    body: Body = {
        "id": f"{resource.id.text}/upgradeProfiles/default",
        "name": "default",
        "type": f"{_TYPE}/agentPools/upgradeProfiles",
        "properties": {**row, "latestNodeImageVersion": managed_cluster_pools.node_image(shape, call.as_of)},
    }
    return Answer(body=body)


def _row(version: str, system: str, call: Call) -> Body:
    return {"kubernetesVersion": version, "osType": system, "upgrades": versions.upgrade_rows(version, call.as_of)}
