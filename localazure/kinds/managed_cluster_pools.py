"""The pools of a cluster as separate resources, whether declared in the cluster's body or beside it.

The pools of `agentPoolProfiles` are stored as separate records. A PUT of the cluster changes the pools that it names, leaves
the others alone, and adds none once the cluster is there, as the service has it (pulumi/pulumi-azure-native issues 579 and 2719).
"""

import uuid
from collections.abc import Mapping, Sequence
from datetime import date
from typing import NamedTuple

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from localazure.arm.as_of import request_date
from localazure.arm.errors import refused
from localazure.arm.store import Body, Resource
from localazure.kinds import agent_pool_defaults, agent_pool_rules, managed_cluster_versions as versions
from localazure.kinds.agent_pool_rules import PoolChange
from localazure.kinds.managed_cluster_requests import pool_shape, shape_of
from localazure.kubernetes import pool_quotas
from localazure.kubernetes.clusters import Clusters
from localazure.kubernetes.model import PoolShape
from localazure.kubernetes.pools import ClusterPools
from localazure.services import Services

MOST_POOLS = 100  # Microsoft Learn, articles/aks/quotas-skus-regions.md


class AksRuntime(NamedTuple):
    """What clusters run on: their control planes and their nodes."""

    clusters: Clusters
    pools: ClusterPools


def of(cluster_key: str, services: Services) -> list[Resource]:
    return services.store.of_type(azure_types.AGENT_POOL.arm_type, cluster_key)


def day(cluster: Resource | None, pool: Body, services: Services, otherwise: date) -> date:
    """The date at which a pool is validated: its own tag's or its cluster's, else `otherwise`: the group's or the server's."""
    if cluster is None:
        return otherwise
    found = request_date({"tags": pool.get("tags")}, cluster, None, services.clock)
    says_so = any(key.lower() == "as-of" for key in {**cluster.tags, **(pool.get("tags") or {})})
    return found if says_so else otherwise


def planned(
    cluster_key: str,
    whole: Body,
    profiles: list[Body] | None,
    control_plane: str,
    as_of: date,
    runtime: AksRuntime,
    services: Services,
) -> dict[str, Body]:
    """Validates the pools of a cluster's body; returns the whole properties of new and changed ones. `whole`: the cluster's body
    with its defaults."""
    stored = {pool.id.name.lower(): pool for pool in of(cluster_key, services)}
    creating = not stored
    if not profiles:
        if creating:
            raise refused("aks: missing", parameter="agentPoolProfiles")
        return {}
    names = [str(profile.get("name") or "") for profile in profiles]
    if len(set(names)) < len(names):
        raise refused("aks: invalid", parameter="agentPoolProfiles", why="Two pools have the same name")
    if not creating and any(name not in stored for name in names):
        raise refused("aks: new pool")
    result: dict[str, Body] = {}
    for name, profile in zip(names, profiles, strict=True):
        before = stored.get(name)
        given = {key: value for key, value in profile.items() if key != "name"}
        result[name] = pool = completed(given, before, whole["properties"], as_of, runtime, services)
        if before is not None and pool != before.properties and services.store.operation_in_progress(before.key):
            raise refused("aks: busy", operation=f"Another agentpool operation ({name} - {before.state})")
    everything = {name: pool.properties for name, pool in stored.items()} | result
    if not any(pool["mode"] == "System" for pool in everything.values()):
        raise refused("aks: invalid", parameter="agentPoolProfiles", why="Must define at least one system pool")
    for name, pool in result.items():
        others = [other for key, other in everything.items() if key != name]
        agent_pool_rules.check(PoolChange(name, stored.get(name), pool, whole, others, control_plane), as_of)
    shapes = [shape_of(name, pool, versions.full(pool["orchestratorVersion"], as_of)) for name, pool in result.items()]
    check_room(shapes, cluster_key, whole["location"], runtime, services)
    return {name: pool for name, pool in result.items() if not _is_so(stored.get(name), pool)}


def completed(given: Body, before: Resource | None, cluster: Body, as_of: date, runtime: AksRuntime, services: Services) -> Body:
    """A pool's whole properties. An autoscaled pool keeps the nodes that it has, as far as its new limits allow; ArmError for a
    request of another number."""
    one = services.weather.holds("pool-count")
    whole = agent_pool_defaults.completed(given, before.properties if before else None, cluster, as_of, starts_with_one=one)
    keeps = before is not None and (before.properties.get("enableAutoScaling") or given.get("count") is None)
    if before is not None and keeps and whole.get("enableAutoScaling"):
        count = current_count(before, runtime)
        low, high = int(whole.get("minCount") or 0), int(whole.get("maxCount") or 0)
        kept = max(low, min(count, high)) if low <= high else count
        stopped = (before.properties.get("powerState") or {}).get("code") == "Stopped"
        if before.properties.get("enableAutoScaling") and not stopped and given.get("count") not in (None, count, kept):
            raise refused("aks: by hand", pool=before.id.name)
        whole["count"] = kept
    return whole


def current_count(pool: Resource, runtime: AksRuntime) -> int:
    """The nodes that there are; of a pool that doesn't exist yet, those that it shall have."""
    requested = int(pool.properties["count"])
    key = pool.id.scope.lower()
    if pool.state in ("Creating", "Failed") or not runtime.clusters.exists(key):
        return requested
    return len(runtime.pools.nodes(key, pool.id.name.lower()))


def check_room(shapes: Sequence[PoolShape], cluster_key: str, region: str, runtime: AksRuntime, services: Services) -> None:
    """ArmError for a new pool of a size that is withheld there, and where vCPUs don't suffice for what is more than before."""
    others = {
        pool.key: (pool_shape(pool, services.clock.as_of), current_count(pool, runtime))
        for pool in services.store.of_type(azure_types.AGENT_POOL.arm_type)
        if (cluster := services.store.get(pool.id.scope)) is not None and cluster.location == region
    }
    for shape in shapes:
        key = f"{cluster_key}/agentpools/{shape.name}"
        have = others[key][1] if key in others else 0
        withheld = [reason for reason, zone in services.deviations.restrictions(shape.vm_size, region) if not zone]
        if key not in others and withheld:
            raise refused("aks: withheld", size=shape.vm_size, region=region, reason=withheld[0])
        error = pool_quotas.shortage(shape, shape.count - have, region, others.values(), services.deviations)
        if error is not None:
            raise error
        others[key] = (shape, max(have, shape.count))


def written(cluster: Resource, pools: Mapping[str, Body], services: Services) -> list[Resource]:
    """Stores the pools of a cluster's body; those that differ from what was stored, in the state of being changed."""
    now = services.clock.stamp()
    changed: list[Resource] = []
    for name, properties in pools.items():
        key = f"{cluster.key}/agentpools/{name}"
        before = services.store.get(key)
        if _is_so(before, properties):
            continue
        parsed = parse(f"{cluster.id.text}/agentPools/{name}")
        if parsed is None:
            raise ValueError("a pool's name was judged")
        pool = before or Resource(id=parsed, body={}, created_at=now)
        pool.body = {"properties": properties}
        pool.state, pool.changed_at = ("Creating" if before is None else "Updating"), now
        services.store.put(pool)
        changed.append(pool)
    return changed


def _is_so(stored: Resource | None, properties: Body) -> bool:
    return stored is not None and stored.properties == properties and stored.state == "Succeeded"


async def run(pools: list[Resource], cluster: Resource, as_of: date, runtime: AksRuntime, services: Services) -> None:
    """Gives the pools their nodes. ArmError where one can't have them; the others have theirs."""
    for pool in pools:
        pool.state = "Failed"  # unless the next lines return
        try:
            shape = pool_shape(pool, as_of)
            image = pool.private.setdefault("nodeImage", node_image(shape, as_of))
            await runtime.pools.apply(cluster.key, shape._replace(node_image=image))
            pool.private["version"] = shape.kubernetes_version
            pool.state = "Succeeded"
        finally:
            pool.changed_at = services.clock.stamp()
            services.store.put(pool)


def give_up(pools: list[Resource], services: Services) -> None:
    """What was begun and not reached has failed; nothing, where all pools have their nodes."""
    for pool in pools:
        if pool.state in ("Creating", "Updating"):
            pool.state = "Failed"
            services.store.put(pool)


def node_image(shape: PoolShape, as_of: date) -> str:
    """The name of a node image as AKS writes it, with the day of the request for its release."""
    release = "2404" if versions.numbers(shape.kubernetes_version) >= (1, 35) else "2204"
    system = f"AKSUbuntu-{release}gen2containerd" if shape.os_sku.startswith("Ubuntu") else "AKSAzureLinux-V3gen2"
    return f"{system}-{as_of:%Y%m.%d}.0"


def image_on(pool: Resource, day: date) -> str:
    """The node image that a pool would get on a day."""
    return node_image(pool_shape(pool, day), day)


def shown_of(cluster: Resource, named: Sequence[Body], runtime: AksRuntime, services: Services) -> list[Body]:
    """A cluster's pools as its `agentPoolProfiles` show them. `named`: what a PUT that isn't through yet asks of them."""
    pools = {pool.id.name: shown(pool, runtime, services) for pool in of(cluster.key, services)}
    if cluster.state in ("Creating", "Updating") or not pools:
        for pool in named:
            name, properties = pool["name"], {key: value for key, value in pool.items() if key != "name"}
            before = pools.get(name) or _to_be(name, properties, cluster, services)
            pools[name] = {**before, **properties, "provisioningState": cluster.state}
    return [{"name": name, **pool} for name, pool in pools.items()]


def _to_be(name: str, properties: Body, cluster: Resource, services: Services) -> Body:
    """What AKS says of a pool before it is there: the version and the image that its nodes shall have."""
    as_of = request_date(None, cluster, None, services.clock)
    shape = shape_of(name, properties, versions.full(properties["orchestratorVersion"], as_of))
    return {"currentOrchestratorVersion": shape.kubernetes_version, "nodeImageVersion": node_image(shape, as_of)}


def shown(pool: Resource, runtime: AksRuntime, services: Services) -> Body:
    """A pool's properties as AKS answers them."""
    properties = dict(pool.properties)
    by_hand = pool.state == "Updating" and not properties.get("enableAutoScaling")  # Azure shows the number that it was told
    if (properties.get("powerState") or {}).get("code") != "Stopped" and not by_hand:
        properties["count"] = current_count(pool, runtime)
    properties["provisioningState"] = pool.state
    if pool.private.get("version"):
        properties["currentOrchestratorVersion"] = pool.private["version"]
        properties["nodeImageVersion"] = pool.private.get("nodeImage")
    else:
        properties |= _to_be(pool.id.name, pool.properties, services.store.get(pool.id.scope) or pool, services)
    properties["eTag"] = etag(pool)
    return {name: value for name, value in properties.items() if value is not None}


def etag(resource: Resource) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{resource.key}{resource.changed_at}"))
