"""The connection of a stack to Azure, from the provider's configuration.

Azure's clients aren't imported here, since they load slowly and most commands never use them.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from azure_gpu.formats import stack_file
from azure_gpu.shared.provider_keys import PROVIDER, PROVIDER_VARIABLES

PROVIDER_TYPE = f"pulumi:providers:{PROVIDER}"


@dataclass(frozen=True, slots=True)
class Connection:
    """Where a stack lives. Empty strings where the provider was left to find the value itself."""

    subscription_id: str
    tenant_id: str = ""
    client_id: str = ""
    metadata_host: str = ""
    disable_instance_discovery: bool = False


def connection_from(configuration: Mapping[str, Any], environment: Mapping[str, str]) -> Connection:
    """Each key from the configuration, else from the environment, as the provider reads them."""

    def value(key: str) -> str:
        spelt = f"{PROVIDER}:{key}"
        return str(configuration.get(spelt) or environment.get(PROVIDER_VARIABLES[spelt], ""))

    return Connection(
        subscription_id=value("subscriptionId"),
        tenant_id=value("tenantId"),
        client_id=value("clientId"),
        metadata_host=value("metadataHost"),
        disable_instance_discovery=value("disableInstanceDiscovery").lower() == "true",
    )


def connection_of(deployment: Mapping[str, Any]) -> Connection | None:
    """The connection of the azure-native provider in an exported deployment; None where the stack has no such provider yet."""
    providers = [resource for resource in deployment.get("resources") or [] if resource["type"] == PROVIDER_TYPE]
    if not providers:
        return None
    # What the provider took from the environment isn't recorded.
    return connection_from({f"{PROVIDER}:{key}": value for key, value in providers[-1].get("inputs", {}).items()}, os.environ)


def connection_in(file: Path) -> Connection:
    """The connection that a stack's file configures. OSError, StackFileError."""
    return connection_from(stack_file.configuration(file.read_text(encoding="utf-8")), os.environ)
