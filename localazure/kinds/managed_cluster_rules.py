"""What the refusals of a whole cluster depend on beside its body: facts for `localazure/evidence/refusals.tsv`.

Its pools are `managed_cluster_pools`'.
"""

import ipaddress
from collections.abc import Collection, Iterable, Iterator, Sequence

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from localazure.arm.kind import Change
from localazure.arm.store import Body
from localazure.kinds import managed_cluster_node_group, managed_cluster_versions as versions
from localazure.kinds.managed_cluster_node_group import KUBELET
from localazure.kinds.virtual_networks import prefixes
from localazure.services import Services


def facts(change: Change, whole: Body, pools: Sequence[Body], running: str) -> Body:
    """`whole`: the body with the service's defaults, without the pools. `running`: the version of what is there."""
    properties, services = whole["properties"], change.services
    subnets = _subnets(pools, services) if change.creating else ()
    given = {str(pool.get("vnetSubnetID") or "") for pool in pools}
    group = services.store.get(managed_cluster_node_group.group_id(properties["nodeResourceGroup"]))
    return {
        "version": versions.facts(properties["kubernetesVersion"], running, change.as_of, str(properties["supportPlan"])),
        "subnet": _overlapped(str(properties["networkProfile"].get("serviceCidr") or ""), subnets),
        "own_network": any(given),
        "no_policy_manager": change.creating and services.weather.holds("no-policy-manager"),
        "api_server": _unfit(str((properties.get("apiServerAccessProfile") or {}).get("subnetId") or ""), given, services),
        "group_taken": group is not None and str(group.body.get("managedBy") or "").lower() != change.id.key,
        "own_group": properties["nodeResourceGroup"].lower() == change.id.resource_group.lower(),
        "profile": next((name for name in properties.get("identityProfile") or {} if name != KUBELET), ""),
    }


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
