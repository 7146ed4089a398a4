"""What answers only in its network: which network that is, and how to get there. Pure.

Resource Manager answers everywhere. Storage and Batch accounts, endpoints and the API of a cluster don't, where their public
access is off. Every command that is refused for that says so in these sentences.

Sources: Microsoft Learn, batch/private-connectivity (read 2026-11-30) and MicrosoftDocs/azure-aks-docs,
articles/aks/private-clusters.md (2026-08-05), a machine in the network, in a peered one, or behind a VPN;
access-private-cluster.md there (2025-06-10), the run command of AKS, which is "not designed for programmatic access", so that no
command of this project uses it by itself.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from azure_gpu.formats import arm_ids, azure_types

if TYPE_CHECKING:
    from azure_gpu_operations.clusters.arm_facts import ClusterFacts

PAGE = "docs/environments.md#from-inside-the-network"
BY_RULES = "to the networks and addresses of its rules"
_OF_ENDPOINT = "the network of its private endpoint"


def only(body: Mapping[str, Any]) -> str:
    """Whom an account answers only, in words; "" where it answers every network."""
    properties = body.get("properties") or {}
    if str(properties.get("publicNetworkAccess") or "").lower() == "disabled":
        return "in its network"
    rules = properties.get("networkAcls") or (properties.get("networkProfile") or {}).get("accountAccess") or {}
    return BY_RULES if str(rules.get("defaultAction")).lower() == "deny" else ""


def way_in(subnet_id: str, unknown: str = _OF_ENDPOINT) -> str:
    """The fix, for a resource with an address in this subnet. `unknown`: the network's words where the subnet isn't known."""
    subnet = arm_ids.parse(subnet_id)
    network = arm_ids.parse(subnet.scope) if subnet is not None and subnet.is_type(azure_types.SUBNET.arm_type) else None
    where = unknown
    if subnet is not None and network is not None:
        where = f"the virtual network {network.name} (resource group {network.resource_group}, subnet {subnet.name})"
    return f"run this on a machine in {where}, or one that reaches it by VPN or peering, see {PAGE}"


def of_cluster(facts: "ClusterFacts", command: str = "kubectl get pods --all-namespaces") -> str:
    """The fix, for the API of a private cluster, with the command by which AKS itself runs kubectl; "" for any other."""
    cluster = arm_ids.parse(facts.id)
    if not facts.is_private or cluster is None:
        return ""
    fix = way_in(facts.subnet_id, f"the network of its nodes (resource group {facts.node_group})")
    if not facts.runs_commands:
        return fix
    where = f"--subscription {cluster.subscription} --resource-group {cluster.resource_group} --name {cluster.name}"
    return f'{fix}; or have AKS run kubectl there: az aks command invoke {where} --command "{command}"'
