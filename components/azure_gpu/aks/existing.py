"""Reads an existing AKS cluster, which is never changed, into `ClusterFacts`; reports one that is missing or elsewhere. Of a new
cluster it reads the subnet's virtual network: the addresses that the cluster's must not overlap, and its name servers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import containerservice

from azure_gpu.aks.read_pools import NOT_THERE, InState
from azure_gpu.aks.rules import SUBNET, paths_of_ranges
from azure_gpu.aks.spec import ClusterSpec
from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services import private_networks
from azure_gpu.catalog.services.aks import kubernetes_versions, network
from azure_gpu.catalog.services.aks.network import NOT_READ, NetworkAddresses
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.shared import existing, read_network
from azure_gpu.shared.look_up import OF_STACK, AskedBy
from azure_gpu.shared.read_network import Found


def look_up_network(spec: ClusterSpec, asked_by: AskedBy) -> tuple[NetworkAddresses, list[Problem]]:
    """Reads the addresses of the subnet's network, with the problems of what is set; one that can't be read is a warning."""
    if spec.subnet is None or not spec.subnet.is_type(SUBNET):
        return NOT_READ, []
    path, unchecked = f"{spec.path}.subnet_id", "whether addresses of pods and services overlap it"
    found, problems = read_network.of_subnet(spec.subnet, path, asked_by, spec.context.subscription_id, unchecked)
    if found is None:
        return NOT_READ, problems
    read = _addresses(found)
    of_ranges = network.check_network(spec.ranges, read, paths_of_ranges(spec))
    return read, [*of_ranges, *_places(spec, spec.subnet, found), *_name_servers(spec, found)]


def _places(spec: ClusterSpec, nodes: ArmId, found: Found) -> Iterator[Problem]:
    """The problems of the nodes' subnet, and of the API server's, which has to be in the same network."""
    places = [(private_networks.CLUSTERS, nodes, f"{spec.path}.subnet_id")]
    server = spec.access.api_server_subnet
    if server is not None and server.key != nodes.key and server.scope.lower() == nodes.scope.lower():  # else refused already
        places.append((private_networks.API_SERVERS, server, f"{spec.path}.access.api_server_subnet_id"))
    for purpose, subnet, path in places:
        shown = read_network.shown(found, subnet.name)
        if shown is None:
            yield from read_network.no_such_subnet(found, subnet, path)
            continue
        yield from private_networks.check_subnet(purpose, shown, path)
        if subnet is nodes:
            yield from private_networks.check_nodes(shown, spec.most_nodes, path)


def tell_of_restart(before: containerservice.GetManagedClusterResult, path: str, parent: pulumi.Resource) -> None:
    """Warns of a cluster that exists without API server VNet Integration, and gets it."""
    access = before.api_server_access_profile
    if access is None or not access.enable_vnet_integration:
        pulumi.log.warn(
            f"{path}.access.api_server_subnet_id: cluster {before.name} gets API server VNet Integration: Azure replaces the "
            "image of every node, and the API server gets another address. It takes effect, and its capacity is certain, only "
            "once the cluster is stopped and started (`az aks stop`, `az aks start`): do so right afterwards. It can't be "
            f"switched off again. Source: {network.VNET_INTEGRATION_PAGE}.",
            parent,
        )


def _addresses(found: Found) -> NetworkAddresses:
    subnets = [text for each in found.subnets or [] for text in (each.address_prefix, *(each.address_prefixes or [])) if text]
    spaces = [found.address_space, *(each.remote_address_space for each in found.virtual_network_peerings or [])]
    others = [text for space in spaces if space is not None for text in space.address_prefixes or []]
    return NetworkAddresses(tuple(dict.fromkeys(subnets)), tuple(dict.fromkeys(others)))


def _name_servers(spec: ClusterSpec, found: Found) -> Iterator[Problem]:
    servers = read_network.name_servers(found)
    if servers and spec.access.network == "private" and spec.access.private_dns_zone == "system":
        yield refused("aks.other_name_servers", f"{spec.path}.access.private_dns_zone", "system", servers=", ".join(servers))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFacts:
    """Properties of a cluster that its objects depend on. For a created cluster they are known beforehand."""

    entra: bool = True  # logins use Entra
    azure_rbac: bool = True  # role assignments in Azure grant permissions
    issuer_url: str = ""  # of the tokens of its service accounts; empty: none, or not known yet
    kubelet_object_id: str = ""  # of its nodes' identity; empty: none, or not known yet
    pools: InState = NOT_THERE  # in the state
    network: NetworkAddresses = NOT_READ  # of the subnet of its nodes; empty: AKS creates one, or not known
    admin: str = ""  # object id of its default administrator in the state; empty: none, or unreadable
    already_admins: frozenset[str] = frozenset()  # object ids of administrators by assignments outside of the stack


def look_up(spec: ClusterSpec, asked_by: AskedBy = OF_STACK) -> tuple[ClusterFacts, list[Problem]]:
    """Reads an existing cluster, or the network that a new one will be in."""
    if spec.existing is None:
        addresses, problems = look_up_network(spec, asked_by)
        return ClusterFacts(network=addresses), problems
    path = f"{spec.path}.existing"
    get, own = containerservice.get_managed_cluster, spec.context.subscription_id
    found, problems = existing.get(get, azure_types.MANAGED_CLUSTER, spec.existing, path, asked_by, own)
    if found is None:
        return ClusterFacts(), problems
    if regions.normalise(found.location) != spec.location:
        there, here = regions.normalise(found.location), spec.location
        where = {"there": found.location, "here": here, "location": f"{spec.path}.location: {there}"}
        problems.append(refused("aks.existing_elsewhere", path, spec.existing.text, **where))
    private = found.api_server_access_profile is not None and bool(found.api_server_access_profile.enable_private_cluster)
    if private and spec.on_cluster and not spec.access.reachable:
        problems.append(refused("aks.not_reachable", f"{spec.path}.access.reachable"))
    day = spec.context.day
    of_version = kubernetes_versions.check(found.kubernetes_version or "", day, path) if found.kubernetes_version else []
    problems += [problem._replace(severity=Severity.WARNING) for problem in of_version]  # only its owner can change it
    facts = ClusterFacts(
        entra=found.aad_profile is not None,
        azure_rbac=found.aad_profile is not None and bool(found.aad_profile.enable_azure_rbac),
        issuer_url=issuer_url(found),
        kubelet_object_id=kubelet_object_id(found),
    )
    return facts, problems


def kubelet_object_id(cluster: containerservice.GetManagedClusterResult) -> str:
    """Object id of the identity with which the cluster's nodes pull images; empty if it has none."""
    kubelet = (cluster.identity_profile or {}).get("kubeletidentity")
    return (kubelet.object_id or "") if kubelet is not None else ""


def issuer_url(cluster: containerservice.GetManagedClusterResult) -> str:
    """Issuer of the tokens of its service accounts; empty without one."""
    return (cluster.oidc_issuer_profile.issuer_url if cluster.oidc_issuer_profile else "") or ""
