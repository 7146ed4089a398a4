"""Resolves the arguments of a cluster: fills in all defaults and finds all problems. Pure."""

from collections.abc import Iterable
from datetime import date
from typing import cast

from azure_gpu.aks import gpu_pools, rules as cluster_rules
from azure_gpu.aks.args import AccessArgs, GpuClusterSettings, MaintenanceArgs, SystemPoolArgs
from azure_gpu.aks.gpu_pools import ClusterContext, GpuPoolSpec
from azure_gpu.aks.rules import cluster_problems
from azure_gpu.aks.spec import Access, ClusterSpec, GpuClusterSpec, Maintenance, SystemPool
from azure_gpu.catalog import lifecycle
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.prices.hourly_cost import HourlyCost, Machines, of_machines
from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.catalog.services.aks import clusters
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.formats.dates import resolve_day, resolve_end
from azure_gpu.kubernetes.gpu_objects import resolve as gpu_objects_resolve
from azure_gpu.kubernetes.gpu_objects.spec import ClusterObjectsSpec
from azure_gpu.shared import existing
from azure_gpu.shared.context import Context, Tags, check_tags, known


def resolve(name: str, args: GpuClusterSettings, context: Context) -> tuple[GpuClusterSpec, list[Problem]]:
    """Resolves the cluster that the stack file calls `name`, with its problems. Pure."""
    path = context.path("clusters", name)
    own = cast(GpuClusterSettings, {key: value for key, value in args.items() if key != "gpu_pools"})
    as_of, problems = resolve_day(own.get("as_of"), f"{path}.as_of")
    day = as_of or context.day
    end, end_problems = resolve_end(own.get("expires_after"), day, f"{path}.expires_after", "a cluster", "of GPU nodes")
    found, id_problems = None, list[Problem]()
    if "existing" in own:
        of_type, subscription = azure_types.MANAGED_CLUSTER, context.subscription_id
        found, id_problems = existing.resolve_id(own["existing"], of_type, subscription, f"{path}.existing")
    tags = {**context.tags(as_of), **own.get("tags", {}), **end.tags}
    cluster_context = _context_of_pools(own, context, path, tags, end.last)
    pools: dict[str, GpuPoolSpec] = {}
    pool_problems: list[Problem] = []
    for pool, given in args.get("gpu_pools", {}).items():
        pools[pool], more = gpu_pools.resolve(pool, given, cluster_context, day)
        pool_problems += more
    objects, object_problems = gpu_objects_resolve.resolve_objects(own, [*pools.values()], path)
    gpu_nodes = sum(max(pool.max_nodes, 0) for pool in pools.values())
    cluster = _cluster(name, own, context, found, cluster_context, objects, gpu_nodes)
    of_catalog = lifecycle.through(lambda on: cluster_problems(cluster, on), day, cluster_context.last)
    problems += [*end_problems, *id_problems, *of_catalog, *pool_problems]
    reported = {problem.path for problem in errors(pool_problems)}  # such as MIG on a T4, which pool and objects both report
    if cluster.on_cluster:
        problems += [problem for problem in object_problems if problem.path not in reported]
    pool_systems = {pool: each.request.os_sku for pool, each in pools.items()}
    problems += [*cluster_rules.problems_of(cluster, pool_systems), *check_tags(own.get("tags", {}), f"{path}.tags")]
    cost, idle = _costs(cluster, pools.values(), created="existing" not in own)
    spec = GpuClusterSpec(
        cluster=cluster, pools=pools, expires_at=end.at, hourly_cost=cost.number, idle_cost=idle.number, idle=idle
    )
    return spec, problems


def _context_of_pools(args: GpuClusterSettings, context: Context, path: str, tags: Tags, last: date | None) -> ClusterContext:
    return ClusterContext(
        path=path,
        location=context.region(args.get("location")),
        location_path=f"{path}.location" if "location" in args else context.own_path("location"),
        tags=tags,
        last=last,
    )


def _cluster(
    name: str,
    args: GpuClusterSettings,
    context: Context,
    found: ArmId | None,
    of_pools: ClusterContext,
    objects: ClusterObjectsSpec,
    gpu_nodes: int,
) -> ClusterSpec:
    """Resolves the cluster itself. `found`: the id of an existing one; `gpu_nodes`: the most of its GPU pools."""
    arm_type, system = azure_types.MANAGED_CLUSTER.arm_type, SystemPool(**args.get("system_pool", SystemPoolArgs()))
    # A patch that is named stays: the next `up` would go back to it, which AKS rejects.
    of_patch = args.get("kubernetes_version", "").count(".") > 1
    maintenance: MaintenanceArgs = {"upgrades": "none" if of_patch else "patch", **args.get("maintenance", MaintenanceArgs())}
    return ClusterSpec(
        context=context,
        path=of_pools.path,
        settings=args,
        name=found.name if found else known(args.get("cluster_name")) or context.name(arm_type, name),
        existing=found,
        location=of_pools.location,
        location_path=of_pools.location_path,
        system=system,
        most_nodes=max(system.most_nodes, 0) + gpu_nodes,
        access=Access(**args.get("access", AccessArgs())),
        maintenance=Maintenance(**maintenance),
        objects=objects,
        tags=of_pools.tags,
    )


def _costs(cluster: ClusterSpec, pools: Iterable[GpuPoolSpec], *, created: bool) -> tuple[HourlyCost, HourlyCost]:
    """List prices of the maximum and of the minimum number of nodes; for an existing cluster only of the stack's own pools."""
    system = cluster.system
    sizes = [(system.size, system.nodes, max(system.most_nodes, system.nodes), False)] if created else []
    for pool in pools:
        sizes.append((pool.nodes.size, pool.min_nodes, pool.max_nodes, pool.request.spot is not None))
    control_plane, prices = clusters.control_plane(cluster.tier if created else ""), packaged()
    most = [Machines(size, number, spot) for size, _, number, spot in sizes]
    least = [Machines(size, number, spot) for size, number, _, spot in sizes]
    highest, lowest = (of_machines(each, cluster.location, prices, clusters.price) for each in (most, least))
    return control_plane.plus(highest), control_plane.plus(lowest)
