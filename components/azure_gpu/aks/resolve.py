"""Resolves the arguments of a cluster: fills in all defaults and finds all problems. Pure."""

from collections.abc import Mapping

from azure_gpu.aks import gpu_pools, rules as cluster_rules
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
from azure_gpu.aks.gpu_pools import ClusterContext, GpuPoolSpec
from azure_gpu.aks.rules import cluster_problems
from azure_gpu.aks.spec import Access, GpuClusterSpec, Maintenance, SystemPool
from azure_gpu.catalog import lifecycle
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.prices.hourly_cost import HourlyCost, Machines
from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.catalog.services.aks import clusters, kubernetes_versions
from azure_gpu.catalog.services.aks.addresses import Ranges
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.formats.tags import EXPIRES_AT
from azure_gpu.kubernetes.gpu_objects import resolve as gpu_objects_resolve
from azure_gpu.shared import existing, principals
from azure_gpu.shared.context import Context, check_tags, known, resolve_day
from azure_gpu.shared.end_dates import last_day, resolve_end

TIERS = {Tier.FREE: clusters.FREE, Tier.STANDARD: clusters.STANDARD, Tier.PREMIUM: clusters.PREMIUM}


def resolve(name: str, args: GpuClusterSettings, context: Context) -> tuple[GpuClusterSpec, list[Problem]]:
    """Resolves the cluster that the stack file calls `name`, with its problems. Pure."""
    path = context.path("clusters", name)
    as_of, problems = resolve_day(args.get("as_of"), f"{path}.as_of")
    day = as_of or context.day
    expires_at, end_problems = resolve_end(args.get("expires_after"), day, f"{path}.expires_after", "a cluster", "of GPU nodes")
    found, id_problems = _existing(args, context, path)
    location = context.region(args.get("location"))
    tags = {**context.tags(as_of), **args.get("tags", {}), **({EXPIRES_AT: expires_at} if expires_at else {})}
    version = args.get("kubernetes_version", "")
    cluster_context = ClusterContext(
        path=path,
        location=location,
        location_path=f"{path}.location" if "location" in args else context.own_path("location"),
        # The version of an existing cluster is unknown before it is looked up.
        kubernetes_version=version or ("" if "existing" in args else kubernetes_versions.default(day)),
        long_term_support=args.get("long_term_support", False),
        tags=tags,
        last=last_day(args.get("expires_after")),
    )
    pools: dict[str, GpuPoolSpec] = {}
    pool_problems: list[Problem] = []
    for pool, settings in args.get("gpu_pools", {}).items():
        pools[pool], more = gpu_pools.resolve(pool, settings, cluster_context, day)
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
        location_path=cluster_context.location_path,
        kubernetes_version=version,
        long_term_support=cluster_context.long_term_support,
        tier=tier,
        system=system,
        pools=pools,
        access=_access(args.get("access", AccessArgs())),
        subnet=arm_ids.parse(known(args.get("subnet_id")) or ""),
        ranges=Ranges(args.get("pod_cidr", ""), args.get("service_cidr", "")),
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
        cost=_cost(system, pools, tier, location, created="existing" not in args, most=True),
        idle=_cost(system, pools, tier, location, created="existing" not in args, most=False),
    )
    of_catalog = lifecycle.through(lambda on: cluster_problems(args, spec, on), day, cluster_context.last)
    problems += [*end_problems, *id_problems, *of_catalog, *pool_problems]
    reported = {problem.path for problem in errors(pool_problems)}  # such as MIG on a T4, which pool and objects both report
    if spec.on_cluster:
        problems += [problem for problem in object_problems if problem.path not in reported]
    problems += [*cluster_rules.problems_of(args, spec), *check_tags(args.get("tags", {}), f"{path}.tags")]
    return spec, problems


def _existing(args: GpuClusterSettings, context: Context, path: str) -> tuple[ArmId | None, list[Problem]]:
    if "existing" not in args:
        return None, []
    return existing.resolve_id(args["existing"], azure_types.MANAGED_CLUSTER, context.subscription_id, f"{path}.existing")


def _system(settings: SystemPoolArgs) -> SystemPool:
    nodes = int(settings.get("nodes", DEFAULT_SYSTEM_NODES))
    return SystemPool(
        size=settings.get("size", DEFAULT_SYSTEM_SIZE),
        nodes=nodes,
        max_nodes=int(settings.get("max_nodes", nodes)),
        zones=tuple(sorted(dict.fromkeys(settings.get("zones", [])))),
        os_sku=settings.get("os_sku", "Ubuntu"),
        max_surge=settings.get("max_surge", ""),
        dedicated=settings.get("dedicated", False),
    )


def _access(settings: AccessArgs) -> Access:
    return Access(
        network=ClusterNetwork(settings.get("network", ClusterNetwork.PUBLIC)),
        system_zone=settings.get("private_dns_zone", "system") == "system",
        authorized_ranges=tuple(settings.get("authorized_ranges", [])),
        reachable=settings.get("reachable", False),
        login=Login(settings.get("login", Login.AZURE_CLI)),
        login_is_set="login" in settings,
        authority_host=settings.get("authority_host", ""),
        disable_instance_discovery=settings.get("disable_instance_discovery", False),
        local_accounts=settings.get("local_accounts", False),
        admins=principals.resolve(settings.get("admins", AdminsArgs())),
    )


def _maintenance(settings: MaintenanceArgs) -> Maintenance:
    return Maintenance(
        upgrades=UpgradeChannel(settings.get("upgrades", UpgradeChannel.NONE)),
        node_images=NodeImageChannel(settings.get("node_images", NodeImageChannel.NODE_IMAGE)),
        day=Weekday(settings.get("day", Weekday.SUNDAY)),
        start=settings.get("start", "02:00"),
        hours=int(settings.get("hours", 4)),
        utc_offset=settings.get("utc_offset", "+00:00"),
    )


def _cost(
    system: SystemPool, pools: Mapping[str, GpuPoolSpec], tier: str, location: str, *, created: bool, most: bool
) -> HourlyCost:
    """List price of the maximum or minimum number of nodes; for an existing cluster only of the stack's own pools."""
    of_system = [Machines(system.size, max(system.max_nodes, system.nodes) if most else system.nodes)] if created else []
    of_pools = [
        Machines(each.size, each.request.max_count if most else each.request.min_count, each.objects.spot)
        for each in pools.values()
    ]
    return clusters.hourly([*of_system, *of_pools], tier if created else "", location, packaged())
