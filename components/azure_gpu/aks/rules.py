"""What the catalog can't know against a cluster: what contradicts itself, what is this program's own policy, and what is missing.

In: the settings of a cluster and what is resolved of them. Out: problems.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from azure_gpu.aks.args import ClusterNetwork, GpuClusterSettings, NodeImageChannel, Outbound, SpotArgs, UpgradeChannel
from azure_gpu.aks.spec import GpuClusterSpec
from azure_gpu.catalog import names
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.aks import (
    access,
    clusters,
    kubernetes_versions,
    maintenance,
    network,
    spot,
    system_pools,
    systems,
)
from azure_gpu.catalog.services.aks.azure_ml import extension_problems
from azure_gpu.catalog.services.aks.sizes import NVIDIA_PAGE
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.shared import principals
from azure_gpu.shared.context import check_region
from azure_gpu.shared.validation import written
from azure_gpu.shared.wording import says

MOST_IDLE_MINUTES = 24 * 60
SUBNET = "Microsoft.Network/virtualNetworks/subnets"
PRIVATE_DNS_ZONE = "Microsoft.Network/privateDnsZones"
_HOST = re.compile(r"https://[A-Za-z0-9.-]+(?::[0-9]{1,5})?/")
_SYSTEM_OS = ("Ubuntu", "AzureLinux")
# What belongs to the cluster itself, which isn't changed where it exists.
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
    "idle_minutes",
    "maintenance",
    "monitoring",
    "overrides",
    "workload_identity",
    "ml_extension",
)
_ACCESS_OF_A_NEW_CLUSTER = ("network", "authorized_ranges", "private_dns_zone", "local_accounts")


def problems_of(said: GpuClusterSettings, spec: GpuClusterSpec) -> list[Problem]:
    """What is wrong with the cluster."""
    problems = [*_way_in(said, spec), *_subnet(said, spec), *_on_cluster(said, spec)]
    if "existing" in said:
        return [*problems, *_existing(said, spec.path)]
    return [*problems, *_system_pool(said, spec), *_network(said, spec), *_maintenance(spec), *_ml_extension(said, spec)]


def _existing(said: GpuClusterSettings, path: str) -> Iterator[Problem]:
    given = [key for key in _OF_A_NEW_CLUSTER if key in said]
    given += [f"access.{key}" for key in _ACCESS_OF_A_NEW_CLUSTER if key in said.get("access", {})]
    for key in given:
        yield Problem(
            path=f"{path}.{key}",
            message="an existing cluster is never changed, so nothing about the cluster itself can be said",
            allowed="gpu_pools, access of who logs in how, and what is put onto the cluster",
            fix="remove it, or have the cluster's owner set it",
        )


def _system_pool(said: GpuClusterSettings, spec: GpuClusterSpec) -> Iterator[Problem]:
    path, pool = f"{spec.path}.system_pool", spec.system
    of_spot = written(said.get("system_pool", {}).get("spot", SpotArgs(enabled=False)))
    if of_spot.get("enabled", True):
        yield Problem(
            path=f"{path}.spot",
            message="a Spot pool can't be the cluster's system pool",
            value=True,
            allowed="spot of a pool in gpu_pools",
            fix="remove it; a smaller size, or fewer nodes, make the system pool cheaper",
            source=str(spot.SOURCE),
            code=Code.IMPOSSIBLE,
        )
    size = SIZES.find(pool.size)
    if size is not None and size.gpu is not None:
        yield Problem(
            path=f"{path}.size",
            message="this program gives the system pool no GPU: it never scales to zero and holds AKS's own pods; that is our "
            "policy, and no limit of AKS",
            value=size.name,
            allowed="a size without a GPU, such as Standard_D4s_v5",
            fix="leave it out, and put the GPUs into gpu_pools",
        )
    elif size is None:
        yield from system_pools.check(pool.size, f"{path}.size")
    if pool.nodes < 1:
        yield Problem(f"{path}.nodes", "a system pool never scales to zero", pool.nodes, "1 and more", "write 1")
    if pool.max_nodes < pool.nodes:
        message = "the highest number of nodes is below the lowest"
        yield Problem(f"{path}.max_nodes", message, pool.max_nodes, f"{pool.nodes} and more", "raise it, or leave it out")
    if pool.max_nodes > system_pools.MOST_NODES:
        allowed = f"at most {system_pools.MOST_NODES}"
        yield Problem(f"{path}.max_nodes", "AKS makes no pool of so many nodes", pool.max_nodes, allowed, "lower it")
    if pool.os_sku not in _SYSTEM_OS:
        known = systems.OS_SKUS.get(pool.os_sku)
        windows = known is not None and known.operating_system is OperatingSystem.WINDOWS
        message = "a system pool runs Linux" if windows else "this program's system pools run Ubuntu or AzureLinux"
        yield Problem(f"{path}.os_sku", message, pool.os_sku, ", ".join(_SYSTEM_OS), "write Ubuntu, or leave it out")


def _way_in(said: GpuClusterSettings, spec: GpuClusterSpec) -> Iterator[Problem]:
    path = f"{spec.path}.access"
    yield from access.check(spec.access.local_accounts, spec.access.login, f"{path}.login")
    host = spec.access.authority_host
    if host and _HOST.fullmatch(host) is None:
        yield Problem(f"{path}.authority_host", "this is no address of an authority", host, "https://…/", "end it with a slash")
    yield from principals.check(said.get("access", {}).get("admins", {}), f"{path}.admins")


def _network(said: GpuClusterSettings, spec: GpuClusterSpec) -> Iterator[Problem]:
    path, way, given = f"{spec.path}.access", spec.access, said.get("access", {})
    if way.network is ClusterNetwork.RESTRICTED:
        if not way.authorized_ranges:
            yield Problem(
                path=f"{path}.authorized_ranges",
                message="a restricted cluster answers to these addresses alone, and none are said: nobody would get in",
                allowed='a list of ranges, such as ["203.0.113.7/32"]',
                fix="add the address of whoever runs this program, as `curl https://api.ipify.org` says it, and your people's",
                source=str(network.RANGES_PAGE),
            )
        yield from network.check_ranges(way.authorized_ranges, f"{path}.authorized_ranges")
    elif "authorized_ranges" in given:
        yield Problem(
            path=f"{path}.authorized_ranges",
            message=f"with network {way.network} no ranges are authorized",
            allowed="with network: restricted alone",
            fix="write network: restricted, or remove the ranges",
            source=str(network.PRIVATE_PAGE),
            code=Code.IMPOSSIBLE,
        )
    zone = given.get("private_dns_zone")
    if zone is not None and way.network is not ClusterNetwork.PRIVATE:
        yield Problem(
            path=f"{path}.private_dns_zone",
            message=f"with network {way.network} there is no private name",
            allowed="with network: private alone",
            fix="write network: private, or remove it",
        )
    elif isinstance(zone, str) and zone not in ("system", "none"):
        found = arm_ids.parse(zone)
        if found is None or not found.is_type(PRIVATE_DNS_ZONE):
            allowed = f"system, none, or /subscriptions/<id>/resourceGroups/<name>/providers/{PRIVATE_DNS_ZONE}/<name>"
            fix = "`az network private-dns zone show --query id` says it"
            yield Problem(f"{path}.private_dns_zone", "this is no private DNS zone", zone, allowed, fix)
    if zone is not None and zone not in ("system", "none") and "subnet_id" not in said:
        yield Problem(
            path=f"{path}.private_dns_zone",
            message="AKS links a private DNS zone of your own to the network of the nodes, and no subnet_id gives one",
            allowed="together with subnet_id; system and none without it",
            fix="add subnet_id, or write private_dns_zone: system",
            source=str(network.PRIVATE_PAGE),
            code=Code.IMPOSSIBLE,
        )
    if spec.outbound in (Outbound.OWN_NAT_GATEWAY, Outbound.OWN_ROUTES) and "subnet_id" not in said:
        yield Problem(
            path=f"{spec.path}.outbound",
            message="a way out of your own is that of a subnet of your own, and none is said",
            value=spec.outbound.value,
            allowed="loadBalancer or managedNATGateway without subnet_id",
            fix="add subnet_id, or remove outbound",
            code=Code.IMPOSSIBLE,
        )


def _on_cluster(said: GpuClusterSettings, spec: GpuClusterSpec) -> Iterator[Problem]:
    """Whether whoever runs this gets to the cluster, where something is put onto it."""
    private = spec.access.network is ClusterNetwork.PRIVATE
    if spec.on_cluster and private and not spec.access.reachable:
        yield no_route(f"{spec.path}.access.reachable")
    if not spec.on_cluster and said.get("jobs"):
        yield Problem(
            path=f"{spec.path}.jobs",
            message="on_cluster: false puts nothing onto the cluster, and jobs are said",
            allowed="jobs with on_cluster alone",
            fix="remove one of the two",
        )


def no_route(path: str) -> Problem:
    """The problem of a private cluster, onto which something is to be put from outside."""
    return Problem(
        path=path,
        message="a private cluster's API answers inside its network alone, and nothing says that whoever runs this program is in "
        "there: namespace, device plugin and jobs couldn't be put onto it",
        allowed="true, where this program runs in that network, or has a way there such as a VPN or a peering with its DNS zone",
        fix="run it from there and write reachable: true, or write on_cluster: false and put them on from there",
        source=str(network.PRIVATE_PAGE),
        code=Code.IMPOSSIBLE,
    )


def _subnet(said: GpuClusterSettings, spec: GpuClusterSpec) -> Iterator[Problem]:
    subnet = said.get("subnet_id")
    if not isinstance(subnet, str):  # what another resource gives can't be looked at
        return
    found = arm_ids.parse(subnet)
    if found is None or not found.is_type(SUBNET):
        allowed = f"/subscriptions/<id>/resourceGroups/<name>/providers/{SUBNET.replace('/s', '/<name>/s')}/<name>"
        fix = "`az network vnet subnet show --query id` says it"
        yield Problem(f"{spec.path}.subnet_id", "this is no id of a subnet", subnet, allowed, fix)


def _maintenance(spec: GpuClusterSpec) -> Iterator[Problem]:
    window, path = spec.maintenance, f"{spec.path}.maintenance"
    yield from maintenance.check(window.start, window.hours, window.utc_offset, path)
    if spec.kubernetes_version and window.upgrades in (UpgradeChannel.STABLE, UpgradeChannel.RAPID):
        yield Problem(
            path=f"{path}.upgrades",
            message=f"AKS would move the cluster to other versions than the one that {says(spec.path)}",
            value=window.upgrades.value,
            allowed="none or patch, where kubernetes_version is said",
            fix="write patch, or remove kubernetes_version",
            code=Code.IMPOSSIBLE,
        )
    for name, pool in spec.pools.items():
        if window.node_images is NodeImageChannel.SECURITY_PATCH and pool.request.os_sku.startswith("AzureLinux"):
            yield Problem(
                path=f"{path}.node_images",
                message=f"AKS gives no security patches to GPU nodes of Azure Linux, which gpu_pools.{name} has",
                value=window.node_images.value,
                allowed="NodeImage, which replaces whole images",
                fix="write NodeImage, or leave it out",
                source=str(NVIDIA_PAGE),
                severity=Severity.WARNING,
            )
    if spec.idle_minutes is not None and not 1 <= spec.idle_minutes <= MOST_IDLE_MINUTES:
        allowed = f"1 to {MOST_IDLE_MINUTES}"
        yield Problem(f"{spec.path}.idle_minutes", "nodes don't wait so long", spec.idle_minutes, allowed, "write 10")


def _ml_extension(said: GpuClusterSettings, spec: GpuClusterSpec) -> Iterator[Problem]:
    vcpus = system_pools.vcpus(spec.system.size)
    if said.get("ml_extension", False):
        yield from extension_problems(
            path=f"{spec.path}.ml_extension",
            local_accounts=spec.access.local_accounts,
            open_to_everybody=spec.access.network is ClusterNetwork.PUBLIC,
            fewest_nodes=spec.system.nodes,
            fewest_vcpus=vcpus * spec.system.nodes if vcpus is not None else None,
        )


def cluster_problems(args: GpuClusterSettings, spec: GpuClusterSpec, day: date) -> list[Problem]:
    """What the catalog says of the cluster itself."""
    problems: list[Problem] = []
    problems += check_region(args.get("location"), spec.location_path)
    if "existing" in args:
        return problems
    if "cluster_name" in args:
        problems += names.check(azure_types.MANAGED_CLUSTER.arm_type, spec.name, f"{spec.path}.cluster_name")
    if spec.kubernetes_version:
        path = f"{spec.path}.kubernetes_version"
        problems += kubernetes_versions.check(spec.kubernetes_version, day, path, lts=spec.long_term_support)
    problems += clusters.check_tier(spec.tier, spec.long_term_support, f"{spec.path}.tier", f"{spec.path}.long_term_support")
    most = max(spec.system.max_nodes, 0) + sum(max(pool.request.max_count, 0) for pool in spec.pools.values())
    paths = {"pods": f"{spec.path}.pod_cidr", "services": f"{spec.path}.service_cidr"}
    return [*problems, *network.check_addresses(spec.pod_cidr, spec.service_cidr, most, paths)]
