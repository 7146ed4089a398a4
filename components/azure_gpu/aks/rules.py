"""Validates a cluster beyond the catalog's rules: contradictions, missing settings, and this program's own policy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date

from azure_gpu.aks.spec import ClusterSpec, SystemPool
from azure_gpu.catalog import names
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services import customer_keys
from azure_gpu.catalog.services.aks import clusters, kubernetes_versions, network, systems
from azure_gpu.catalog.services.aks.clusters import extension_problems
from azure_gpu.catalog.services.aks.network import NOT_READ
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


def problems_of(spec: ClusterSpec, pool_systems: Mapping[str, str]) -> list[Problem]:
    """All problems of the cluster. `pool_systems`: the operating systems of its GPU pools, by their names."""
    problems = [*_access(spec), *_subnet(spec), *_on_cluster(spec)]
    if "existing" in spec.settings:
        given = [key for key in _OF_A_NEW_CLUSTER if key in spec.settings]
        given += [f"access.{key}" for key in _ACCESS_OF_A_NEW_CLUSTER if key in spec.settings.get("access", {})]
        return [*problems, *(refused("aks.existing_unchanged", f"{spec.path}.{key}") for key in given)]
    of_new = [*_system_pool(spec.system, f"{spec.path}.system_pool"), *_network(spec), *_maintenance(spec, pool_systems)]
    return [*problems, *of_new, *_ml_extension(spec)]


def _system_pool(pool: SystemPool, path: str) -> Iterator[Problem]:
    if pool.spot is not False and written(pool.spot).get("enabled", True):
        yield refused("aks.system_pool_spot", f"{path}.spot", True)
    size = SIZES.find(pool.size)
    if size is not None and size.gpu is not None:
        yield refused("aks.system_pool_gpu", f"{path}.size", size.name)
    elif size is None:
        yield from clusters.check_system_size(pool.size, f"{path}.size")
    if pool.nodes < 1:
        yield refused("aks.system_pool_empty", f"{path}.nodes", pool.nodes)
    if pool.most_nodes < pool.nodes:
        yield refused("aks.system_pool_shrinks", f"{path}.max_nodes", pool.most_nodes, least=pool.nodes)
    if pool.most_nodes > clusters.MOST_NODES:
        yield refused("aks.system_pool_too_large", f"{path}.max_nodes", pool.most_nodes, most=clusters.MOST_NODES)
    if pool.os_sku not in _SYSTEM_OS:
        known = systems.OS_SKUS.get(pool.os_sku)
        windows = known is not None and known.operating_system == "Windows"
        yield refused("aks.system_pool_windows" if windows else "aks.system_pool_system", f"{path}.os_sku", pool.os_sku)


def _access(spec: ClusterSpec) -> Iterator[Problem]:
    path = f"{spec.path}.access"
    host = spec.access.authority_host
    if host and _HOST.fullmatch(host) is None:
        yield refused("aks.bad_authority_host", f"{path}.authority_host", host)
    yield from principals.check(spec.access.admins, f"{path}.admins")


def _network(spec: ClusterSpec) -> Iterator[Problem]:
    path, resolved, given = f"{spec.path}.access", spec.access, spec.settings.get("access", {})
    with_subnet, zone = "subnet_id" in spec.settings, given.get("private_dns_zone")
    if resolved.network == "restricted":
        if not resolved.authorized_ranges:
            yield refused("aks.restricted_to_nothing", f"{path}.authorized_ranges")
        yield from network.check_ranges(resolved.authorized_ranges, f"{path}.authorized_ranges")
        if spec.outbound == "userDefinedRouting":
            yield network.firewall_address(f"{path}.authorized_ranges", resolved.authorized_ranges)
    elif "authorized_ranges" in given:
        yield refused("aks.ranges_unrestricted", f"{path}.authorized_ranges", network=resolved.network)
    if zone is not None and resolved.network != "private":
        yield refused("aks.zone_not_private", f"{path}.private_dns_zone", network=resolved.network)
    elif isinstance(zone, str) and zone not in ("system", "none"):
        found = arm_ids.parse(zone)
        if found is None or not found.is_type(PRIVATE_DNS_ZONE):
            yield refused("aks.bad_zone", f"{path}.private_dns_zone", zone)
    if zone is not None and zone not in ("system", "none") and not with_subnet:
        yield refused("aks.zone_without_subnet", f"{path}.private_dns_zone")
    if spec.outbound in ("userAssignedNATGateway", "userDefinedRouting") and not with_subnet:
        yield refused("aks.outbound_without_subnet", f"{spec.path}.outbound", spec.outbound)


def _on_cluster(spec: ClusterSpec) -> Iterator[Problem]:
    """Problems of a cluster that isn't reachable, if objects are created on it."""
    if spec.on_cluster and spec.access.network == "private" and not spec.access.reachable:
        yield refused("aks.not_reachable", f"{spec.path}.access.reachable")
    if not spec.on_cluster and spec.settings.get("jobs"):
        yield refused("aks.jobs_without_objects", f"{spec.path}.jobs")


def _subnet(spec: ClusterSpec) -> Iterator[Problem]:
    path, of_api_server = f"{spec.path}.access.api_server_subnet_id", spec.access.api_server_subnet_id
    for here, given in ((f"{spec.path}.subnet_id", spec.settings.get("subnet_id")), (path, of_api_server)):
        found = arm_ids.parse(given) if isinstance(given, str) else None  # an output can't be validated
        if isinstance(given, str) and (found is None or not found.is_type(SUBNET)):
            yield refused("aks.bad_subnet", here, given)
    if of_api_server is not None and "existing" not in spec.settings:
        nodes, server = (each.text if each is not None else None for each in (spec.subnet, spec.access.api_server_subnet))
        yield from network.check_vnet_integration(server, nodes, path, with_subnet="subnet_id" in spec.settings)
        yield from network.check_region_of_vnet_integration(spec.location, path)


def _maintenance(spec: ClusterSpec, pool_systems: Mapping[str, str]) -> Iterator[Problem]:
    window, path = spec.maintenance, f"{spec.path}.maintenance"
    yield from clusters.check_window(window.start, window.hours, window.utc_offset, path)
    if spec.kubernetes_version and window.upgrades in ("stable", "rapid"):
        yield refused("aks.upgrades_beyond_version", f"{path}.upgrades", window.upgrades)
    for name, system in pool_systems.items():
        if window.node_images == "SecurityPatch" and system.startswith("AzureLinux"):
            yield refused("aks.no_security_patches", f"{path}.node_images", window.node_images, pool=name)
    idle = spec.settings.get("idle_minutes")
    if idle is not None and not 1 <= idle <= MOST_IDLE_MINUTES:
        yield refused("aks.idle_out_of_range", f"{spec.path}.idle_minutes", idle, most=MOST_IDLE_MINUTES)


def _ml_extension(spec: ClusterSpec) -> Iterator[Problem]:
    vcpus = clusters.vcpus(spec.system.size)
    if spec.settings.get("ml_extension", False):
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


def cluster_problems(spec: ClusterSpec, day: date) -> list[Problem]:
    """The catalog's problems of the cluster itself."""
    args, path, lts = spec.settings, spec.path, spec.settings.get("long_term_support", False)
    problems: list[Problem] = [*check_region(args.get("location"), spec.location_path)]
    if "existing" in args:
        return problems
    if "cluster_name" in args:
        problems += names.check(azure_types.MANAGED_CLUSTER.arm_type, spec.name, f"{path}.cluster_name")
    if spec.kubernetes_version:
        problems += kubernetes_versions.check(spec.kubernetes_version, day, f"{path}.kubernetes_version", lts=lts)
    problems += cpu_series.check(spec.system.size, day, f"{path}.system_pool.size")
    problems += clusters.check_tier(spec.tier, lts, f"{path}.tier", f"{path}.long_term_support")
    problems += network.check_policy(spec.network_policy, day, f"{path}.network_policy")
    assumed = network.choose_ranges(spec.ranges, NOT_READ)  # before the virtual network is looked up
    return [*problems, *network.check_addresses(assumed, spec.most_nodes, paths_of_ranges(spec))]


def paths_of_ranges(spec: ClusterSpec) -> dict[str, str]:
    """Where the ranges of pods and services are written."""
    return {"pods": f"{spec.path}.pod_cidr", "services": f"{spec.path}.service_cidr"}
