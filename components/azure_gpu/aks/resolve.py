"""Resolves the arguments of a cluster: every default filled in, and every problem found. Pure."""

from collections.abc import Mapping

from azure_gpu.aks import pools as cluster_pools, rules as cluster_rules
from azure_gpu.aks.args import (
    DEFAULT_ON_CLUSTER,
    DEFAULT_SYSTEM_NODES,
    DEFAULT_SYSTEM_SIZE,
    DEFAULT_WORKLOAD_IDENTITY,
    AccessArgs,
    AdminsArgs,
    ClusterNetwork,
    GpuClusterSettings,
    Login,
    MaintenanceArgs,
    Monitoring,
    NetworkPolicy,
    NodeImageChannel,
    Outbound,
    SystemPoolArgs,
    Tier,
    UpgradeChannel,
    Weekday,
)
from azure_gpu.aks.pools import GpuPoolSpec, OfCluster
from azure_gpu.aks.rules import cluster_problems
from azure_gpu.aks.spec import Access, GpuClusterSpec, Maintenance, SystemPool
from azure_gpu.catalog import lifecycle
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.prices.hourly_cost import HourlyCost, Machines
from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.catalog.services.aks import clusters, kubernetes_versions, network
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.formats.tags import EXPIRES_AT
from azure_gpu.kubernetes.gpu_objects import resolve as gpu_objects_resolve
from azure_gpu.shared import existing, principals
from azure_gpu.shared.context import Context, check_tags, known, resolve_day
from azure_gpu.shared.end_dates import last_day, resolve_end

TIERS = {Tier.FREE: clusters.FREE, Tier.STANDARD: clusters.STANDARD, Tier.PREMIUM: clusters.PREMIUM}


def resolve(name: str, args: GpuClusterSettings, context: Context) -> tuple[GpuClusterSpec, list[Problem]]:
    """What is declared for the cluster that the stack file calls `name`, and what is wrong with the arguments. Pure."""
    path = context.path("clusters", name)
    as_of, problems = resolve_day(args.get("as_of"), f"{path}.as_of")
    day = as_of or context.day
    expires_at, end_problems = resolve_end(args.get("expires_after"), day, f"{path}.expires_after", "a cluster", "of GPU nodes")
    found, id_problems = _existing(args, context, path)
    location = context.region(args.get("location"))
    tags = {**context.tags(as_of), **args.get("tags", {}), **({EXPIRES_AT: expires_at} if expires_at else {})}
    version = args.get("kubernetes_version", "")
    of_cluster = OfCluster(
        path=path,
        location=location,
        location_path=f"{path}.location" if "location" in args else context.own_path("location"),
        # Of an existing cluster nothing is known before it is looked up.
        kubernetes_version=version or ("" if "existing" in args else kubernetes_versions.default(day)),
        long_term_support=args.get("long_term_support", False),
        tags=tags,
        last=last_day(args.get("expires_after")),
    )
    pools: dict[str, GpuPoolSpec] = {}
    pool_problems: list[Problem] = []
    for pool, said in args.get("gpu_pools", {}).items():
        pools[pool], more = cluster_pools.resolve(pool, said, of_cluster, day)
        pool_problems += more
    objects, object_problems = gpu_objects_resolve.resolve_objects(args, [each.objects for each in pools.values()], path)
    tier = TIERS[Tier(args.get("tier", Tier.FREE))]
    system = _system(args.get("system_pool", SystemPoolArgs()))
    spec = GpuClusterSpec(
        context=context,
        path=path,
        name=found.name if found else known(args.get("cluster_name")) or context.name(azure_types.MANAGED_CLUSTER.arm_type, name),
        existing=found,
        location=location,
        location_path=of_cluster.location_path,
        kubernetes_version=version,
        long_term_support=of_cluster.long_term_support,
        tier=tier,
        system=system,
        pools=pools,
        access=_access(args.get("access", AccessArgs())),
        pod_cidr=args.get("pod_cidr", network.DEFAULT_POD_CIDR),
        service_cidr=args.get("service_cidr", network.DEFAULT_SERVICE_CIDR),
        outbound=Outbound(args.get("outbound", Outbound.LOAD_BALANCER)),
        network_policy=NetworkPolicy(args.get("network_policy", NetworkPolicy.NONE)),
        idle_minutes=int(args["idle_minutes"]) if "idle_minutes" in args else None,
        maintenance=_maintenance(args.get("maintenance", MaintenanceArgs())),
        logs=Monitoring(args.get("monitoring", Monitoring.LOGS)) is Monitoring.LOGS,
        workload_identity=args.get("workload_identity", DEFAULT_WORKLOAD_IDENTITY),
        on_cluster=args.get("on_cluster", DEFAULT_ON_CLUSTER),
        objects=objects,
        tags=tags,
        expires_at=expires_at,
        cost=_cost(system, pools, tier, location, mine="existing" not in args, most=True),
        idle_cost=_cost(system, pools, tier, location, mine="existing" not in args, most=False),
    )
    of_catalog = lifecycle.through(lambda on: cluster_problems(args, spec, on), day, of_cluster.last)
    problems += [*end_problems, *id_problems, *of_catalog, *pool_problems]
    said_of = {problem.path for problem in errors(pool_problems)}  # such as MIG on a T4, which says the same in other words
    if spec.on_cluster:
        problems += [problem for problem in object_problems if problem.path not in said_of]
    problems += [*cluster_rules.problems_of(args, spec), *check_tags(args.get("tags", {}), f"{path}.tags")]
    return spec, problems


def _existing(args: GpuClusterSettings, context: Context, path: str) -> tuple[ArmId | None, list[Problem]]:
    if "existing" not in args:
        return None, []
    return existing.resolve_id(args["existing"], azure_types.MANAGED_CLUSTER, context.subscription_id, f"{path}.existing")


def _system(said: SystemPoolArgs) -> SystemPool:
    nodes = int(said.get("nodes", DEFAULT_SYSTEM_NODES))
    return SystemPool(
        size=said.get("size", DEFAULT_SYSTEM_SIZE),
        nodes=nodes,
        max_nodes=int(said.get("max_nodes", nodes)),
        zones=tuple(sorted(dict.fromkeys(said.get("zones", [])))),
        os_sku=said.get("os_sku", "Ubuntu"),
        max_surge=said.get("max_surge", ""),
        dedicated=said.get("dedicated", False),
    )


def _access(said: AccessArgs) -> Access:
    return Access(
        network=ClusterNetwork(said.get("network", ClusterNetwork.PUBLIC)),
        authorized_ranges=tuple(said.get("authorized_ranges", [])),
        reachable=said.get("reachable", False),
        login=Login(said.get("login", Login.AZURE_CLI)),
        login_is_said="login" in said,
        authority_host=said.get("authority_host", ""),
        disable_instance_discovery=said.get("disable_instance_discovery", False),
        local_accounts=said.get("local_accounts", False),
        admins=principals.resolve(said.get("admins", AdminsArgs())),
    )


def _maintenance(said: MaintenanceArgs) -> Maintenance:
    return Maintenance(
        upgrades=UpgradeChannel(said.get("upgrades", UpgradeChannel.NONE)),
        node_images=NodeImageChannel(said.get("node_images", NodeImageChannel.NODE_IMAGE)),
        day=Weekday(said.get("day", Weekday.SUNDAY)),
        start=said.get("start", "02:00"),
        hours=int(said.get("hours", 4)),
        utc_offset=said.get("utc_offset", "+00:00"),
    )


def _cost(
    system: SystemPool, pools: Mapping[str, GpuPoolSpec], tier: str, location: str, *, mine: bool, most: bool
) -> HourlyCost:
    """List price of all nodes that there can be, or of those that stay; of an existing cluster the stack's own pools alone."""
    of_system = [Machines(system.size, max(system.max_nodes, system.nodes) if most else system.nodes)] if mine else []
    of_pools = [
        Machines(each.size, each.request.max_count if most else each.request.min_count, each.objects.spot)
        for each in pools.values()
    ]
    return clusters.hourly([*of_system, *of_pools], tier if mine else "", location, packaged())
