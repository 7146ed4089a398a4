"""The provider's own keys of a stack file, and the variables of the environment that stand in for them."""

PROVIDER = "azure-native"
SUBSCRIPTION_ID, TENANT_ID = f"{PROVIDER}:subscriptionId", f"{PROVIDER}:tenantId"
# Where the provider looks when its configuration says nothing, for those of its keys that are read here, too. Source: Pulumi
# Registry, Azure Native, installation and configuration.
PROVIDER_VARIABLES = {
    SUBSCRIPTION_ID: "ARM_SUBSCRIPTION_ID",
    TENANT_ID: "ARM_TENANT_ID",
    f"{PROVIDER}:clientId": "ARM_CLIENT_ID",
    f"{PROVIDER}:useOidc": "ARM_USE_OIDC",
    f"{PROVIDER}:metadataHost": "ARM_METADATA_HOSTNAME",
    f"{PROVIDER}:environment": "ARM_ENVIRONMENT",
    f"{PROVIDER}:disableInstanceDiscovery": "ARM_DISABLE_INSTANCE_DISCOVERY",
}
