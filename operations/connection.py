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
    return Connection(
        subscription_id=inputs.get("subscriptionId") or os.environ.get("ARM_SUBSCRIPTION_ID", ""),
        tenant_id=inputs.get("tenantId", ""),
        client_id=inputs.get("clientId", ""),
        metadata_host=inputs.get("metadataHost", ""),
        disable_instance_discovery=str(inputs.get("disableInstanceDiscovery", "")).lower() == "true",
    )
