"""The keys of a stack file, by namespace."""

PROJECT = "azure-gpu"  # the program's namespace, as in Pulumi.yaml
PROVIDER = "azure-native"
SUBSCRIPTION_ID, TENANT_ID = f"{PROVIDER}:subscriptionId", f"{PROVIDER}:tenantId"
# Where the provider looks when its configuration says nothing, for those of its keys that are read here, too. Source: Pulumi
# Registry, Azure Native, installation and configuration.
PROVIDER_VARIABLES = {
    SUBSCRIPTION_ID: "ARM_SUBSCRIPTION_ID",
    TENANT_ID: "ARM_TENANT_ID",
    f"{PROVIDER}:clientId": "ARM_CLIENT_ID",
    f"{PROVIDER}:metadataHost": "ARM_METADATA_HOSTNAME",
    f"{PROVIDER}:disableInstanceDiscovery": "ARM_DISABLE_INSTANCE_DISCOVERY",
}


def config_key(section: str) -> str:
    """How a stack file spells a key of `StackFile`, such as `azure-gpu:edges`."""
    return f"{PROJECT}:{section}"
