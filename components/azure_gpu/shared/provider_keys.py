"""The provider's keys in a stack file, and the environment variables that replace them."""

PROVIDER = "azure-native"
SUBSCRIPTION_ID, TENANT_ID = f"{PROVIDER}:subscriptionId", f"{PROVIDER}:tenantId"
# The provider's fallbacks for keys without a value, for those keys that are read here, too. Source: Pulumi Registry, Azure
# Native, installation and configuration.
PROVIDER_VARIABLES = {
    SUBSCRIPTION_ID: "ARM_SUBSCRIPTION_ID",
    TENANT_ID: "ARM_TENANT_ID",
    f"{PROVIDER}:clientId": "ARM_CLIENT_ID",
    f"{PROVIDER}:useOidc": "ARM_USE_OIDC",
    f"{PROVIDER}:metadataHost": "ARM_METADATA_HOSTNAME",
    f"{PROVIDER}:environment": "ARM_ENVIRONMENT",
    f"{PROVIDER}:disableInstanceDiscovery": "ARM_DISABLE_INSTANCE_DISCOVERY",
}
