"""The provider's keys in a stack file, and the environment variables that replace them."""

from collections.abc import Mapping

PROVIDER = "azure-native"
SUBSCRIPTION_ID, TENANT_ID = f"{PROVIDER}:subscriptionId", f"{PROVIDER}:tenantId"
METADATA_HOST, DISABLE_DISCOVERY = f"{PROVIDER}:metadataHost", f"{PROVIDER}:disableInstanceDiscovery"
# The provider's fallbacks for keys without a value, for those keys that are read here, too. Source: Pulumi Registry, Azure
# Native, installation and configuration.
PROVIDER_VARIABLES = {
    SUBSCRIPTION_ID: "ARM_SUBSCRIPTION_ID",
    TENANT_ID: "ARM_TENANT_ID",
    f"{PROVIDER}:clientId": "ARM_CLIENT_ID",
    f"{PROVIDER}:useOidc": "ARM_USE_OIDC",
    METADATA_HOST: "ARM_METADATA_HOSTNAME",
    f"{PROVIDER}:environment": "ARM_ENVIRONMENT",
    DISABLE_DISCOVERY: "ARM_DISABLE_INSTANCE_DISCOVERY",
}


def cloud_from(environment: Mapping[str, str]) -> dict[str, str]:
    """The keys that select the cloud, from environment variables."""
    found = {key: environment.get(PROVIDER_VARIABLES[key], "") for key in (METADATA_HOST, DISABLE_DISCOVERY)}
    return {key: value for key, value in found.items() if value}
