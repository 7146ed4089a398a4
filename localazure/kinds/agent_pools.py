"""Node pools of AKS as separate resources: made beside a cluster, changed and taken away without touching the others.

`ClusterPools` runs their nodes. The cluster's `agentPoolProfiles` shows the same pools.
"""

from azure_gpu.formats import azure_types
from localazure.arm.as_of import request_date
from localazure.arm.errors import ArmError, refused
from localazure.arm.kind import Answer, Call, Change, Kind, action, reading
from localazure.arm.store import Body, Resource
from localazure.kinds import (
    agent_pool_rules,
    managed_cluster_pools,
    managed_cluster_profiles,
    managed_cluster_versions as versions,
)
from localazure.kinds.agent_pool_rules import PoolChange
from localazure.kinds.managed_cluster_pools import AksRuntime
from localazure.kinds.managed_cluster_requests import shape_of, version_of
from localazure.kinds.managed_clusters import STOPPED, power
from localazure.kubernetes.clusters import Clusters
from localazure.services import Services


class AgentPools(Kind):
    azure_type = azure_types.AGENT_POOL

    def __init__(self, runtime: AksRuntime) -> None:
        self._runtime = runtime

    upgrades = staticmethod(reading("upgradeProfiles/default")(managed_cluster_profiles.pool_upgrades))

    def busy(self, resource: Resource, operation: str) -> ArmError:  # noqa: ARG002
        return refused("aks: busy", operation=f"Another agentpool operation ({resource.id.name} - {resource.state})")

    def invalid_name(self, name: str, allowed: str) -> ArmError:  # noqa: ARG002
        return refused("aks: pool name")

    def check_removal(self, resource: Resource, services: Services) -> None:
        others = [pool.properties for pool in _siblings(resource.id.scope, resource.key, services)]
        agent_pool_rules.refuse_without_system(others)

    def check(self, change: Change) -> None:
        services = change.services
        cluster = services.store.get(change.id.scope)
        if cluster is None:
            raise ValueError("a pool is changed below its cluster")
        _check_ready(cluster, self._runtime.clusters, services)
        given = change.body.setdefault("properties", {})
        change.as_of = managed_cluster_pools.day(cluster, given, services, change.as_of)
        siblings = _siblings(cluster.key, change.id.key, services)
        if given.get("count") is None and given.get("enableAutoScaling") and not given.get("type"):
            # A pool of scale sets by name starts at its least, and keeps the nodes that it has.
            raise refused("aks: missing", parameter="properties.count")
        if change.creating and len(siblings) >= managed_cluster_pools.MOST_POOLS:
            raise refused("aks: most pools", most=managed_cluster_pools.MOST_POOLS)
        pool = managed_cluster_pools.completed(given, change.previous, cluster.properties, change.as_of, self._runtime, services)
        agent_pool_rules.check(
            PoolChange(
                name=change.id.name,
                before=change.previous,
                after=pool,
                cluster=cluster.body,
                others=[each.properties for each in siblings],
                control_plane=version_of(cluster, change.as_of),
            ),
            change.as_of,
        )
        shape = shape_of(change.id.name.lower(), pool, versions.full(pool["orchestratorVersion"], change.as_of))
        managed_cluster_pools.check_room([shape], cluster.key, cluster.location, self._runtime, services)
        change.body["properties"] = pool

    async def provision(self, change: Change) -> Body:
        cluster = change.services.store.get(change.id.scope)
        if cluster is None or change.resource is None:
            raise ArmError(404, "ParentResourceNotFound", "The cluster of the agent pool is gone.")
        await managed_cluster_pools.run([change.resource], cluster, change.as_of, self._runtime, change.services)
        return {}

    async def remove(self, resource: Resource, services: Services) -> None:
        if not _whole_cluster_goes(resource, services):
            await self._runtime.pools.remove(resource.id.scope.lower(), resource.id.name.lower())

    def view(self, resource: Resource, services: Services) -> Body:
        return {"properties": managed_cluster_pools.shown(resource, self._runtime, services)}

    @action("upgradeNodeImageVersion")
    async def upgrade_image(self, resource: Resource, call: Call) -> Answer:
        """The newest image of the day; nodes stay what they are."""
        return Answer(status=202, work=lambda: self.resume_action("upgradeNodeImageVersion", resource, call.services))

    async def resume_action(self, action: str, resource: Resource, services: Services) -> None:
        if action != "upgradeNodeImageVersion":
            return
        cluster, group = services.store.get(resource.id.scope), _group(resource, services)
        as_of = request_date(None, cluster, group, services.clock)
        shape = managed_cluster_pools.pool_shape(resource, as_of)
        resource.private["nodeImage"] = managed_cluster_pools.node_image(shape, as_of)
        resource.changed_at = services.clock.stamp()
        services.store.put(resource)


def _check_ready(cluster: Resource, clusters: Clusters, services: Services) -> None:
    """A pool needs a control plane that runs and isn't being changed."""
    if power(cluster) == STOPPED:
        raise refused("aks: power", state=cluster.state, power=STOPPED, doing="agent pool operation")
    if services.store.operation_in_progress(cluster.key) is not None:
        raise refused("aks: busy", operation=f"Another operation ({cluster.state})")
    if not clusters.exists(cluster.key):
        raise refused("aks: failed", name=cluster.id.name)


def _siblings(cluster_key: str, key: str, services: Services) -> list[Resource]:
    return [pool for pool in managed_cluster_pools.of(cluster_key.lower(), services) if pool.key != key]


def _whole_cluster_goes(pool: Resource, services: Services) -> bool:
    above = (services.store.get(pool.id.scope), _group(pool, services))
    return any(each is None or each.state == "Deleting" for each in above)


def _group(resource: Resource, services: Services) -> Resource | None:
    return services.store.get(f"/subscriptions/{resource.id.subscription}/resourceGroups/{resource.id.resource_group}")
