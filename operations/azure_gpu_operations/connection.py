"""Where a stack lives in Azure, as the engine recorded it: the provider's own configuration, so that there is no second one.

In: a stack's exported deployment. Out: a `Connection`. Azure's clients, which take long to load, stay out of here: most commands
never ask Azure.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_PROVIDER_TYPE = "pulumi:providers:azure-native"


@dataclass(frozen=True, slots=True)
class Connection:
    """Where a stack lives. Empty strings where the provider was left to find the value itself."""

    subscription_id: str
    tenant_id: str = ""
    client_id: str = ""
    metadata_host: str = ""
    disable_instance_discovery: bool = False


def connection_of(deployment: Mapping[str, Any]) -> Connection | None:
    """The connection of the azure-native provider in an exported deployment; None where the stack has no such provider yet."""
    providers = [resource for resource in deployment.get("resources") or [] if resource["type"] == _PROVIDER_TYPE]
    if not providers:
        return None
    inputs = providers[-1].get("inputs", {})
    variable = os.environ.get  # where the configuration is silent the provider looks there, and so what it used isn't recorded
    return Connection(
        subscription_id=inputs.get("subscriptionId") or variable("ARM_SUBSCRIPTION_ID", ""),
        tenant_id=inputs.get("tenantId") or variable("ARM_TENANT_ID", ""),
        client_id=inputs.get("clientId") or variable("ARM_CLIENT_ID", ""),
        metadata_host=inputs.get("metadataHost") or variable("ARM_METADATA_HOSTNAME", ""),
        disable_instance_discovery=str(
            inputs.get("disableInstanceDiscovery") or variable("ARM_DISABLE_INSTANCE_DISCOVERY", "")
        ).lower()
        == "true",
    )
