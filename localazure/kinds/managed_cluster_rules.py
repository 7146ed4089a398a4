"""Rules of AKS for a whole cluster: missing and conflicting properties, what can't change, what isn't implemented.

Its pools are `managed_cluster_pools`'. Codes and sentences: `managed_cluster_refusals`; the code
OIDCIssuerFeatureCannotBeDisabled is assumed, its sentence is the title of Azure/AKS-Construction issue 531.
"""

import ipaddress
from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.catalog.services.aks import clusters as catalog_clusters, network
from azure_gpu.catalog.services.aks.systems import check_network_plugin
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.kind import Change
from localazure.arm.store import Body
from localazure.kinds import attached_identities, managed_cluster_node_group, managed_cluster_versions as versions
from localazure.kinds.managed_cluster_refusals import bad_request, change_not_allowed, first, invalid, missing, reason_of

# What of an existing cluster never changes, below `properties`. Source: the descriptions of Microsoft.ContainerService 2025-09-01
# ("cannot be updated once …") and pulumi-azure-native's list of what replaces.
FIXED = (
    "diskEncryptionSetID",
    "dnsPrefix",
    "enableRBAC",
    "fqdnSubdomain",
    "linuxProfile",
    "nodeResourceGroup",
    "networkProfile.dnsServiceIP",
    "networkProfile.loadBalancerSku",
    "networkProfile.networkPlugin",
    "networkProfile.networkPluginMode",
    "networkProfile.podCidr",
    "networkProfile.serviceCidr",
    "apiServerAccessProfile.enablePrivateCluster",
    "servicePrincipalProfile.clientId",
)
_RANGES = "apiServerAccessProfile.authorizedIPRanges"
_TIERS = {"Free", "Standard", "Premium"}


def check(change: Change, whole: Body) -> None:
    """`whole`: the body with the service's defaults."""
    properties = whole["properties"]
    before = change.previous.properties if change.previous else None
    _check_imitated(properties)
    _check_identity(change, properties)
    if before is not None:
        _check_unchanged(before, properties)
    elif not properties.get("dnsPrefix") and not properties.get("fqdnSubdomain"):
        raise missing("dnsPrefix")
    _check_entra(properties)
    _check_ranges(properties)
    managed_cluster_node_group.check(properties["nodeResourceGroup"], change.id, change.services)
    managed_cluster_node_group.check_given(properties.get("identityProfile") or {}, change.services)
    found = errors(_of_catalog(whole, change.as_of))
    if found:
        raise first([invalid(problem.path, reason_of(problem)) for problem in found])


def check_version(requested: str, running: str, plan: str, as_of: date) -> None:
    """`running`: the version of the control plane with three numbers; empty for a new cluster."""
    versions.check_written(requested, "kubernetesVersion")
    if not running or not versions.same(running, requested, as_of):
        versions.check_supported(requested, as_of, plan)
    if running:
        versions.check_upgrade(running, requested, as_of)


def _check_imitated(properties: Body) -> None:
    """What nobody could use without its behaviour. Other parts without one are kept and shown: docs/limits.md."""
    if _at(properties, "nodeProvisioningProfile.mode") == "Auto":
        raise not_implemented("node auto provisioning of a managed cluster")


def _check_identity(change: Change, properties: Body) -> None:
    identity = change.body.get("identity") or {}
    principal = properties.get("servicePrincipalProfile") or {}
    kind = str(identity.get("type") or "None")
    if kind == "None" and not principal:
        raise missing("servicePrincipalProfile")
    if principal and not principal.get("clientId"):
        raise missing("servicePrincipalProfile.clientId")
    attached = identity.get("userAssignedIdentities") or {}
    if "UserAssigned" in kind and len(attached) != 1:
        raise invalid("identity.userAssignedIdentities", "a cluster takes exactly one user-assigned identity")
    attached_identities.check(change)


def _check_unchanged(before: Body, after: Body) -> None:
    for path in FIXED:
        old, new = _at(before, path), _at(after, path)
        same = (
            old.lower() == new.lower() if isinstance(old, str) and isinstance(new, str) else old == new or (not old and not new)
        )
        if not same:
            raise change_not_allowed(path)
    if _at(before, "oidcIssuerProfile.enabled") and not _at(after, "oidcIssuerProfile.enabled"):
        raise ArmError(400, "OIDCIssuerFeatureCannotBeDisabled", "OIDC issuer feature cannot be disabled.")


def _check_entra(properties: Body) -> None:
    entra = properties.get("aadProfile")
    if entra is not None:
        if any(entra.get(name) for name in ("clientAppID", "serverAppID", "serverAppSecret")):
            raise bad_request("AAD-legacy is not supported: use AKS-managed Azure AD, whose `managed` is true.", "aadProfile")
        if not entra.get("managed"):
            raise invalid("aadProfile.managed", "only AKS-managed Azure AD is supported")
        if entra.get("enableAzureRBAC") and properties.get("enableRBAC") is False:
            raise invalid("aadProfile.enableAzureRBAC", "it requires enableRBAC")
    elif properties.get("disableLocalAccounts"):
        raise bad_request(
            "Since kubernetes version 1.25, disableLocalAccounts can only be set on Azure AD integration enabled cluster. "
            "Please integrate your cluster with AAD."
        )
    if _at(properties, "securityProfile.workloadIdentity.enabled") and not _at(properties, "oidcIssuerProfile.enabled"):
        raise invalid("securityProfile.workloadIdentity", "workload identity requires the OIDC issuer")


def _of_catalog(whole: Body, as_of: date) -> Iterator[Problem]:
    properties, tier = whole["properties"], str(_at(whole, "sku.tier") or "Free")
    long_term = properties.get("supportPlan") == versions.LONG_TERM_SUPPORT
    if tier in _TIERS:
        yield from catalog_clusters.check_tier(tier, long_term, "sku.tier", "supportPlan")
    yield from check_network_plugin(str(_at(properties, "networkProfile.networkPlugin")), as_of, "networkProfile.networkPlugin")


def _check_ranges(properties: Body) -> None:
    """AKS takes single addresses, too."""
    ranges = (properties.get("apiServerAccessProfile") or {}).get("authorizedIPRanges") or []
    if len(ranges) > network.MOST_RANGES:
        raise invalid(_RANGES, f"it holds at most {network.MOST_RANGES}")
    for text in ranges:
        try:
            ipaddress.ip_network(text)
        except ValueError:
            raise invalid(_RANGES, f"'{text}' isn't a valid address range") from None
    if ranges and _at(properties, "apiServerAccessProfile.enablePrivateCluster"):
        raise invalid(_RANGES, "a private cluster has none")


def _at(body: Body, path: str) -> object:
    value: object = body
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value
