"""What Pulumi's SDK package doesn't say about ARM's bodies: wrappers, spellings, what is required or secret.

Everything else is read from the package. Source of each row: Microsoft's API descriptions at the versions that
pulumi-azure-native 3.29 uses by default, as generated in Azure/bicep-types-az; `tests/oracle` holds the result against them.

Objects are named `<module>:<Name>`, `Name` being that of the SDK's class without `Args` or `Response`.
"""

from typing import NamedTuple

# On a resource's top level these lie beside `properties`; everything else lies in it.
BESIDE_PROPERTIES = frozenset(
    {
        "etag",
        "extendedLocation",
        "id",
        "identity",
        "kind",
        "location",
        "managedBy",
        "name",
        "sku",
        "systemData",
        "tags",
        "type",
        "zones",
    }
)
# ... except in these resources.
IN_PROPERTIES = {
    "containerservice:AgentPool": frozenset({"tags", "type"}),
    "containerinstance:ContainerGroup": frozenset({"sku"}),
    "operationalinsights:Workspace": frozenset({"sku"}),
}

# ... and these lie beside `properties` in these resources alone.
ALSO_BESIDE = {
    "containerservice:ManagedCluster": frozenset({"eTag"}),
}


class Wrapper(NamedTuple):
    """An object below the top level that has a `properties` of its own."""

    beside: frozenset[str]  # what lies beside it
    required: bool


_CHILD_RESOURCE = Wrapper(frozenset({"id", "name", "type", "systemData"}), required=False)
WRAPPERS = {
    "app:PrivateEndpointConnection": _CHILD_RESOURCE,
    "batch:PrivateEndpointConnection": Wrapper(frozenset({"id", "name", "type", "systemData", "etag", "tags"}), required=False),
    "containerinstance:Container": Wrapper(frozenset({"name"}), required=True),
    "containerinstance:InitContainerDefinition": Wrapper(frozenset({"name"}), required=True),
    "containerinstance:DeploymentExtensionSpec": Wrapper(frozenset({"name"}), required=False),
    "containerregistry:PrivateEndpointConnection": _CHILD_RESOURCE,
    "containerregistry:Run": _CHILD_RESOURCE,
    "storage:ImmutabilityPolicyProperties": Wrapper(frozenset({"etag", "updateHistory"}), required=False),
    "storage:PrivateEndpointConnection": _CHILD_RESOURCE,
}

# (object, the SDK's name) -> ARM's name
RENAMED = {
    ("batch:ContainerRegistry", "userName"): "username",
    ("containerregistry:IPRule", "iPAddressOrRange"): "value",
    ("storage:Encryption", "keyVaultProperties"): "keyvaultproperties",
    ("storage:EncryptionIdentity", "encryptionFederatedIdentityClientId"): "federatedIdentityClientId",
    ("storage:EncryptionIdentity", "encryptionUserAssignedIdentity"): "userAssignedIdentity",
    ("storage:Encryption", "encryptionIdentity"): "identity",
    ("storage:IPRule", "iPAddressOrRange"): "value",
    ("storage:KeyVaultProperties", "keyName"): "keyname",
    ("storage:KeyVaultProperties", "keyVaultUri"): "keyvaulturi",
    ("storage:KeyVaultProperties", "keyVersion"): "keyversion",
    ("storage:StorageAccount", "enableHttpsTrafficOnly"): "supportsHttpsTrafficOnly",
    ("storage:StorageAccount", "enableNfsV3"): "isNfsV3Enabled",
    ("storage:StorageAccount", "networkRuleSet"): "networkAcls",
    ("storage:VirtualNetworkRule", "virtualNetworkResourceId"): "id",
}

# Objects whose names ARM writes in small letters with hyphens: the autoscaler's own flags (`scan-interval`).
HYPHENATED = frozenset({"containerservice:ManagedClusterPropertiesAutoScalerProfile"})

# Required by ARM although the SDK's class lets it be left out, as the provider or the class has a default for it.
REQUIRED = frozenset(
    {
        ("app:Job", "location"),
        ("app:JobConfiguration", "triggerType"),
        ("app:ManagedEnvironment", "location"),
        ("batch:BatchAccount", "location"),
        ("batch:TaskSchedulingPolicy", "nodeFillType"),
        ("compute:Gallery", "location"),
        ("compute:GalleryImage", "location"),
        ("compute:GalleryImageVersion", "location"),
        ("containerregistry:NetworkRuleSet", "defaultAction"),
        ("containerregistry:Registry", "location"),
        ("containerservice:MaintenanceWindow", "durationHours"),
        ("containerservice:ManagedCluster", "location"),
        ("containerservice:ManagedClusterWorkloadAutoScalerProfileVerticalPodAutoscaler", "enabled"),
        ("managedidentity:UserAssignedIdentity", "location"),
        ("operationalinsights:Workspace", "location"),
        ("resources:ResourceGroup", "location"),
        ("storage:NetworkRuleSet", "defaultAction"),
        ("storage:SasPolicy", "expirationAction"),
        ("storage:StorageAccount", "location"),
    }
)

# Taken by ARM although the SDK's class has it as an output alone.
TAKEN = frozenset({("operationalinsights:Workspace", "etag")})

# Given by the client, never answered. Source: Microsoft Learn, REST reference of each service ("secure", "not returned"); of
# Batch's pools hashicorp/terraform-provider-azurerm, internal/services/batch/batch_pool.go, which keeps what a GET lacks.
SECRETS = frozenset(
    {
        ("app:CustomDomainConfiguration", "certificatePassword"),
        ("app:CustomDomainConfiguration", "certificateValue"),
        ("app:LogAnalyticsConfiguration", "sharedKey"),
        ("app:Secret", "value"),
        ("batch:AzureBlobFileSystemConfiguration", "accountKey"),
        ("batch:AzureBlobFileSystemConfiguration", "sasKey"),
        ("batch:AzureFileShareConfiguration", "accountKey"),
        ("batch:CIFSMountConfiguration", "password"),
        ("batch:ContainerRegistry", "password"),
        ("batch:FixedScaleSettings", "nodeDeallocationOption"),  # no secret: it tells what to do once
        ("batch:LinuxUserConfiguration", "sshPrivateKey"),
        ("batch:UserAccount", "password"),
        ("batch:VMExtension", "protectedSettings"),
        ("containerinstance:AzureFileVolume", "storageAccountKey"),
        ("containerinstance:DeploymentExtensionSpec", "protectedSettings"),
        ("containerinstance:EnvironmentVariable", "secureValue"),
        ("containerinstance:ImageRegistryCredential", "password"),
        ("containerinstance:LogAnalytics", "workspaceKey"),
        ("containerinstance:Volume", "secret"),
        ("containerregistry:SecretObject", "value"),
        ("containerservice:ManagedClusterAADProfile", "serverAppSecret"),
        ("containerservice:ManagedClusterServicePrincipalProfile", "secret"),
        ("containerservice:ManagedClusterWindowsProfile", "adminPassword"),
    }
)

# Unions of objects: the property that tells them apart, by the SDK's names of the union's members.
DISCRIMINATORS = {
    frozenset({"DockerBuildRequest", "EncodedTaskRunRequest", "FileTaskRunRequest", "TaskRunRequest"}): "type",
}

# ARM takes further properties there.
OPEN_OBJECTS = frozenset({"operationalinsights:WorkspaceFeatures"})
