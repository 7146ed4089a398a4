"""Made-up answers of Azure while a program is recorded: ids and outputs by which inputs refer to a resource.

None of them is shown. Existing resources are assumed to be as the settings expect.
"""

import base64
import dataclasses
import re
from collections.abc import Iterator
from typing import Any

from azure_gpu.aks.existing import ClusterFacts
from azure_gpu.aks.spec import ClusterSpec
from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import azure_types
from azure_gpu.formats.azure_types import BY_TOKEN
from azure_gpu.stack.look_ups import ASSUMED, BY_PROVIDER, LookUps

_RECORDED = re.compile(r"/recorded/(\d{6})")
_OF_IDENTITY = re.compile(r"(?:principal|client)-of-(?:/recorded/)?(\d{6})")
_KUBELET = "kubelet-of-"
DEPLOYER = "deployer"  # the identity that runs the program
_KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{name: cluster, cluster: {server: "https://cluster.example:443", certificate-authority-data: Y2E=}}]
users: [{name: clusterUser, user: {auth-provider: {name: azure}}}]
contexts: [{name: cluster, context: {cluster: cluster, user: clusterUser}}]
current-context: cluster
"""


def id_of(number: int) -> str:
    """The id of the resource with this number."""
    return f"/recorded/{number:06}"


def numbers_in(text: str) -> Iterator[int]:
    """The resources whose id, principal or client stands in a text."""
    yield from (int(found) for found in _RECORDED.findall(text))
    yield from (int(found) for found in _OF_IDENTITY.findall(text))


def server_of(registry: str) -> str:
    """The server of a registry, by its name."""
    return f"{registry}.azurecr.io"


def kubelet_of(cluster: str) -> str:
    """The principal that the nodes of a cluster pull images as. `cluster`: its name in Azure."""
    return f"{_KUBELET}{cluster}"


def cluster_of(principal: str) -> str:
    """The cluster of such a principal; empty: it is another one."""
    return principal.removeprefix(_KUBELET) if principal.startswith(_KUBELET) else ""


def outputs(token: str, name: str, number: int, inputs: dict[str, Any]) -> dict[str, Any]:
    """The outputs that Azure would add to the inputs."""
    found: dict[str, Any] = {
        **inputs,
        "principalId": f"principal-of-{number:06}",
        "clientId": f"client-of-{number:06}",
        "tenantId": "tenant",
        "customerId": id_of(number),
    }
    if token in BY_TOKEN:
        found["name"] = inputs.get(BY_TOKEN[token].name_parameter, name)
    if token == azure_types.REGISTRY.token:
        found["loginServer"] = server_of(inputs["registryName"])
    if "identity" in inputs and isinstance(inputs["identity"], dict):  # a list of ids going in, a map by id coming out
        given: dict[str, Any] = inputs["identity"]
        ids = given.get("userAssignedIdentities") or []
        found["identity"] = {
            "type": given.get("type", "SystemAssigned"),
            "userAssignedIdentities": {each: {} for each in ids if isinstance(each, str)},
            "principalId": f"principal-of-{number:06}",
        }
    if token == azure_types.ML_ONLINE_ENDPOINT.token:
        found["properties"] = {**inputs["properties"], "scoringUri": "https://endpoint.example/score"}
        found["systemData"] = {"createdAt": "2026-01-01T00:00:00Z"}
    return found


def answer(token: str, args: dict[str, Any], location: str, subscription: str) -> dict[str, Any]:
    """The answer of a look-up. `location`, `subscription`: of the found resource."""
    function = token.rpartition(":")[2]
    kubeconfig = base64.b64encode(_KUBECONFIG.encode()).decode()
    known: dict[str, dict[str, Any]] = {
        "getClientConfig": {"objectId": DEPLOYER, "clientId": "", "subscriptionId": "", "tenantId": ""},
        "getManagedCluster": {
            "oidcIssuerProfile": {"enabled": True, "issuerURL": "https://issuer.example/"},
            "identityProfile": {"kubeletidentity": {"objectId": kubelet_of(str(args.get("resourceName", "")))}},
        },
        "listManagedClusterUserCredentials": {"kubeconfigs": [{"name": "clusterUser", "value": kubeconfig}]},
        "getUserAssignedIdentity": _identity(args),
        "getPrivateLinkScope": {"privateEndpointConnections": [{"privateLinkServiceConnectionState": {"status": "Approved"}}]},
        "getVault": {
            "properties": {"enablePurgeProtection": True, "enableRbacAuthorization": True, "vaultUri": "https://vault.example/"}
        },
        "getKey": {
            "kty": "RSA",
            "keyUri": "https://vault.example/keys/key",
            "keyUriWithVersion": "https://vault.example/keys/key/version",
        },
        "getRegistry": {"loginServer": server_of(str(args.get("registryName", "")))},
    }
    named = next((str(value) for key, value in args.items() if key.endswith("Name") and key != "resourceGroupName"), "")
    azure_type = BY_TOKEN.get(token.replace(":get", ":"))
    id_ = azure_type.id_of(subscription, args) if azure_type is not None else named
    return {"id": id_, "name": named, "location": location, **args, **known.get(function, {})}


def _identity(args: dict[str, Any]) -> dict[str, Any]:
    """An existing identity; its principal is its name, so that a role shows it."""
    name = str(args.get("resourceName", ""))
    return {"principalId": principal_of(name), "clientId": f"client of {name}", "tenantId": "tenant"}


def principal_of(identity: str) -> str:
    """The principal of an identity that exists, by its name."""
    return f"principal of {identity}"


def look_ups() -> LookUps:
    """For a plan: what exists is taken to be as the settings expect it."""
    return dataclasses.replace(ASSUMED, foundation=BY_PROVIDER.foundation, cluster=_cluster)


def _cluster(spec: ClusterSpec) -> tuple[ClusterFacts, list[Problem]]:
    if spec.existing is None:
        return ClusterFacts(), []
    return ClusterFacts(issuer_url="https://issuer.example/", kubelet_object_id=kubelet_of(spec.existing.name)), []
