"""What AKS fills in where a cluster's body is silent, and what an existing cluster keeps when an update doesn't name it.

In: a change. Out: a body that is laid under the client's. Defaults: Microsoft Learn, REST reference of Microsoft.ContainerService
2025-09-01, "Managed Clusters - Create Or Update"; that the overlay is the default network is assumed.
"""

from localazure.arm.kind import Change, merged
from localazure.arm.store import Body, Resource
from localazure.kinds import managed_cluster_node_group, managed_cluster_versions as versions

FQDN_SUFFIX = "azmk8s.local"
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
    """The same however often it is asked for."""
    kept = {}
    if change.previous is not None:
        before = change.previous.properties
        kept = {name: before[name] for name in _KEPT if name in before}
    given = change.properties
    return {
        "sku": {"name": "Base", "tier": "Free"},
        "properties": merged(_defaults(change, merged(kept, given)), kept),
    }


def names(cluster: Resource, unique: str) -> Body:
    """Under which names the API answers; here they lead nowhere, and kubeconfigs have an address."""
    properties = cluster.properties
    access = properties.get("apiServerAccessProfile") or {}
    prefix = properties.get("dnsPrefix") or properties.get("fqdnSubdomain")
    made: Body = {}
    if not access.get("enablePrivateCluster") or access.get("enablePrivateClusterPublicFQDN") is not False:
        made["fqdn"] = f"{prefix}-{unique[:8]}.hcp.{cluster.location}.{FQDN_SUFFIX}"
    if access.get("enablePrivateCluster"):
        made["privateFQDN"] = f"{prefix}-{unique[:8]}.{unique[8:16]}.privatelink.{cluster.location}.{FQDN_SUFFIX}"
    return made


def _defaults(change: Change, given: Body) -> Body:
    defaults: Body = {
        "autoUpgradeProfile": {"nodeOSUpgradeChannel": "NodeImage"},
        "disableLocalAccounts": False,
        "enableRBAC": True,
        "kubernetesVersion": versions.chosen(change.as_of),
        "networkProfile": _network(given.get("networkProfile") or {}),
        "nodeResourceGroup": managed_cluster_node_group.default_name(change.id, change.body["location"]),
        "oidcIssuerProfile": {"enabled": False},
        "supportPlan": "KubernetesOfficial",
    }
    if str((change.body.get("identity") or {}).get("type") or "None") != "None":
        defaults["servicePrincipalProfile"] = {"clientId": "msi"}
    if given.get("aadProfile"):
        defaults["aadProfile"] = {"adminGroupObjectIDs": [], "tenantID": change.services.settings.tenant_id}
    return defaults


def _network(given: Body) -> Body:
    defaults: Body = {
        "dnsServiceIP": "10.0.0.10",
        "ipFamilies": ["IPv4"],
        "loadBalancerSku": "standard",
        "networkPlugin": "azure",
        "outboundType": "loadBalancer",
        "serviceCidr": "10.0.0.0/16",
    }
    plugin = given.get("networkPlugin")
    if not plugin:
        defaults["networkPluginMode"] = "overlay"
    if plugin == "kubenet" or not plugin or str(given.get("networkPluginMode") or "").lower() == "overlay":
        defaults["podCidr"] = "10.244.0.0/16"
    return defaults
