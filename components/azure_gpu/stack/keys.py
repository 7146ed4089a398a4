"""The keys of a stack file, by namespace. Loads no Pulumi, for commands that need a key and no settings."""

PROJECT = "azure-gpu"  # the program's namespace, as in Pulumi.yaml
PROVIDER = "azure-native"
# Where the provider looks when its configuration says nothing, by its key.
PROVIDER_VARIABLES = {
    f"{PROVIDER}:subscriptionId": "ARM_SUBSCRIPTION_ID",
    f"{PROVIDER}:tenantId": "ARM_TENANT_ID",
    f"{PROVIDER}:clientId": "ARM_CLIENT_ID",
    f"{PROVIDER}:metadataHost": "ARM_METADATA_HOSTNAME",
    f"{PROVIDER}:disableInstanceDiscovery": "ARM_DISABLE_INSTANCE_DISCOVERY",
}


def config_key(section: str) -> str:
    """How a stack file spells a key of `StackFile`, such as `azure-gpu:edges`."""
    return f"{PROJECT}:{section}"
