"""Finds resources that are reachable from the internet.

A public endpoint that accepts only identities isn't a violation by default; the setting `identity_is_enough` changes that. A
public endpoint without authentication always is one.
"""

import ipaddress
from collections.abc import Iterator
from typing import NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.machine_learning import compute
from azure_gpu.formats import azure_types
from azure_gpu_policies import keys
from azure_gpu_policies.known import UNKNOWN, at, entries, is_open, is_word, text
from azure_gpu_policies.machines import CONTAINER_APP
from azure_gpu_policies.model import PolicySettings, policy, switch
from azure_gpu_policies.resources import Resource
from azure_gpu_policies.rules import of_rows, problem, problems

_NETWORK_ACCESS = "publicNetworkAccess"


def _address(resource: Resource, _: PolicySettings) -> Iterator[Problem]:
    """Finds workloads with a public address and without authentication."""
    found = resource.properties
    yield from problems("public-address", resource)
    if resource.type == azure_types.ML_COMPUTE.token:
        access = at(found, "properties", "properties", "remoteLoginPortPublicAccess")
        if is_word(access, "Enabled") or _has_open_ssh(found, access):
            yield problem("public-address/ssh", resource.path("properties.properties.remoteLoginPortPublicAccess"), access)
    if resource.type == CONTAINER_APP and at(found, "configuration", "ingress", "external") is True:
        ingress = at(found, "configuration", "ingress")
        rules, certificates = at(ingress, "ipSecurityRestrictions"), at(ingress, "clientCertificateMode")
        known = not is_open(rules) and certificates is not UNKNOWN
        if known and not _restricts(rules) and not is_word(certificates, "require"):
            yield problem("public-address/app", resource.path("configuration.ingress.external"), True)


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
    if settings["identity_is_enough"] and not everybody and not any(True for _ in problems("aks-local-accounts", resource)):
        return
    index, value = everybody[0] if everybody else (0, None)
    path = resource.path(f"apiServerAccessProfile.authorizedIPRanges{f'[{index}]' if everybody else ''}")
    yield problem("public-kubernetes-api", path, value)


class _Endpoint(NamedTuple):
    """How a service has a public endpoint."""

    action: str = ""  # the path of what may deny all other networks; none
    keys: str = ""  # the policy that finds the keys that it accepts; none: it accepts none
    path: str = _NETWORK_ACCESS
    by_default: bool = True  # whether it is public where nothing is set


# The API of workspaces doesn't document the default.
_ENDPOINTS = {
    azure_types.ML_ONLINE_ENDPOINT.token: _Endpoint(keys="ml-endpoint-keys", path=f"properties.{_NETWORK_ACCESS}"),
    azure_types.ML_WORKSPACE.token: _Endpoint(by_default=False),
    azure_types.STORAGE_ACCOUNT.token: _Endpoint("networkRuleSet.defaultAction", "storage-shared-key"),
    azure_types.REGISTRY.token: _Endpoint("networkRuleSet.defaultAction", "registry-admin-user"),
    azure_types.BATCH_ACCOUNT.token: _Endpoint("networkProfile.accountAccess.defaultAction", "batch-shared-key"),
}


def _endpoint(resource: Resource, settings: PolicySettings) -> Iterator[Problem]:
    of = _ENDPOINTS.get(resource.type)
    access = at(resource.properties, *of.path.split(".")) if of else None
    if of is None or not (_is_public(access) if of.by_default else is_word(access, "Enabled")):
        return
    action = at(resource.properties, *of.action.split(".")) if of.action else None
    found = keys.batch_account(resource) if of.keys == "batch-shared-key" else problems(of.keys, resource)
    if action is UNKNOWN or is_word(action, "Deny") or (settings["identity_is_enough"] and not any(True for _ in found)):
        return
    or_else = f", or {of.action}: Deny with the networks that may" if of.action else ""
    yield problem("public-endpoint", resource.path(of.path), access, resource.type, or_else=or_else)


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


_IDENTITY = switch(
    "identity_is_enough",
    "Whether an endpoint may be public if it accepts only Entra identities and no keys; false: private networks only",
    True,
)

POLICIES = (
    policy("public-address", of_resource=_address),
    of_rows("anonymous-read"),
    policy("public-endpoint", of_resource=_endpoint, own_settings=(_IDENTITY,)),
    policy("public-kubernetes-api", of_resource=_kubernetes_api, own_settings=(_IDENTITY,)),
)
