"""What the defaults of a cluster, rows of `localazure/evidence/types.toml`, depend on; its names, and what of it stays.

Recorded defaults: Azure Service Operator's sessions Test_AKS_ManagedCluster_20250801_CRUD (2026-01-24),
Test_KubernetesConfiguration_Extension_20230501_CRUD (2026-03-20) and Test_AKS_ManagedCluster_20260301_CRUD (2026-09-10). The
others: Microsoft Learn, REST reference of Microsoft.ContainerService 2025-09-01, "Managed Clusters - Create Or Update".
"""

from localazure.arm.kind import Change
from localazure.arm.store import Body, Resource
from localazure.kinds import managed_cluster_node_group, managed_cluster_versions as versions

FQDN_SUFFIX = "azmk8s.local"
# Recorded on with 1.35 (20260301) and off with 1.33 (20250801); where between them it changed is assumed.
ISSUER_SINCE = (1, 34)
# Kubenet with 1.26 to 1.29 at any API version (Test_Containerservice_v1api20240901_CreationAndDeletion, 2024-11-06, and nine
# more), overlay with 1.30 (Test_Latest_Reconciled_Generation_Reconciles_AllEvents, 2024-08-01, and three more).
OVERLAY_SINCE = (1, 30)


def facts(change: Change) -> Body:
    given, before = change.properties, change.previous.properties if change.previous else {}
    newest = versions.minor_of(versions.chosen(change.as_of))
    version = str(given.get("kubernetesVersion") or before.get("kubernetesVersion") or newest)
    network = {**(before.get("networkProfile") or {}), **(given.get("networkProfile") or {})}
    issuer = bool((before.get("oidcIssuerProfile") or {}).get("enabled"))  # one that is there stays
    return {
        "version": version,
        "plugin": "azure" if _is_from(OVERLAY_SINCE, version) else "kubenet",
        "services": network.get("serviceCidr") or "10.0.0.0/16",
        "pods": network.get("podCidr") or "10.244.0.0/16",
        "group": managed_cluster_node_group.default_name(change.id, change.body["location"]),
        "issuer": _is_from(ISSUER_SINCE, version) if change.creating else issuer,
    }


def kept(change: Change, kept: Body) -> Body:
    """Of what stays, a load balancer has no addresses of AKS where the client names its own."""
    network = (kept.get("properties") or {}).get("networkProfile") or {}
    given = (change.properties.get("networkProfile") or {}).get("loadBalancerProfile") or {}
    if not network.get("loadBalancerProfile") or not (given.get("outboundIPs") or given.get("outboundIPPrefixes")):
        return kept
    rest = {name: value for name, value in network["loadBalancerProfile"].items() if name != "managedOutboundIPs"}
    return {**kept, "properties": {**kept["properties"], "networkProfile": {**network, "loadBalancerProfile": rest}}}


def names(cluster: Resource, unique: str) -> Body:
    """Under which names the API answers; here they lead nowhere, and kubeconfigs have an address."""
    properties = cluster.properties
    access = properties.get("apiServerAccessProfile") or {}
    prefix = properties.get("dnsPrefix") or properties.get("fqdnSubdomain")
    made: Body = {"azurePortalFQDN": f"{prefix}-{unique[:8]}.portal.hcp.{cluster.location}.{FQDN_SUFFIX}"}
    if not access.get("enablePrivateCluster") or access.get("enablePrivateClusterPublicFQDN") is not False:
        made["fqdn"] = f"{prefix}-{unique[:8]}.hcp.{cluster.location}.{FQDN_SUFFIX}"
    if access.get("enablePrivateCluster"):
        made["privateFQDN"] = f"{prefix}-{unique[:8]}.{unique[8:16]}.privatelink.{cluster.location}.{FQDN_SUFFIX}"
    return made


def _is_from(since: tuple[int, int], version: str) -> bool:
    try:
        return versions.numbers(version)[:2] >= since
    except ValueError:  # refused afterwards
        return False


def has_balancer(network: Body) -> bool:
    """Whether nodes reach the outside through a standard load balancer of AKS."""
    return network.get("outboundType") == "loadBalancer" and str(network.get("loadBalancerSku")).lower() == "standard"
