"""The functions of azure-native that this project's programs call: who am I, reads of existing resources, keys, kubeconfigs."""

from collections.abc import Mapping
from typing import Any

import jwt

from azure_gpu.formats.azure_types import BY_TOKEN, LOG_WORKSPACE, MANAGED_CLUSTER, AzureType
from localazure.plugin.arm_client import ArmClient
from localazure.plugin.settings import Settings
from localazure.plugin.wire import Properties
from localazure.shapes import default_api_version, from_arm

CLIENT_CONFIG = "azure-native:authorization:getClientConfig"
CLIENT_TOKEN = "azure-native:authorization:getClientToken"  # noqa: S105  the function's name
SHARED_KEYS = "azure-native:operationalinsights:getSharedKeys"
KUBECONFIGS = "azure-native:containerservice:listManagedClusterUserCredentials"
_IN_QUERY = {"format": "format", "serverFqdn": "server-fqdn"}
READS = {token[: at + 1] + "get" + token[at + 1 :]: each for token, each in BY_TOKEN.items() for at in [token.rindex(":")]}


def invoke(token: str, arguments: Mapping[str, Any], arm: ArmClient, settings: Settings) -> Properties:
    """The result of one function. LookupError for a function that isn't here; ValueError for wrong arguments or nothing found."""
    if token == CLIENT_CONFIG:
        return _client_config(arm, settings)
    if token == CLIENT_TOKEN:
        if arguments.get("endpoint"):
            raise LookupError(f"the function '{token}' gives tokens for Resource Manager only")
        return {"token": arm.token()}
    if token == SHARED_KEYS:
        path = _path(token, LOG_WORKSPACE, arguments, settings)
        return arm.post(f"{path}/sharedKeys", default_api_version(LOG_WORKSPACE))
    if token == KUBECONFIGS:
        query = {name: str(arguments[given]) for given, name in _IN_QUERY.items() if arguments.get(given)}
        path = _path(token, MANAGED_CLUSTER, arguments, settings)
        return arm.post(f"{path}/listClusterUserCredential", default_api_version(MANAGED_CLUSTER), query)
    if token in READS:
        return _read(token, READS[token], arguments, arm, settings)
    known = ", ".join(sorted([CLIENT_CONFIG, CLIENT_TOKEN, SHARED_KEYS, KUBECONFIGS, *READS]))
    raise LookupError(f"the function '{token}' is not implemented by this stand-in of azure-native; it has {known}")


def _client_config(arm: ArmClient, settings: Settings) -> Properties:
    # The token is our own and came over TLS: its claims are read, not validated.
    claims = jwt.decode(arm.token(), options={"verify_signature": False})
    return {
        "clientId": settings["clientId"],
        "objectId": str(claims.get("oid", "")),
        "subscriptionId": settings["subscriptionId"],
        "tenantId": settings["tenantId"],
    }


def _read(token: str, azure_type: AzureType, arguments: Mapping[str, Any], arm: ArmClient, settings: Settings) -> Properties:
    path = _path(token, azure_type, arguments, settings)
    version = default_api_version(azure_type)
    resource = arm.get(path, version)
    if resource is None:
        raise ValueError(f"{token}: there is no resource '{path}'")
    outputs = {name: value for name, value in from_arm(azure_type, resource).items() if value is not None}
    return {**outputs, "azureApiVersion": version}


def _path(token: str, azure_type: AzureType, arguments: Mapping[str, Any], settings: Settings) -> str:
    missing = [name for name in azure_type.path_parameters if not arguments.get(name)]
    if missing:
        raise ValueError(f"{token}: missing required property '{missing[0]}'")
    return azure_type.id_of(settings["subscriptionId"], arguments)
