"""Reads the virtual network of an existing subnet, so that what doesn't fit into it is found before anything is created."""

from __future__ import annotations

from typing import TypeAlias

from pulumi_azure_native import network as azure_network

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.private_networks import Subnet
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.shared import existing
from azure_gpu.shared.look_up import AskedBy

Found: TypeAlias = "azure_network.GetVirtualNetworkResult"


def of_subnet(subnet: ArmId, path: str, asked_by: AskedBy, own: str, unchecked: str) -> tuple[Found | None, list[Problem]]:
    """Reads a subnet's network; one that can't be read is a warning. `own`: the component's subscription; `unchecked`: what isn't
    checked then."""
    whole = arm_ids.parse(subnet.scope)
    assert whole is not None
    if whole.subscription.lower() != own.lower() and asked_by.given(whole.subscription) is None:
        elsewhere = refused("network.elsewhere", path, whole.text)
        return None, [_unread(elsewhere, unchecked)]
    get = azure_network.get_virtual_network
    found, problems = existing.get(get, azure_types.VIRTUAL_NETWORK, whole, path, asked_by, own)
    return found, [each if each.code is Code.NOT_FOUND else _unread(each, unchecked) for each in problems]


def _unread(problem: Problem, unchecked: str) -> Problem:
    return problem._replace(
        message=f"{problem.message}; {unchecked} isn't checked",
        fix="read permission on the virtual network lets it be checked",
        code=Code.UNKNOWN,
        severity=Severity.WARNING,
    )


def shown(found: Found, name: str) -> Subnet | None:
    """A subnet of a network by its name; None where there is none."""
    for each in found.subnets or []:
        if (each.name or "").lower() == name.lower():
            prefixes = tuple(dict.fromkeys(text for text in (each.address_prefix, *(each.address_prefixes or [])) if text))
            return Subnet(prefixes, tuple(one.service_name for one in each.delegations or [] if one.service_name))
    return None


def no_such_subnet(found: Found, subnet: ArmId, path: str) -> list[Problem]:
    """The problem of a network without this subnet."""
    if not found.subnets:
        return []  # not shown
    return [refused("network.subnet_not_there", path, subnet.text, names=", ".join(each.name or "" for each in found.subnets))]


def name_servers(found: Found) -> list[str]:
    """The network's own name servers; none: it asks Azure's."""
    return list(found.dhcp_options.dns_servers or []) if found.dhcp_options is not None else []
