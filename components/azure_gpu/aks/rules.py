"""Validates a cluster beyond the catalog's rules: contradictions, missing settings, and this program's own policy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date

from azure_gpu.aks.args import GpuClusterSettings, SpotArgs
from azure_gpu.aks.spec import ClusterSpec
from azure_gpu.catalog import names
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services import customer_keys
from azure_gpu.catalog.services.aks import clusters, kubernetes_versions, network, pools, systems
from azure_gpu.catalog.services.aks.clusters import extension_problems
from azure_gpu.catalog.services.aks.network import NOT_READ
from azure_gpu.catalog.services.aks.sizes import NVIDIA_PAGE
from azure_gpu.catalog.sizes import SIZES, cpu_series
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.shared import principals
from azure_gpu.shared.context import check_region
from azure_gpu.shared.validation import written

MOST_IDLE_MINUTES = 24 * 60
SUBNET = "Microsoft.Network/virtualNetworks/subnets"
PRIVATE_DNS_ZONE = "Microsoft.Network/privateDnsZones"
_HOST = re.compile(r"https://[A-Za-z0-9.-]+(?::[0-9]{1,5})?/")
_SYSTEM_OS = ("Ubuntu", "AzureLinux")
# Settings of the cluster itself; an existing one isn't changed.
_OF_A_NEW_CLUSTER = (
    "cluster_name",
    "kubernetes_version",
    "long_term_support",
    "tier",
    "system_pool",
    "pod_cidr",
    "service_cidr",
    "outbound",
    "network_policy",
    "azure_policy",
    "idle_minutes",
    "maintenance",
    "monitoring",
    "overrides",
    "workload_identity",
    "ml_extension",
)
_ACCESS_OF_A_NEW_CLUSTER = ("network", "authorized_ranges", "private_dns_zone", "api_server_subnet_id", "local_accounts")


def problems_of(settings: GpuClusterSettings, spec: ClusterSpec, pool_systems: Mapping[str, str]) -> list[Problem]:
    """All problems of the cluster. `pool_systems`: the operating systems of its GPU pools, by their names."""
    problems = [*_access(settings, spec), *_subnet(settings, spec), *_on_cluster(settings, spec)]
    if "existing" in settings:
        return [*problems, *_existing(settings, spec.path)]
    return [
        *problems,
        *_system_pool(settings, spec),
        *_network(settings, spec),
        *_maintenance(spec, pool_systems),
        *_ml_extension(settings, spec),
    ]


def _existing(settings: GpuClusterSettings, path: str) -> Iterator[Problem]:
    given = [key for key in _OF_A_NEW_CLUSTER if key in settings]
    given += [f"access.{key}" for key in _ACCESS_OF_A_NEW_CLUSTER if key in settings.get("access", {})]
    for key in given:
        yield Problem(
            path=f"{path}.{key}",
            message="can't be set on an existing cluster, which is never changed",
            allowed="gpu_pools, admins and login of access, and what is created on the cluster",
            fix="remove it, or have the cluster's owner set it",
        )


def _system_pool(settings: GpuClusterSettings, spec: ClusterSpec) -> Iterator[Problem]:
    path, pool = f"{spec.path}.system_pool", spec.system
    of_spot = written(settings.get("system_pool", {}).get("spot", SpotArgs(enabled=False)))
    if of_spot.get("enabled", True):
        yield Problem(
            path=f"{path}.spot",
            message="a Spot pool can't be the cluster's system pool",
            value=True,
            allowed="spot of a pool in gpu_pools",
            fix="remove it; a smaller size, or fewer nodes, make the system pool cheaper",
            source=str(pools.SPOT_PAGE),
            code=Code.IMPOSSIBLE,
        )
    size = SIZES.find(pool.size)
    if size is not None and size.gpu is not None:
        yield Problem(
            path=f"{path}.size",
            message="a system pool with GPUs is against this program's policy (not a limit of AKS): it never scales to zero "
            "and runs AKS's own pods",
            value=size.name,
            allowed="a size without a GPU, such as Standard_D4s_v5",
            fix="remove it, and put the GPUs into gpu_pools",
        )
    elif size is None:
        yield from clusters.check_system_size(pool.size, f"{path}.size")
    if pool.nodes < 1:
        yield Problem(f"{path}.nodes", "a system pool never scales to zero", pool.nodes, "1 or more", "write 1")
    if pool.max_nodes < pool.nodes:
        message = "less than `nodes`"
        yield Problem(f"{path}.max_nodes", message, pool.max_nodes, f"{pool.nodes} or more", "raise or remove it")
    if pool.max_nodes > clusters.MOST_NODES:
        allowed = f"at most {clusters.MOST_NODES}"
        yield Problem(f"{path}.max_nodes", "more nodes than AKS allows in a pool", pool.max_nodes, allowed, "lower it")
    if pool.os_sku not in _SYSTEM_OS:
        known = systems.OS_SKUS.get(pool.os_sku)
        windows = known is not None and known.operating_system == "Windows"
        message = "a system pool runs Linux" if windows else "this program's system pools run Ubuntu or AzureLinux"
        yield Problem(f"{path}.os_sku", message, pool.os_sku, ", ".join(_SYSTEM_OS), "set Ubuntu, or remove it")


def _access(settings: GpuClusterSettings, spec: ClusterSpec) -> Iterator[Problem]:
    path = f"{spec.path}.access"
    host = spec.access.authority_host
    if host and _HOST.fullmatch(host) is None:
        yield Problem(f"{path}.authority_host", "not a valid authority address", host, "https://…/", "end it with a slash")
    yield from principals.check(settings.get("access", {}).get("admins", {}), f"{path}.admins")


def _network(settings: GpuClusterSettings, spec: ClusterSpec) -> Iterator[Problem]:
    path, resolved, given = f"{spec.path}.access", spec.access, settings.get("access", {})
    if resolved.network == "restricted":
        if not resolved.authorized_ranges:
            yield Problem(
                path=f"{path}.authorized_ranges",
                message="`network: restricted` requires `authorized_ranges`; without them the API can't be reached",
                allowed='a list of ranges, such as ["203.0.113.7/32"]',
                fix="add this machine's address, as `curl https://api.ipify.org` prints it, and your users'",
                source=str(network.RANGES_PAGE),
            )
        yield from network.check_ranges(resolved.authorized_ranges, f"{path}.authorized_ranges")
        if spec.outbound == "userDefinedRouting":
            yield network.firewall_address(f"{path}.authorized_ranges", resolved.authorized_ranges)
    elif "authorized_ranges" in given:
        yield Problem(
            path=f"{path}.authorized_ranges",
            message=f"requires `network: restricted`, but it is {resolved.network}",
            allowed="only with `network: restricted`",
            fix="set `network: restricted`, or remove the ranges",
            source=str(network.PRIVATE_PAGE),
            code=Code.IMPOSSIBLE,
        )
    zone = given.get("private_dns_zone")
    if zone is not None and resolved.network != "private":
        yield Problem(
            path=f"{path}.private_dns_zone",
            message=f"requires `network: private`, but it is {resolved.network}",
            allowed="only with `network: private`",
            fix="set `network: private`, or remove it",
        )
    elif isinstance(zone, str) and zone not in ("system", "none"):
        found = arm_ids.parse(zone)
        if found is None or not found.is_type(PRIVATE_DNS_ZONE):
            allowed = f"system, none, or /subscriptions/<id>/resourceGroups/<name>/providers/{PRIVATE_DNS_ZONE}/<name>"
            fix = "`az network private-dns zone show --query id` prints it"
            yield Problem(f"{path}.private_dns_zone", "not a valid private DNS zone", zone, allowed, fix)
    if zone is not None and zone not in ("system", "none") and "subnet_id" not in settings:
        yield Problem(
            path=f"{path}.private_dns_zone",
            message="a custom private DNS zone requires `subnet_id`: AKS links the zone to the nodes' network",
            allowed="together with subnet_id; system and none without it",
            fix="set `subnet_id`, or `private_dns_zone: system`",
            source=str(network.PRIVATE_PAGE),
            code=Code.IMPOSSIBLE,
        )
    if spec.outbound in ("userAssignedNATGateway", "userDefinedRouting") and "subnet_id" not in settings:
        yield Problem(
            path=f"{spec.path}.outbound",
            message="a custom NAT gateway or route table requires `subnet_id`",
            value=spec.outbound,
            allowed="loadBalancer or managedNATGateway without subnet_id",
            fix="set `subnet_id`, or remove `outbound`",
            code=Code.IMPOSSIBLE,
        )


def _on_cluster(settings: GpuClusterSettings, spec: ClusterSpec) -> Iterator[Problem]:
    """Problems of a cluster that isn't reachable, if objects are created on it."""
    private = spec.access.network == "private"
    if spec.on_cluster and private and not spec.access.reachable:
        yield no_route(f"{spec.path}.access.reachable")
    if not spec.on_cluster and settings.get("jobs"):
        yield Problem(
            path=f"{spec.path}.jobs",
            message="`jobs` requires `on_cluster: true`",
            allowed="jobs only with `on_cluster: true`",
            fix="remove `jobs` or `on_cluster: false`",
        )


def no_route(path: str) -> Problem:
    """The problem of a private cluster that isn't reachable, if objects are created on it."""
    return Problem(
        path=path,
        message="a private cluster's API is reachable only from its network, and `reachable` is not set: "
        "namespace, device plugin and jobs couldn't be created",
        allowed="true, if this program runs in that network or reaches it by VPN or by a peering with its DNS zone",
        fix="run it from there and set `reachable: true`, or set `on_cluster: false` and create them from there",
        source=str(network.PRIVATE_PAGE),
        code=Code.IMPOSSIBLE,
    )


def _subnet(settings: GpuClusterSettings, spec: ClusterSpec) -> Iterator[Problem]:
    of_api_server, path = settings.get("access", {}).get("api_server_subnet_id"), f"{spec.path}.access.api_server_subnet_id"
    for here, given in ((f"{spec.path}.subnet_id", settings.get("subnet_id")), (path, of_api_server)):
        found = arm_ids.parse(given) if isinstance(given, str) else None  # an output can't be validated
        if isinstance(given, str) and (found is None or not found.is_type(SUBNET)):
            allowed = f"/subscriptions/<id>/resourceGroups/<name>/providers/{SUBNET.replace('/s', '/<name>/s')}/<name>"
            fix = "`az network vnet subnet show --query id` prints it"
            yield Problem(here, "not a valid subnet id", given, allowed, fix)
    if of_api_server is not None and "existing" not in settings:
        nodes = spec.subnet.text if spec.subnet is not None else None
        server = spec.access.api_server_subnet.text if spec.access.api_server_subnet is not None else None
        yield from network.check_vnet_integration(server, nodes, path, with_subnet="subnet_id" in settings)
        yield from network.check_region_of_vnet_integration(spec.location, path)


def _maintenance(spec: ClusterSpec, pool_systems: Mapping[str, str]) -> Iterator[Problem]:
    window, path = spec.maintenance, f"{spec.path}.maintenance"
    yield from clusters.check_window(window.start, window.hours, window.utc_offset, path)
    if spec.kubernetes_version and window.upgrades in ("stable", "rapid"):
        yield Problem(
            path=f"{path}.upgrades",
            message="this channel upgrades beyond `kubernetes_version`",
            value=window.upgrades,
            allowed="none or patch, with `kubernetes_version`",
            fix="set patch, or remove `kubernetes_version`",
            code=Code.IMPOSSIBLE,
        )
    for name, system in pool_systems.items():
        if window.node_images == "SecurityPatch" and system.startswith("AzureLinux"):
            yield Problem(
                path=f"{path}.node_images",
                message=f"AKS doesn't offer security patches for GPU nodes with Azure Linux, which gpu_pools.{name} has",
                value=window.node_images,
                allowed="NodeImage, which replaces whole images",
                fix="set NodeImage, or remove it",
                source=str(NVIDIA_PAGE),
                severity=Severity.WARNING,
            )
    if spec.idle_minutes is not None and not 1 <= spec.idle_minutes <= MOST_IDLE_MINUTES:
        allowed = f"1 to {MOST_IDLE_MINUTES}"
        yield Problem(f"{spec.path}.idle_minutes", "idle time is out of range", spec.idle_minutes, allowed, "write 10")


def _ml_extension(settings: GpuClusterSettings, spec: ClusterSpec) -> Iterator[Problem]:
    vcpus = clusters.vcpus(spec.system.size)
    if settings.get("ml_extension", False):
        yield from extension_problems(
            path=f"{spec.path}.ml_extension",
            local_accounts=spec.access.local_accounts,
            open_to_everybody=spec.access.network == "public",
            fewest_nodes=spec.system.nodes,
            fewest_vcpus=vcpus * spec.system.nodes if vcpus is not None else None,
        )


def elsewhere(vaults: str, spec: ClusterSpec) -> list[Problem]:
    """The problem of a new cluster in another region than the vault of the key that encrypts its disks. `vaults`: that region."""
    return customer_keys.elsewhere(vaults, spec.location, spec.location_path) if spec.existing is None else []


def cluster_problems(args: GpuClusterSettings, spec: ClusterSpec, day: date) -> list[Problem]:
    """The catalog's problems of the cluster itself."""
    problems: list[Problem] = []
    problems += check_region(args.get("location"), spec.location_path)
    if "existing" in args:
        return problems
    if "cluster_name" in args:
        problems += names.check(azure_types.MANAGED_CLUSTER.arm_type, spec.name, f"{spec.path}.cluster_name")
    if spec.kubernetes_version:
        path = f"{spec.path}.kubernetes_version"
        problems += kubernetes_versions.check(spec.kubernetes_version, day, path, lts=spec.long_term_support)
    problems += cpu_series.check(spec.system.size, day, f"{spec.path}.system_pool.size")
    problems += clusters.check_tier(spec.tier, spec.long_term_support, f"{spec.path}.tier", f"{spec.path}.long_term_support")
    problems += network.check_policy(spec.network_policy, day, f"{spec.path}.network_policy")
    assumed = network.choose_ranges(spec.ranges, NOT_READ)  # before the virtual network is looked up
    return [*problems, *network.check_addresses(assumed, spec.most_nodes, paths_of_ranges(spec))]


def paths_of_ranges(spec: ClusterSpec) -> dict[str, str]:
    """Where the ranges of pods and services are written."""
    return {"pods": f"{spec.path}.pod_cidr", "services": f"{spec.path}.service_cidr"}
