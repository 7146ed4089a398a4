"""Reads the virtual network of a cluster's subnet: the addresses that the cluster's must not overlap, and its name servers."""

from __future__ import annotations

from collections.abc import Iterator

from pulumi_azure_native import network as azure_network

from azure_gpu.aks.args import ClusterNetwork
from azure_gpu.aks.rules import SUBNET, paths_of_ranges
from azure_gpu.aks.spec import ClusterSpec
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.aks import addresses, network
from azure_gpu.catalog.services.aks.addresses import NOT_READ, NetworkAddresses
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.shared import existing
from azure_gpu.shared.look_up import AskedBy


def look_up(spec: ClusterSpec, asked_by: AskedBy) -> tuple[NetworkAddresses, list[Problem]]:
    """Reads the addresses of the subnet's network, with the problems of what is set; one that can't be read is a warning."""
    if spec.subnet is None or not spec.subnet.is_type(SUBNET):
        return NOT_READ, []
    whole = arm_ids.parse(spec.subnet.scope)
    assert whole is not None
    path, own = f"{spec.path}.subnet_id", spec.context.subscription_id
    if whole.subscription.lower() != own.lower() and asked_by.given(whole) is None:
        return NOT_READ, [_unread(Problem(path, "in another subscription, whose network isn't read", whole.text))]
    found, problems = existing.read(
        lambda group, name, opts: azure_network.get_virtual_network(
            resource_group_name=group, virtual_network_name=name, opts=opts
        ),
        azure_types.VIRTUAL_NETWORK,
        whole,
        path,
        asked_by,
        own,
    )
    if found is None:
        return NOT_READ, [each if each.code is Code.NOT_FOUND else _unread(each) for each in problems]
    read = _addresses(found)
    return read, [*addresses.check_network(spec.ranges, read, paths_of_ranges(spec)), *_name_servers(spec, found)]


def _addresses(found: azure_network.GetVirtualNetworkResult) -> NetworkAddresses:
    subnets = [text for each in found.subnets or [] for text in (each.address_prefix, *(each.address_prefixes or [])) if text]
    spaces = [found.address_space, *(each.remote_address_space for each in found.virtual_network_peerings or [])]
    others = [text for space in spaces if space is not None for text in space.address_prefixes or []]
    return NetworkAddresses(tuple(dict.fromkeys(subnets)), tuple(dict.fromkeys(others)))


def _name_servers(spec: ClusterSpec, found: azure_network.GetVirtualNetworkResult) -> Iterator[Problem]:
    servers = list(found.dhcp_options.dns_servers or []) if found.dhcp_options is not None else []
    if servers and spec.access.network is ClusterNetwork.PRIVATE and spec.access.system_zone:
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


def _unread(problem: Problem) -> Problem:
    return problem._replace(
        message=f"{problem.message}; whether addresses of pods and services overlap it isn't checked",
        fix="read permission on the virtual network lets it be checked",
        code=Code.UNKNOWN,
        severity=Severity.WARNING,
    )
