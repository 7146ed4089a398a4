"""Finds resources that are reachable from the internet.

A public endpoint that accepts only identities isn't a violation by default; the setting `identity_is_enough` changes that. A
public endpoint without authentication always is one.
"""

import ipaddress
from collections.abc import Iterator

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.aks import network
from azure_gpu.catalog.services.machine_learning import compute
from azure_gpu.catalog.sources import Source
from azure_gpu.formats import azure_types
from azure_gpu_policies import keys, origins
from azure_gpu_policies.known import UNKNOWN, at, entries, is_open, is_word, text
from azure_gpu_policies.machines import CONTAINER_APP
from azure_gpu_policies.model import PolicySettings, policy, switch
from azure_gpu_policies.resources import Resource

_NETWORK_ACCESS = "publicNetworkAccess"


def _address(resource: Resource, _: PolicySettings) -> Iterator[Problem]:
    """Finds workloads with a public address and without authentication."""
    found = resource.properties
    if resource.type == azure_types.CONTAINER_GROUP.token and is_word(at(found, "ipAddress", "type"), "Public"):
        yield Problem(
            path=resource.path("ipAddress.type"),
            message="the containers' ports are reachable from the internet, and Container Instances authenticates nobody",
            value="Public",
            allowed="Private with subnetIds, or no ipAddress",
            fix="remove ipAddress, or put the group into a subnet behind a gateway",
            source=str(origins.GROUP_ADDRESS),
        )
    if resource.type == azure_types.ML_COMPUTE.token:
        access = at(found, "properties", "properties", "remoteLoginPortPublicAccess")
        if is_word(access, "Enabled") or _has_open_ssh(found, access):
            yield Problem(
                path=resource.path("properties.properties.remoteLoginPortPublicAccess"),
                message="the SSH port of each node is open to the internet",
                value=access,
                allowed="Disabled",
                fix="write Disabled",
                source=str(origins.ML_REMOTE_LOGIN),
            )
    if resource.type == CONTAINER_APP and at(found, "configuration", "ingress", "external") is True:
        ingress = at(found, "configuration", "ingress")
        rules, certificates = at(ingress, "ipSecurityRestrictions"), at(ingress, "clientCertificateMode")
        known = not is_open(rules) and certificates is not UNKNOWN
        if known and not _restricts(rules) and not is_word(certificates, "require"):
            yield Problem(
                path=resource.path("configuration.ingress.external"),
                message="the app is reachable from the internet, unless it authenticates callers itself",
                value=True,
                allowed="false, or true with ipSecurityRestrictions that allow some addresses",
                fix="write external: false, or list the allowed addresses in ipSecurityRestrictions",
                source=str(origins.APP_INGRESS),
            )


def _has_open_ssh(cluster: object, access: object) -> bool:
    """Whether the SSH port is open by default: without a setting, or with NotSpecified, for a cluster without a network."""
    inner = at(cluster, "properties", "properties")
    by_default = access is None or is_word(access, "NotSpecified")
    # By default nodes have public addresses.
    addresses = at(inner, "enableNodePublicIp")
    is_cluster = is_word(at(cluster, "properties", "computeType"), compute.CLUSTER)
    return by_default and is_cluster and at(inner, "subnet") is None and (addresses is None or addresses is True)


def _restricts(rules: object) -> bool:
    """Whether an app's rules restrict access; rules that allow addresses deny all others."""
    ranges = {
        action: [text(each, "ipAddressRange") for _, each in entries(rules) if is_word(at(each, "action"), action)]
        for action in ("Allow", "Deny")
    }
    allows_some = bool(ranges["Allow"]) and not any(_is_everybody(each) for each in ranges["Allow"])
    return allows_some or any(_is_everybody(each) for each in ranges["Deny"])


def _anonymous(resource: Resource, _: PolicySettings) -> Iterator[Problem]:
    """Finds data with anonymous read access."""
    found = resource.properties
    if resource.type == azure_types.STORAGE_ACCOUNT.token and at(found, "allowBlobPublicAccess") is True:
        yield Problem(
            path=resource.path("allowBlobPublicAccess"),
            message="containers of this account can be made publicly readable",
            value=True,
            allowed="false",
            fix="write false, and assign the role Storage Blob Data Reader to readers",
            source=str(origins.BLOB_ACCESS),
        )
    if resource.type == azure_types.BLOB_CONTAINER.token:
        access = text(found, "publicAccess")
        if access and not is_word(access, "None"):
            yield Problem(
                path=resource.path("publicAccess"),
                message="the container is publicly readable",
                value=access,
                allowed="None",
                fix="write None, and assign the role Storage Blob Data Reader to readers",
                source=str(origins.BLOB_ACCESS),
            )
    if resource.type == azure_types.REGISTRY.token and at(found, "anonymousPullEnabled") is True:
        yield Problem(
            path=resource.path("anonymousPullEnabled"),
            message="the images of this registry are publicly readable",
            value=True,
            allowed="false",
            fix="write false, and assign the role AcrPull",
            source=str(origins.REGISTRY_PULL),
        )


def _ml_endpoint(resource: Resource, settings: PolicySettings) -> Iterator[Problem]:
    access = at(resource.properties, "properties", _NETWORK_ACCESS)
    if resource.type != azure_types.ML_ONLINE_ENDPOINT.token or not _is_public(access):
        return
    if settings["identity_is_enough"] and not any(True for _ in keys.ml_endpoint(resource)):
        return
    yield _public(resource, f"properties.{_NETWORK_ACCESS}", access, "the endpoint", origins.ML_ENDPOINT_NETWORK)


def _ml_workspace(resource: Resource, settings: PolicySettings) -> Iterator[Problem]:
    """Checks workspaces, which accept only identities. The API doesn't document the default, so only an explicit value counts."""
    access = at(resource.properties, _NETWORK_ACCESS)
    is_one = resource.type == azure_types.ML_WORKSPACE.token
    if is_one and is_word(access, "Enabled") and not settings["identity_is_enough"]:
        yield _public(resource, _NETWORK_ACCESS, access, "the workspace", origins.ML_WORKSPACE_NETWORK)


def _kubernetes_api(resource: Resource, settings: PolicySettings) -> Iterator[Problem]:
    found = resource.properties
    profile = at(found, "apiServerAccessProfile")
    ranges, private = at(profile, "authorizedIPRanges"), at(profile, "enablePrivateCluster")
    if resource.type != azure_types.MANAGED_CLUSTER.token or UNKNOWN in (profile, ranges, private) or private is True:
        return
    if _is_word_disabled(at(found, _NETWORK_ACCESS)) or at(found, _NETWORK_ACCESS) is UNKNOWN:
        return
    named = [(index, str(each)) for index, each in entries(profile, "authorizedIPRanges")]
    has_unknown = is_open(ranges)
    everybody = [(index, each) for index, each in named if _is_everybody(each)]
    if (named or has_unknown) and not everybody:
        return
    if settings["identity_is_enough"] and not everybody and not any(True for _ in keys.cluster(resource)):
        return
    index, value = everybody[0] if everybody else (0, None)
    yield Problem(
        path=resource.path(f"apiServerAccessProfile.authorizedIPRanges{f'[{index}]' if everybody else ''}"),
        message="the cluster's API server is reachable from the internet",
        value=value,
        allowed="addresses of your own, such as 203.0.113.0/24, or enablePrivateCluster: true",
        fix="list the addresses of your people and pipelines, or make the cluster private",
        source=str(network.RANGES_PAGE),
    )


def _storage(resource: Resource, settings: PolicySettings) -> Iterator[Problem]:
    found = resource.properties
    access, action = at(found, _NETWORK_ACCESS), at(found, "networkRuleSet", "defaultAction")
    if resource.type != azure_types.STORAGE_ACCOUNT.token or not _is_public(access) or action is UNKNOWN:
        return
    if is_word(action, "Deny") or (settings["identity_is_enough"] and not any(True for _ in keys.storage(resource))):
        return
    yield _public(
        resource, _NETWORK_ACCESS, access, "the storage account", origins.STORAGE_NETWORK, "networkRuleSet.defaultAction: Deny"
    )


def _registry(resource: Resource, settings: PolicySettings) -> Iterator[Problem]:
    found = resource.properties
    access, action = at(found, _NETWORK_ACCESS), at(found, "networkRuleSet", "defaultAction")
    if resource.type != azure_types.REGISTRY.token or not _is_public(access) or action is UNKNOWN or is_word(action, "Deny"):
        return
    if settings["identity_is_enough"] and not any(True for _ in keys.registry(resource)):
        return
    yield _public(
        resource, _NETWORK_ACCESS, access, "the registry", origins.REGISTRY_NETWORK, "networkRuleSet.defaultAction: Deny"
    )


def _batch(resource: Resource, settings: PolicySettings) -> Iterator[Problem]:
    found = resource.properties
    access, action = at(found, _NETWORK_ACCESS), at(found, "networkProfile", "accountAccess", "defaultAction")
    if resource.type != azure_types.BATCH_ACCOUNT.token or not _is_public(access) or action is UNKNOWN or is_word(action, "Deny"):
        return
    if settings["identity_is_enough"] and not any(True for _ in keys.batch_account(resource)):
        return
    what = "networkProfile.accountAccess.defaultAction: Deny"
    yield _public(resource, _NETWORK_ACCESS, access, "the Batch account", origins.BATCH_NETWORK, what)


def _endpoint(resource: Resource, settings: PolicySettings) -> Iterator[Problem]:
    for rule in (_ml_endpoint, _ml_workspace, _storage, _registry, _batch):
        yield from rule(resource, settings)


def _is_public(access: object) -> bool:
    """Whether network access is public, which is the default of Azure's services."""
    return access is not UNKNOWN and not _is_word_disabled(access) and not is_word(access, "SecuredByPerimeter")


def _is_word_disabled(access: object) -> bool:
    return is_word(access, "Disabled")


def _is_everybody(text_: str) -> bool:
    try:
        return ipaddress.ip_network(text_, strict=False).prefixlen == 0
    except ValueError:
        return False


def _public(resource: Resource, path: str, value: object, what: str, source: Source, instead: str = "") -> Problem:
    or_else = f", or {instead} with the networks that may" if instead else ""
    return Problem(
        path=resource.path(path),
        message=f"{what} is reachable from the internet",
        value=value,
        allowed=f"Disabled{or_else}",
        fix=f"write Disabled and add a private endpoint{or_else}",
        source=str(source),
    )


_IDENTITY = switch(
    "identity_is_enough",
    "Whether an endpoint may be public if it accepts only Entra identities and no keys; false: private networks only",
    True,
)

POLICIES = (
    policy("public-address", of_resource=_address),
    policy("anonymous-read", of_resource=_anonymous),
    policy("public-endpoint", of_resource=_endpoint, own_settings=(_IDENTITY,)),
    policy("public-kubernetes-api", of_resource=_kubernetes_api, own_settings=(_IDENTITY,)),
)
