"""Rules of AKS for a whole cluster that depend on more than its body. The others: `localazure/evidence/refusals.tsv`.

Its pools are `managed_cluster_pools`'.
"""

import ipaddress
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from localazure.arm import refusals
from localazure.arm.kind import Change
from localazure.arm.store import Body
from localazure.kinds import managed_cluster_node_group, managed_cluster_versions as versions
from localazure.kinds.virtual_networks import prefixes
from localazure.services import Services
from localazure.weather.parts import NO_POLICY_MANAGER


def check(change: Change, whole: Body, pools: Sequence[Body], arm_type: str) -> None:
    """`whole`: the body with the service's defaults, without the pools."""
    properties = whole["properties"]
    before = change.previous.body if change.previous else None
    subnets = _subnets(pools, change.services) if change.creating else ()
    given = {str(pool.get("vnetSubnetID") or "") for pool in pools}
    facts = {
        "subnet": _overlapped(str(properties["networkProfile"].get("serviceCidr") or ""), subnets),
        "own_network": any(given),
        "no_policy_manager": change.creating and change.services.weather.holds(NO_POLICY_MANAGER),
        "api_server": _unfit(str((properties.get("apiServerAccessProfile") or {}).get("subnetId") or ""), given, change.services),
    }
    refusals.judge(arm_type, whole, change.as_of, before=before, facts=facts)
    managed_cluster_node_group.check(properties["nodeResourceGroup"], change.id, change.services)
    managed_cluster_node_group.check_given(properties.get("identityProfile") or {}, change.services)


def check_version(requested: str, running: str, plan: str, as_of: date) -> None:
    """`running`: the version of the control plane with three numbers; empty for a new cluster."""
    versions.check_written(requested, "kubernetesVersion")
    if not running or not versions.same(running, requested, as_of):
        versions.check_supported(requested, as_of, plan)
    if running:
        versions.check_upgrade(running, requested, as_of)


def _subnets(pools: Sequence[Body], services: Services) -> Iterator[str]:
    """The addresses of all subnets of the networks that the pools are in."""
    given = {parse(str(pool.get("vnetSubnetID") or "")) for pool in pools}
    for network in {one.scope.lower() for one in given if one is not None and one.is_type(azure_types.SUBNET.arm_type)}:
        for subnet in services.store.of_type(azure_types.SUBNET.arm_type, network):
            one = subnet.properties.get("addressPrefix")
            yield from (str(each) for each in ([one] if one else subnet.properties.get("addressPrefixes") or ()))


def _unfit(subnet: str, of_nodes: Collection[str], services: Services) -> str:
    """Why a subnet takes no API server; "" where it does, or isn't here. Source: MicrosoftDocs/azure-aks-docs,
    articles/aks/api-server-vnet-integration.md at 0154c991 (2026-11-30)."""
    parsed = parse(subnet)
    found = services.store.get(parsed.key) if parsed is not None else None
    if parsed is None or found is None:
        return ""
    if any(parsed.scope.lower() != node.lower().partition("/subnets/")[0] for node in of_nodes if node):
        return "it is in another network than the nodes"
    names = [str((each.get("properties") or {}).get("serviceName") or "") for each in found.properties.get("delegations") or ()]
    if [each.lower() for each in names] != ["microsoft.containerservice/managedclusters"]:
        return "it is not delegated to Microsoft.ContainerService/managedClusters"
    sizes = [each.num_addresses for each in prefixes(found.properties)]
    return "it is smaller than /28" if sizes and max(sizes) < 16 else ""


def _overlapped(addresses: str, subnets: Iterable[str]) -> str:
    """The first subnet that has some of the addresses; "" where none has, or they are no addresses."""
    try:
        network = ipaddress.ip_network(addresses, strict=False)
    except ValueError:
        return ""
    found = (each for each in subnets if _read(each).version == network.version)
    return next((each for each in found if network.overlaps(_read(each))), "")


def _read(addresses: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_network(addresses, strict=False)
