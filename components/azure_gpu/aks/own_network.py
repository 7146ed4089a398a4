"""Reads the virtual network of a cluster's subnet: the addresses that the cluster's must not overlap, and its name servers."""

from __future__ import annotations

from collections.abc import Iterator

from azure_gpu.aks.rules import SUBNET, paths_of_ranges
from azure_gpu.aks.spec import ClusterSpec
from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.catalog.services import private_networks
from azure_gpu.catalog.services.aks import network
from azure_gpu.catalog.services.aks.network import NOT_READ, NetworkAddresses
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.shared import read_network
from azure_gpu.shared.look_up import AskedBy
from azure_gpu.shared.read_network import Found


def look_up(spec: ClusterSpec, asked_by: AskedBy) -> tuple[NetworkAddresses, list[Problem]]:
    """Reads the addresses of the subnet's network, with the problems of what is set; one that can't be read is a warning."""
    if spec.subnet is None or not spec.subnet.is_type(SUBNET):
        return NOT_READ, []
    path, unchecked = f"{spec.path}.subnet_id", "whether addresses of pods and services overlap it"
    found, problems = read_network.of_subnet(spec.subnet, path, asked_by, spec.context.subscription_id, unchecked)
    if found is None:
        return NOT_READ, problems
    read = _addresses(found)
    of_ranges = network.check_network(spec.ranges, read, paths_of_ranges(spec))
    return read, [*of_ranges, *_place(spec.subnet, spec.most_nodes, found, path), *_name_servers(spec, found)]


def _place(subnet: ArmId, most_nodes: int, found: Found, path: str) -> Iterator[Problem]:
    shown = read_network.shown(found, subnet.name)
    if shown is None:
        yield from read_network.no_such_subnet(found, subnet, path)
        return
    yield from private_networks.check_subnet(private_networks.CLUSTERS, shown, path)
    yield from private_networks.check_nodes(shown, most_nodes, path)


def _addresses(found: Found) -> NetworkAddresses:
    subnets = [text for each in found.subnets or [] for text in (each.address_prefix, *(each.address_prefixes or [])) if text]
    spaces = [found.address_space, *(each.remote_address_space for each in found.virtual_network_peerings or [])]
    others = [text for space in spaces if space is not None for text in space.address_prefixes or []]
    return NetworkAddresses(tuple(dict.fromkeys(subnets)), tuple(dict.fromkeys(others)))


def _name_servers(spec: ClusterSpec, found: Found) -> Iterator[Problem]:
    servers = read_network.name_servers(found)
    if servers and spec.access.network == "private" and spec.access.system_zone:
        yield Problem(
            path=f"{spec.path}.access.private_dns_zone",
            message=f"the network asks name servers of its own ({', '.join(servers)}), which don't know the zone that AKS "
            "creates: nodes can't find their API, and creating the cluster fails after half an hour",
            value="system",
            allowed="the id of a zone that these servers resolve, or none",
            fix="set the id of your zone, or have the servers forward azmk8s.io to 168.63.129.16 in a network with a link to it",
            source=str(network.PRIVATE_PAGE),
            severity=Severity.WARNING,
        )
