"""The functions of azure-native that this project's programs call: who am I, reads of existing resources, keys, kubeconfigs."""

from collections.abc import Mapping
from typing import Any

import jwt

from azure_gpu.formats.azure_types import (
    AGENT_POOL,
    BATCH_ACCOUNT,
    BATCH_APPLICATION,
    BATCH_POOL,
    GALLERY,
    GALLERY_IMAGE,
    GALLERY_IMAGE_VERSION,
    INSIGHTS_COMPONENT,
    KEY_VAULT,
    KEY_VAULT_KEY,
    LOG_WORKSPACE,
    MAINTENANCE_CONFIGURATION,
    MANAGED_CLUSTER,
    MANAGED_ENVIRONMENT,
    ML_CODE_VERSION,
    ML_COMPUTE,
    ML_ENVIRONMENT_VERSION,
    ML_MODEL_VERSION,
    ML_ONLINE_DEPLOYMENT,
    ML_ONLINE_ENDPOINT,
    ML_WORKSPACE,
    PRIVATE_LINK_SCOPE,
    REGISTRY,
    RESOURCE_GROUP,
    STORAGE_ACCOUNT,
    SUBNET,
    USER_ASSIGNED_IDENTITY,
    VIRTUAL_MACHINE,
    VIRTUAL_NETWORK,
    AzureType,
)
from localazure.plugin.arm_client import ArmClient
from localazure.plugin.settings import Settings
from localazure.plugin.wire import Properties
from localazure.shapes import default_api_version, from_arm

CLIENT_CONFIG = "azure-native:authorization:getClientConfig"
CLIENT_TOKEN = "azure-native:authorization:getClientToken"  # noqa: S105  the function's name
SHARED_KEYS = "azure-native:operationalinsights:getSharedKeys"
# Each with the action that it is, and the arguments that go into the query, with ARM's names.
KUBECONFIGS = {
    "azure-native:containerservice:listManagedClusterAdminCredentials": (
        "listClusterAdminCredential",
        {"serverFqdn": "server-fqdn"},
    ),
    "azure-native:containerservice:listManagedClusterMonitoringUserCredentials": (
        "listClusterMonitoringUserCredential",
        {"serverFqdn": "server-fqdn"},
    ),
    "azure-native:containerservice:listManagedClusterUserCredentials": (
        "listClusterUserCredential",
        {"format": "format", "serverFqdn": "server-fqdn"},
    ),
}
READS = {
    "azure-native:app:getManagedEnvironment": MANAGED_ENVIRONMENT,
    "azure-native:applicationinsights:getComponent": INSIGHTS_COMPONENT,
    "azure-native:batch:getApplication": BATCH_APPLICATION,
    "azure-native:batch:getBatchAccount": BATCH_ACCOUNT,
    "azure-native:batch:getPool": BATCH_POOL,
    "azure-native:compute:getGallery": GALLERY,
    "azure-native:compute:getGalleryImage": GALLERY_IMAGE,
    "azure-native:compute:getGalleryImageVersion": GALLERY_IMAGE_VERSION,
    "azure-native:compute:getVirtualMachine": VIRTUAL_MACHINE,
    "azure-native:containerregistry:getRegistry": REGISTRY,
    "azure-native:containerservice:getAgentPool": AGENT_POOL,
    "azure-native:containerservice:getMaintenanceConfiguration": MAINTENANCE_CONFIGURATION,
    "azure-native:containerservice:getManagedCluster": MANAGED_CLUSTER,
    "azure-native:keyvault:getKey": KEY_VAULT_KEY,
    "azure-native:keyvault:getVault": KEY_VAULT,
    "azure-native:machinelearningservices:getCodeVersion": ML_CODE_VERSION,
    "azure-native:machinelearningservices:getCompute": ML_COMPUTE,
    "azure-native:machinelearningservices:getEnvironmentVersion": ML_ENVIRONMENT_VERSION,
    "azure-native:machinelearningservices:getModelVersion": ML_MODEL_VERSION,
    "azure-native:machinelearningservices:getOnlineDeployment": ML_ONLINE_DEPLOYMENT,
    "azure-native:machinelearningservices:getOnlineEndpoint": ML_ONLINE_ENDPOINT,
    "azure-native:machinelearningservices:getWorkspace": ML_WORKSPACE,
    "azure-native:managedidentity:getUserAssignedIdentity": USER_ASSIGNED_IDENTITY,
    "azure-native:network:getSubnet": SUBNET,
    "azure-native:network:getVirtualNetwork": VIRTUAL_NETWORK,
    "azure-native:monitor:getPrivateLinkScope": PRIVATE_LINK_SCOPE,
    "azure-native:operationalinsights:getWorkspace": LOG_WORKSPACE,
    "azure-native:resources:getResourceGroup": RESOURCE_GROUP,
    "azure-native:storage:getStorageAccount": STORAGE_ACCOUNT,
}


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
    if token in KUBECONFIGS:
        action, in_query = KUBECONFIGS[token]
        query = {name: str(arguments[given]) for given, name in in_query.items() if arguments.get(given)}
        return arm.post(
            f"{_path(token, MANAGED_CLUSTER, arguments, settings)}/{action}", default_api_version(MANAGED_CLUSTER), query
        )
    if token in READS:
        return _read(token, READS[token], arguments, arm, settings)
    known = ", ".join(sorted([CLIENT_CONFIG, CLIENT_TOKEN, SHARED_KEYS, *KUBECONFIGS, *READS]))
    raise LookupError(f"the function '{token}' is not implemented by this stand-in of azure-native; it has {known}")


def _client_config(arm: ArmClient, settings: Settings) -> Properties:
    # The token is our own and came over TLS: its claims are read, not validated.
    claims = jwt.decode(arm.token(), options={"verify_signature": False})
    return {
        "clientId": settings.client_id,
        "objectId": str(claims.get("oid", "")),
        "subscriptionId": settings.subscription_id,
        "tenantId": settings.tenant_id,
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
    return azure_type.id_of(settings.subscription_id, arguments)
