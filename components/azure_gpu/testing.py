"""Mocks for unit tests of a program that uses these components: no engine, no Azure, no login.

    mocks = AzureMocks()
    pulumi.runtime.set_mocks(mocks)

Resources get ARM ids, and what Azure would set of them as far as the components read it; functions answer as in an empty
subscription. `docs/testing.md` has a whole test.
"""

import base64
from collections.abc import Callable, Mapping
from typing import Any, cast

import pulumi
from pulumi.runtime import MockCallArgs, MockResourceArgs

from azure_gpu.formats.azure_types import BY_TOKEN, AzureType

SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"
_KUBECONFIG = """
clusters: [{name: own, cluster: {server: "https://cluster.example:443", certificate-authority-data: Y2E=}}]
users: [{name: own, user: {}}]
contexts: [{name: own, context: {cluster: own, user: own}}]
current-context: own
"""
Computed = Callable[[str, Mapping[str, Any]], dict[str, Any]]
# What Azure sets, by type, from a resource's name in the program and its inputs.
COMPUTED: Mapping[str, Computed] = {
    "azure-native:managedidentity:UserAssignedIdentity": lambda name, _: {
        "principalId": f"principal-of-{name}",
        "clientId": f"client-of-{name}",
        "tenantId": "tenant-of-identity",
    },
    "azure-native:containerregistry:Registry": lambda _, inputs: {
        "loginServer": f"{inputs['registryName']}.azurecr.io",
        "creationDate": "2026-11-21T08:00:00Z",
    },
    "azure-native:machinelearningservices:OnlineEndpoint": lambda _, inputs: {
        "properties": {**inputs["properties"], "scoringUri": f"https://{inputs['endpointName']}.example/score"},
        "systemData": {"createdAt": "2026-11-20T00:00:00Z"},
    },
}
# What functions answer, by token, or what gives it for their arguments.
ANSWERS: Mapping[str, dict[str, Any] | Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "azure-native:authorization:getClientConfig": {
        "objectId": "00000000-0000-0000-0000-000000000001",
        "clientId": "",
        "subscriptionId": SUBSCRIPTION,
        "tenantId": "",
    },
    "azure-native:resources:getResourceGroup": lambda args: {"location": "westeurope", "name": args["resourceGroupName"]},
    "azure-native:managedidentity:getUserAssignedIdentity": {"id": "/identity", "principalId": "principal", "clientId": "client"},
    "azure-native:containerregistry:getRegistry": {"id": "/registry", "loginServer": "images.azurecr.io"},
    "azure-native:operationalinsights:getWorkspace": {"id": "/logs", "customerId": "customer"},
    "azure-native:monitor:getPrivateLinkScope": {
        "privateEndpointConnections": [{"privateLinkServiceConnectionState": {"status": "Approved"}}]
    },
    "azure-native:keyvault:getVault": {
        "location": "westeurope",
        "properties": {
            "enablePurgeProtection": True,
            "enableRbacAuthorization": True,
            "vaultUri": "https://company-keys.vault.azure.net/",
        },
    },
    "azure-native:keyvault:getKey": {
        "kty": "RSA",
        "keyUri": "https://company-keys.vault.azure.net/keys/data",
        "keyUriWithVersion": "https://company-keys.vault.azure.net/keys/data/0123456789abcdef0123456789abcdef",
    },
    "azure-native:batch:getBatchAccount": {"location": "westeurope", "poolAllocationMode": "BatchService", "autoStorage": None},
    "azure-native:app:getManagedEnvironment": {
        "location": "westeurope",
        "workloadProfiles": [{"name": "gpu-t4", "workloadProfileType": "Consumption-GPU-NC8as-T4"}],
    },
    "azure-native:machinelearningservices:getWorkspace": {"location": "westeurope", "publicNetworkAccess": "Enabled"},
    "azure-native:containerservice:getManagedCluster": lambda args: {
        "oidcIssuerProfile": {"enabled": True, "issuerURL": f"https://issuer.example/{args['resourceName']}/"},
        "identityProfile": {"kubeletidentity": {"objectId": f"kubelet-of-{args['resourceName']}"}},
    },
    "azure-native:containerservice:listManagedClusterUserCredentials": {
        "kubeconfigs": [{"name": "clusterUser", "value": base64.b64encode(_KUBECONFIG.encode()).decode()}]
    },
}


class AzureMocks(pulumi.runtime.Mocks):
    """For `pulumi.runtime.set_mocks`. `answers`: of functions, beside and before those of an empty subscription."""

    def __init__(self, answers: Mapping[str, dict[str, Any]] | None = None) -> None:
        self.resources: list[MockResourceArgs] = []
        """What the program has declared, in order: `typ`, `name`, `inputs` by wire name."""
        self._answers = {**ANSWERS, **(answers or {})}

    def named(self, name: str) -> Mapping[str, Any]:
        """The inputs of the resource with this logical name, by wire name. KeyError without one."""
        for each in self.resources:
            if each.name == name:
                return cast(Mapping[str, Any], each.inputs)
        raise KeyError(f"{name} isn't declared; these are: {', '.join(each.name for each in self.resources)}")

    def new_resource(self, args: MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        """Keeps a resource, and answers its id and outputs."""
        self.resources.append(args)
        inputs = cast(dict[str, Any], args.inputs)
        azure_type = BY_TOKEN.get(args.typ)
        own = str(inputs.get(azure_type.name_parameter, args.name)) if azure_type is not None else args.name
        outputs = {"name": own, **inputs, **COMPUTED.get(args.typ, lambda *_: {})(args.name, inputs)}
        if "identity" in inputs:  # a list of ids going in, a map by id coming out
            given = inputs["identity"].get("userAssignedIdentities", ())
            outputs["identity"] = {**inputs["identity"], "userAssignedIdentities": {each: {} for each in given}}
        return _id(azure_type, own, inputs), outputs

    def call(self, args: MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]] | None]:
        """Answers a function; one that isn't known fails as where the provider isn't logged in."""
        answer = self._answers.get(args.token)
        if answer is None:
            return {}, [("", f"AzureMocks has no answer of {args.token}; pass one: answers={{{args.token!r}: {{...}}}}")]
        return (answer if isinstance(answer, dict) else answer(cast(Mapping[str, Any], args.args))), []


def _id(azure_type: AzureType | None, name: str, inputs: Mapping[str, Any]) -> str:
    try:
        return azure_type.id_of(SUBSCRIPTION, inputs) if azure_type is not None else f"/{name}"
    except KeyError:  # the provider makes up a name
        return f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{inputs.get('resourceGroupName', name)}/{name}"
