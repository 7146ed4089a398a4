"""Defaults of AKS for a cluster, and what an existing cluster keeps when an update doesn't name it.

Recorded defaults: Azure Service Operator's sessions Test_AKS_ManagedCluster_20250801_CRUD (2026-01-24),
Test_KubernetesConfiguration_Extension_20230501_CRUD (2026-03-20) and Test_AKS_ManagedCluster_20260301_CRUD (2026-09-10). The
others: Microsoft Learn, REST reference of Microsoft.ContainerService 2025-09-01, "Managed Clusters - Create Or Update".
"""

from localazure.arm.kind import Change, merged
from localazure.arm.store import Body, Resource
from localazure.kinds import managed_cluster_node_group, managed_cluster_versions as versions

FQDN_SUFFIX = "azmk8s.local"
# Recorded on with 1.35 (20260301) and off with 1.33 (20250801); where between them it changed is assumed.
ISSUER_SINCE = (1, 34)
# Kubenet with 1.26 to 1.29 at any API version (Test_Containerservice_v1api20240901_CreationAndDeletion, 2024-11-06, and nine
# more), overlay with 1.30 (Test_Latest_Reconciled_Generation_Reconciles_AllEvents, 2024-08-01, and three more).
OVERLAY_SINCE = (1, 30)
_KEPT = (
    "aadProfile",
    "disableLocalAccounts",
    "diskEncryptionSetID",
    "dnsPrefix",
    "enableRBAC",
    "fqdnSubdomain",
    "identityProfile",
    "kubernetesVersion",
    "linuxProfile",
    "networkProfile",
    "nodeResourceGroup",
    "servicePrincipalProfile",
)


def of(change: Change) -> Body:
    """The same however often it is requested."""
    kept = {}
    if change.previous is not None:
        before = change.previous.properties
        kept = {name: before[name] for name in _KEPT if name in before}
    given = change.properties
    balancer = (kept.get("networkProfile") or {}).get("loadBalancerProfile")
    if balancer and _names_its_addresses((given.get("networkProfile") or {}).get("loadBalancerProfile") or {}):
        # Addresses of the client's own take the place of AKS's.
        rest = {name: value for name, value in balancer.items() if name != "managedOutboundIPs"}
        kept["networkProfile"] = {**kept["networkProfile"], "loadBalancerProfile": rest}
    # A body without a tier leaves the cluster its own (20250801).
    sku = (change.previous.body.get("sku") or {}) if change.previous else {}
    return {
        "sku": {"name": "Base", "tier": "Free", **sku},
        "properties": merged(_defaults(change, merged(kept, given)), kept),
    }


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


def _defaults(change: Change, given: Body) -> Body:
    version = str(given.get("kubernetesVersion") or versions.minor_of(versions.chosen(change.as_of)))
    network = _network(given.get("networkProfile") or {}, version)
    defaults: Body = {
        "autoUpgradeProfile": {"nodeOSUpgradeChannel": "NodeImage"},
        "bootstrapProfile": {"artifactSource": "Direct"},
        "disableLocalAccounts": False,
        "enableRBAC": True,
        "kubernetesVersion": version,
        "metricsProfile": {"costAnalysis": {"enabled": False}},
        "networkProfile": network,
        "nodeProvisioningProfile": {"mode": "Manual", "defaultNodePools": "Auto"},
        "nodeResourceGroup": managed_cluster_node_group.default_name(change.id, change.body["location"]),
        "oidcIssuerProfile": {"enabled": _has_issuer(change, version)},
        "securityProfile": {},
        "storageProfile": {name: {"enabled": True} for name in ("diskCSIDriver", "fileCSIDriver", "snapshotController")},
        "supportPlan": "KubernetesOfficial",
        "workloadAutoScalerProfile": {},
    }
    if str((change.body.get("identity") or {}).get("type") or "None") != "None":
        defaults["servicePrincipalProfile"] = {"clientId": "msi"}
    if given.get("aadProfile"):
        defaults["aadProfile"] = {"adminGroupObjectIDs": [], "tenantID": change.services.settings.tenant_id}
    if given.get("linuxProfile") and network["networkPlugin"] == "azure" and "podCidr" not in network:
        # Recorded with Azure CNI (20230501), and not with its overlay (az's test_aks_create_gpu_driver_flow, 2025-03-21).
        defaults["windowsProfile"] = {"adminUsername": "azureuser", "enableCSIProxy": True}
    return defaults


def _has_issuer(change: Change, version: str) -> bool:
    """An issuer that is there stays; of new clusters those of the later versions have one."""
    if change.previous is not None:
        return bool((change.previous.properties.get("oidcIssuerProfile") or {}).get("enabled"))
    return _is_from(ISSUER_SINCE, version)


def _is_from(since: tuple[int, int], version: str) -> bool:
    try:
        return versions.numbers(version)[:2] >= since
    except ValueError:  # refused afterwards
        return False


def _network(given: Body, version: str) -> Body:
    plugin = given.get("networkPlugin") or ("azure" if _is_from(OVERLAY_SINCE, version) else "kubenet")
    defaults: Body = {
        "dnsServiceIP": "10.0.0.10",
        "ipFamilies": ["IPv4"],
        "loadBalancerSku": "standard",
        "networkPlugin": plugin,
        "outboundType": "loadBalancer",
        "serviceCidr": "10.0.0.0/16",
    }
    defaults["serviceCidrs"] = [given.get("serviceCidr") or defaults["serviceCidr"]]
    if plugin == "azure":
        defaults |= {"networkDataplane": "azure", "networkPolicy": "none"}
    if not given.get("networkPlugin"):
        defaults["networkPluginMode"] = "overlay"
    mode = given.get("networkPluginMode") or defaults.get("networkPluginMode") or ""
    if plugin == "kubenet" or str(mode).lower() == "overlay":
        defaults["podCidr"] = given.get("podCidr") or "10.244.0.0/16"
        defaults["podCidrs"] = [defaults["podCidr"]]
    if has_balancer({**defaults, **given}):
        own = _names_its_addresses(given.get("loadBalancerProfile") or {})
        managed: Body = {} if own else {"managedOutboundIPs": {"count": 1}}
        defaults["loadBalancerProfile"] = {"backendPoolType": "nodeIPConfiguration", **managed}
    return defaults


def has_balancer(network: Body) -> bool:
    """Whether nodes reach the outside through a standard load balancer of AKS."""
    return network.get("outboundType") == "loadBalancer" and str(network.get("loadBalancerSku")).lower() == "standard"


def _names_its_addresses(profile: Body) -> bool:
    return bool(profile.get("outboundIPs") or profile.get("outboundIPPrefixes"))
