"""Clusters of AKS: a real control plane on this machine each, with a resource group for its nodes and an identity to pull images.

Created in the background; the minutes that the service takes aren't imitated. `AksRuntime` runs control planes and nodes.
Networks, load balancers and private links are kept as they are given and change nothing.
"""

import uuid

from azure_gpu.formats import azure_types
from localazure.arm.errors import ArmError, refused
from localazure.arm.kind import Answer, Call, Change, action, merged, reading
from localazure.arm.store import Body, Resource
from localazure.kinds import (
    managed_cluster_defaults,
    managed_cluster_node_group,
    managed_cluster_pools,
    managed_cluster_profiles,
    managed_cluster_rules,
    managed_cluster_versions as versions,
)
from localazure.kinds.agent_pool_defaults import without_empty
from localazure.kinds.managed_cluster_access import ClusterAccess
from localazure.kinds.managed_cluster_commands import ClusterCommands
from localazure.kinds.managed_cluster_pools import AksRuntime
from localazure.kinds.managed_cluster_requests import cluster_shape, version_of
from localazure.services import Services
from localazure.weather import own_acts

RUNNING, STOPPED = "Running", "Stopped"
_POOLS = "agentPoolProfiles"


class ManagedClusters(ClusterAccess):
    """A PATCH changes only tags, as at the service."""

    azure_type = azure_types.MANAGED_CLUSTER

    def __init__(self, runtime: AksRuntime) -> None:
        self._runtime = runtime
        super().__init__(runtime.clusters)
        self._commands = ClusterCommands(runtime.clusters)

    upgrades = staticmethod(reading("upgradeProfiles/default")(managed_cluster_profiles.upgrades))

    @reading("commandResults/{command}")
    async def command_result(self, resource: Resource, call: Call) -> Answer:
        return await self._commands.result(resource, call)

    def busy(self, resource: Resource, operation: str) -> ArmError:  # noqa: ARG002
        return refused("aks: busy", operation=f"Another operation ({resource.state})")

    def invalid_name(self, name: str, allowed: str) -> ArmError:  # noqa: ARG002
        return refused("aks: invalid", parameter="managedCluster.name", why=f"It takes {allowed}")

    def read(self, body: Body) -> Body:
        """Without what is newer than the SDK's description, and comes back with what a client got."""
        given = body.get("properties")
        if not isinstance(given, dict) or "hostedSystemProfile" not in given:
            return body
        return {**body, "properties": {name: value for name, value in given.items() if name != "hostedSystemProfile"}}

    def check(self, change: Change) -> None:
        if change.previous is not None and power(change.previous) == STOPPED:
            raise refused("aks: power", state=change.previous.state, power=STOPPED, doing="updating")
        properties = change.body["properties"] = without_empty(change.properties)
        profiles = properties.pop(_POOLS, None)
        whole = merged(self.defaults(change), change.body)
        running = str(change.previous.private.get("version") or "") if change.previous else ""
        self.judge(change, whole, managed_cluster_rules.facts(change, whole, profiles or (), running))
        control_plane = versions.after(running, whole["properties"]["kubernetesVersion"], change.as_of)
        planned = managed_cluster_pools.planned(
            change.id.key, whole, profiles, control_plane, change.as_of, self._runtime, change.services
        )
        if planned:
            properties[_POOLS] = [{"name": name, **pool} for name, pool in planned.items()]

    def default_facts(self, change: Change) -> Body:
        return managed_cluster_defaults.facts(change)

    def kept(self, change: Change) -> Body:
        return managed_cluster_defaults.kept(change, super().kept(change))

    def begun(self, change: Change) -> Body:
        """Names, identity and issuer are in the answer to the PUT that creates the cluster.

        Azure Service Operator's session Test_KubernetesConfiguration_Extension_20230501_CRUD (2026-03-20).
        """
        cluster = change.stored
        unique = cluster.service.get("properties", {}).get("resourceUID") or uuid.uuid4().hex[:24]
        made: Body = {"resourceUID": unique, **managed_cluster_defaults.names(cluster, unique)}
        if (cluster.properties.get("oidcIssuerProfile") or {}).get("enabled"):
            made["oidcIssuerProfile"] = {"issuerURL": self._runtime.clusters.issuer(cluster.key)}
        if change.creating:
            cluster.private["planned"] = version_of(cluster, change.as_of)
        return {"properties": made}

    async def provision(self, change: Change) -> Body:
        """Control plane first, then the pools that the body names; what it named is kept as the pools' own from then on."""
        cluster, services = change.stored, change.services
        properties = cluster.body["properties"]
        made: Body = {"identityProfile": managed_cluster_node_group.make(change, properties["nodeResourceGroup"])}
        named = {pool["name"]: {key: pool[key] for key in pool if key != "name"} for pool in properties.get(_POOLS) or []}
        pools = managed_cluster_pools.written(cluster, named, services)
        try:
            shape = cluster_shape(cluster, services, change.as_of)
            await self._runtime.clusters.apply(shape)
            self._runtime.pools.configure(cluster.key, shape)
            await managed_cluster_pools.run(pools, cluster, change.as_of, self._runtime, services)
        finally:
            managed_cluster_pools.give_up(pools, services)
        cluster.private["version"] = shape.kubernetes_version
        properties.pop(_POOLS, None)
        if managed_cluster_defaults.has_balancer(properties["networkProfile"]):
            outbound = managed_cluster_node_group.outbound(change, properties["nodeResourceGroup"])
            made["networkProfile"] = {"loadBalancerProfile": {"effectiveOutboundIPs": outbound}}
        own_acts.after_cluster(cluster.key, change.as_of, managed_cluster_pools.image_on, services)
        return {"properties": made}

    async def remove(self, resource: Resource, services: Services) -> None:
        await self._runtime.pools.forget(resource.key)
        await self._runtime.clusters.remove(resource.key)
        await managed_cluster_node_group.remove(resource.properties["nodeResourceGroup"], resource.id, services)

    def view(self, resource: Resource, services: Services) -> Body:
        body = super().view(resource, services)
        properties = {name: value for name, value in body["properties"].items() if name != _POOLS}
        properties[_POOLS] = managed_cluster_pools.shown_of(
            resource, body["properties"].get(_POOLS) or [], self._runtime, services
        )
        properties["maxAgentPools"] = managed_cluster_pools.MOST_POOLS
        properties["powerState"] = {"code": power(resource)}
        version = resource.private.get("version") or resource.private.get("planned")
        if version:
            properties["currentKubernetesVersion"] = version
        kind = (resource.body.get("sku") or {}).get("name") or "Base"
        return {"kind": kind, **body, "eTag": managed_cluster_pools.etag(resource), "properties": properties}

    @action("runCommand")
    async def run_command(self, resource: Resource, call: Call) -> Answer:
        if power(resource) == STOPPED:
            raise refused("aks: power", state=resource.state, power=STOPPED, doing="running a command")
        return await self._commands.run(resource, call)

    @action("stop")
    async def stop(self, resource: Resource, call: Call) -> Answer:
        if power(resource) == STOPPED:
            raise refused("aks: power", state=resource.state, power=STOPPED, doing="stopping")
        return Answer(status=202, work=lambda: self.resume_action("stop", resource, call.services))

    @action("start")
    async def start(self, resource: Resource, call: Call) -> Answer:
        if power(resource) == RUNNING:
            raise refused("aks: power", state=resource.state, power=RUNNING, doing="starting")
        return Answer(status=202, work=lambda: self.resume_action("start", resource, call.services))

    async def resume_action(self, action: str, resource: Resource, services: Services) -> None:
        """Nodes rest before their control plane does, and work again after it."""
        stopping = action == "stop"
        _mark(resource, "Stopping" if stopping else "Starting", services)
        ended = "Failed"
        try:
            if stopping:
                await self._runtime.pools.pause(resource.key)
                await self._runtime.clusters.stop(resource.key)
            else:
                await self._runtime.clusters.start(resource.key)
                await self._runtime.pools.resume(resource.key)
            resource.private["power"] = STOPPED if stopping else RUNNING
            ended = "Succeeded"
        finally:
            _mark(resource, ended, services)


def power(cluster: Resource) -> str:
    return str(cluster.private.get("power") or RUNNING)


def _mark(resource: Resource, state: str, services: Services) -> None:
    resource.state, resource.changed_at = state, services.clock.stamp()
    services.store.put(resource)
