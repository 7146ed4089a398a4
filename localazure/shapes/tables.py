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
    "compute:VirtualMachineExtension": frozenset({"type"}),
    "containerinstance:ContainerGroup": frozenset({"sku"}),
    "monitor:AutoscaleSetting": frozenset({"name"}),
    "operationalinsights:Workspace": frozenset({"sku"}),
}

# ... and these lie beside `properties` in these resources alone.
ALSO_BESIDE = {
    "consumption:Budget": frozenset({"eTag"}),
    "compute:VirtualMachine": frozenset({"placement", "plan", "resources"}),
    "containerservice:ManagedCluster": frozenset({"eTag"}),
    "kubernetesconfiguration:Extension": frozenset({"plan"}),
}


class Wrapper(NamedTuple):
    """An object below the top level that has a `properties` of its own."""

    beside: frozenset[str]  # what lies beside it
    required: bool


_CHILD_RESOURCE = Wrapper(frozenset({"id", "name", "type", "systemData"}), required=False)
_OF_NETWORK = Wrapper(
    frozenset({"etag", "extendedLocation", "id", "identity", "kind", "location", "name", "sku", "tags", "type", "zones"}),
    required=False,
)
_NETWORK_OBJECTS = (  # parts of a network and separate resources alike
    "ApplicationGatewayBackendAddressPool ApplicationGatewayIPConfiguration ApplicationSecurityGroup BackendAddressPool "
    "BastionHostIPConfiguration Delegation FlowLog FrontendIPConfiguration IPConfiguration IPConfigurationProfile "
    "InboundNatRule LoadBalancerBackendAddress NatGateway NetworkInterface NetworkInterfaceIPConfiguration "
    "NetworkInterfaceTapConfiguration NetworkSecurityGroup PrivateDnsZoneConfig PrivateEndpoint PrivateEndpointConnection "
    "PrivateEndpointIPConfiguration PrivateLinkService PrivateLinkServiceConnection PrivateLinkServiceIpConfiguration "
    "PublicIPAddress ResourceNavigationLink Route RouteTable SecurityRule ServiceAssociationLink ServiceEndpointPolicy "
    "ServiceEndpointPolicyDefinition Subnet VirtualNetworkPeering VirtualNetworkTap"
)
WRAPPERS = {
    **{f"network:{name}": _OF_NETWORK for name in _NETWORK_OBJECTS.split()},
    "app:PrivateEndpointConnection": _CHILD_RESOURCE,
    "batch:PrivateEndpointConnection": Wrapper(frozenset({"id", "name", "type", "systemData", "etag", "tags"}), required=False),
    "compute:VirtualMachineExtension": Wrapper(frozenset({"id", "location", "name", "systemData", "tags"}), required=False),
    "compute:NetworkInterfaceReference": Wrapper(frozenset({"id"}), required=False),
    "compute:VirtualMachineNetworkInterfaceConfiguration": Wrapper(frozenset({"name"}), required=False),
    "compute:VirtualMachineNetworkInterfaceIPConfiguration": Wrapper(frozenset({"name"}), required=False),
    "compute:VirtualMachinePublicIPAddressConfiguration": Wrapper(frozenset({"name", "sku"}), required=False),
    "containerinstance:Container": Wrapper(frozenset({"name"}), required=True),
    "containerinstance:InitContainerDefinition": Wrapper(frozenset({"name"}), required=True),
    "containerinstance:DeploymentExtensionSpec": Wrapper(frozenset({"name"}), required=False),
    "containerregistry:PrivateEndpointConnection": _CHILD_RESOURCE,
    "keyvault:PrivateEndpointConnectionItem": Wrapper(frozenset({"id", "etag"}), required=False),
    "machinelearningservices:PrivateEndpointConnection": Wrapper(
        frozenset({"id", "name", "type", "systemData", "identity", "location", "sku", "tags"}), required=False
    ),
    "machinelearningservices:SharedPrivateLinkResource": Wrapper(frozenset({"name"}), required=False),
    "containerregistry:Run": _CHILD_RESOURCE,
    "storage:ImmutabilityPolicyProperties": Wrapper(frozenset({"etag", "updateHistory"}), required=False),
    "storage:PrivateEndpointConnection": _CHILD_RESOURCE,
}

# (object, the SDK's name) -> ARM's name
RENAMED = {
    ("applicationinsights:Component", "applicationType"): "Application_Type",
    ("applicationinsights:Component", "flowType"): "Flow_Type",
    ("applicationinsights:Component", "requestSource"): "Request_Source",
    ("applicationinsights:PrivateLinkScopedResource", "resourceId"): "ResourceId",
    ("applicationinsights:PrivateLinkScopedResource", "scopeId"): "ScopeId",
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

# Resources whose properties ARM writes with a capital letter; those of `RENAMED` and these excepted.
CAPITALISED = {
    "applicationinsights:Component": frozenset(
        {"provisioningState", "publicNetworkAccessForIngestion", "publicNetworkAccessForQuery"}
    )
}

# Inputs of the SDK that are parameters of the request, and no part of a body.
IN_QUERY = frozenset({("machinelearningservices:Datastore", "skipValidation")})

# Objects whose names ARM writes in small letters with hyphens: the autoscaler's own flags (`scan-interval`).
HYPHENATED = frozenset({"containerservice:ManagedClusterPropertiesAutoScalerProfile"})

# Required by ARM although the SDK's class lets it be left out, as the provider or the class has a default for it.
REQUIRED = frozenset(
    {
        ("app:Job", "location"),
        ("applicationinsights:Component", "applicationType"),
        ("applicationinsights:Component", "location"),
        ("app:JobConfiguration", "triggerType"),
        ("app:ManagedEnvironment", "location"),
        ("batch:BatchAccount", "location"),
        ("batch:TaskSchedulingPolicy", "nodeFillType"),
        ("compute:Disk", "location"),
        ("compute:Gallery", "location"),
        ("compute:GalleryImage", "location"),
        ("compute:GalleryImageVersion", "location"),
        ("compute:VirtualMachine", "location"),
        ("compute:VirtualMachineExtension", "location"),
        ("compute:VirtualMachineRunCommandByVirtualMachine", "location"),
        ("containerregistry:NetworkRuleSet", "defaultAction"),
        ("containerregistry:Registry", "location"),
        ("containerservice:MaintenanceWindow", "durationHours"),
        ("containerservice:ManagedCluster", "location"),
        ("containerservice:ManagedClusterWorkloadAutoScalerProfileVerticalPodAutoscaler", "enabled"),
        ("keyvault:Vault", "location"),
        ("machinelearningservices:OnlineDeployment", "location"),
        ("machinelearningservices:OnlineEndpoint", "location"),
        ("machinelearningservices:Workspace", "properties"),
        ("managedidentity:UserAssignedIdentity", "location"),
        ("operationalinsights:Workspace", "location"),
        ("resources:ResourceGroup", "location"),
        ("storage:NetworkRuleSet", "defaultAction"),
        ("storage:SasPolicy", "expirationAction"),
        ("storage:StorageAccount", "location"),
    }
)

# Taken by ARM although the SDK's class has it as an output alone.
TAKEN = frozenset({("applicationinsights:Component", "etag"), ("operationalinsights:Workspace", "etag")})

# Members of other API versions, which clients send; true or false each. Whether an answer shows them: of workspaces the session
# Test_MachineLearning_Workspaces_20240401_CRUD (2025-04-01) shows the two.
OF_OTHER_VERSIONS = {
    "machinelearningservices:Workspace": {
        "allowRecoverSoftDeletedWorkspace": False,
        "allowRoleAssignmentOnRG": True,
        "softDeleteEnabled": True,
    },
}

# Given by the client, never answered. Source: Microsoft Learn, REST reference of each service ("secure", "not returned"); of
# Batch's pools hashicorp/terraform-provider-azurerm, internal/services/batch/batch_pool.go, which keeps what a GET lacks.
SECRETS = frozenset(
    {
        ("app:AppInsightsConfiguration", "connectionString"),
        ("app:CustomDomainConfiguration", "certificatePassword"),
        ("app:CustomDomainConfiguration", "certificateValue"),
        ("app:LogAnalyticsConfiguration", "sharedKey"),
        ("app:DataDogConfiguration", "key"),
        ("app:Header", "value"),
        ("app:ManagedEnvironment", "daprAIConnectionString"),
        ("app:ManagedEnvironment", "daprAIInstrumentationKey"),
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
        ("compute:OSProfile", "adminPassword"),
        ("compute:OSProfile", "customData"),  # this and the next may hold secrets, and the service never answers them
        ("compute:VirtualMachine", "userData"),
        ("compute:VirtualMachineExtension", "protectedSettings"),
        ("compute:VirtualMachineRunCommandByVirtualMachine", "protectedParameters"),
        ("compute:VirtualMachineRunCommandByVirtualMachine", "runAsPassword"),
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
        ("keyvault:VaultProperties", "createMode"),  # no secret: it tells what to do once
        ("machinelearningservices:AccountKeyDatastoreCredentials", "secrets"),
        ("machinelearningservices:CertificateDatastoreCredentials", "secrets"),
        ("machinelearningservices:OnlineEndpointProperties", "keys"),
        ("machinelearningservices:SasDatastoreCredentials", "secrets"),
        ("machinelearningservices:ServicePrincipalDatastoreCredentials", "secrets"),
        ("machinelearningservices:UserAccountCredentials", "adminUserPassword"),
        ("machinelearningservices:VirtualMachineSshCredentials", "password"),
        ("machinelearningservices:VirtualMachineSshCredentials", "privateKeyData"),
        ("resources:DeploymentProperties", "template"),  # no secret, but never answered
    }
)

# ARM takes further properties there.
OPEN_OBJECTS = frozenset(
    {
        "machinelearningservices:CustomService",
        "machinelearningservices:Docker",
        "machinelearningservices:EnvironmentVariable",
        "machinelearningservices:Image",
        "operationalinsights:WorkspaceFeatures",
    }
)

# Resources that the SDK's class takes lying flat, though it answers them in `properties`.
FLAT_INPUTS = frozenset({"monitor:AutoscaleSetting"})
