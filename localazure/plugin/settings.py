"""The provider's configuration: the real provider's keys, then the environment variables it reads.

Source: pulumi/pulumi-azure-native, provider/pkg/provider (configuration before environment) and the Provider class of its SDK.
Values arrive as strings. Any subscription but the embedded Azure's is refused here, before a request leaves the process.
"""

from collections.abc import Mapping

from localazure.subscriptions import SECOND_SUBSCRIPTION, SUBSCRIPTION, SUBSCRIPTIONS

ENVIRONMENT = {
    "clientId": "ARM_CLIENT_ID",
    "clientSecret": "ARM_CLIENT_SECRET",
    "disableInstanceDiscovery": "ARM_DISABLE_INSTANCE_DISCOVERY",
    "location": "ARM_LOCATION",
    "metadataHost": "ARM_METADATA_HOSTNAME",
    "subscriptionId": "ARM_SUBSCRIPTION_ID",
    "tenantId": "ARM_TENANT_ID",
    "useMsi": "ARM_USE_MSI",
    "useOidc": "ARM_USE_OIDC",
}
_OTHER_LOGINS = ("useMsi", "useOidc")


Settings = Mapping[str, str]  # by the keys of ENVIRONMENT; "" where a key isn't set


def read_settings(configuration: Mapping[str, str], environment: Mapping[str, str]) -> Settings:
    """The settings, or ValueError with every problem in one message."""
    problems = configuration_problems(configuration, environment)
    if problems:
        raise ValueError("; ".join(problems))
    return {key: _value(key, configuration, environment) for key in ENVIRONMENT}


def configuration_problems(configuration: Mapping[str, str], environment: Mapping[str, str]) -> list[str]:
    """What keeps this plugin from working with such a configuration, in the user's words."""
    problems: list[str] = []
    subscription = _value("subscriptionId", configuration, environment)
    if subscription not in SUBSCRIPTIONS:
        problems.append(
            f"azure-native:subscriptionId is {subscription or 'not set'}, but this plugin stands in for the real one and takes "
            f"subscription {SUBSCRIPTION} or {SECOND_SUBSCRIPTION}, the embedded Azure's; for another one leave the embedded "
            "Azure's connection (a new shell) and sign in with az login"
        )
    if not _value("metadataHost", configuration, environment):
        problems.append(
            "azure-native:metadataHost is not set; it takes the host and port of the embedded Azure, such as localhost:8443 "
            "(environment: ARM_METADATA_HOSTNAME)"
        )
    for key in _OTHER_LOGINS:
        if is_true(_value(key, configuration, environment)):
            problems.append(f"azure-native:{key} is true, but the embedded Azure only signs in with clientId and clientSecret")
    for key in ("tenantId", "clientId", "clientSecret"):
        if not _value(key, configuration, environment):
            problems.append(f"azure-native:{key} is not set (environment: {ENVIRONMENT[key]})")
    return problems


def _value(key: str, configuration: Mapping[str, str], environment: Mapping[str, str]) -> str:
    return configuration.get(key) or environment.get(ENVIRONMENT[key]) or ""


def is_true(text: str) -> bool:
    return text.strip().lower() in ("true", "1")
