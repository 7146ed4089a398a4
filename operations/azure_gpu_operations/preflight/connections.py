"""Where a preflight asks: the connection of a stack that exists, of a stack's configuration, or of the environment.

In: a stack, its configuration as text, the environment. Out: a `Connection`.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from azure_gpu.formats import stack_file
from azure_gpu_operations.connection import Connection

_PROVIDER = "azure-native:"


def from_configuration(configuration: Mapping[str, str]) -> Connection | None:
    """The connection in a stack's configuration; None where it names no subscription."""
    given = {key.removeprefix(_PROVIDER): value for key, value in configuration.items() if key.startswith(_PROVIDER)}
    if not given.get("subscriptionId"):
        return None
    return Connection(
        subscription_id=given["subscriptionId"],
        tenant_id=given.get("tenantId", ""),
        client_id=given.get("clientId", ""),
        metadata_host=given.get("metadataHost", ""),
        disable_instance_discovery=given.get("disableInstanceDiscovery", "").lower() == "true",
    )


def configured(file: Path) -> Connection:
    """The connection in a stack's file, else that of the environment. OSError, StackFileError."""
    return from_configuration(stack_file.configuration(file.read_text(encoding="utf-8"))) or from_environment()


def from_environment() -> Connection:
    """The connection as the provider finds it where nothing is configured. An empty subscription where none is named."""
    return Connection(
        subscription_id=os.environ.get("ARM_SUBSCRIPTION_ID", ""),
        tenant_id=os.environ.get("ARM_TENANT_ID", ""),
        client_id=os.environ.get("ARM_CLIENT_ID", ""),
        metadata_host=os.environ.get("ARM_METADATA_HOSTNAME", ""),
        disable_instance_discovery=os.environ.get("ARM_DISABLE_INSTANCE_DISCOVERY", "").lower() == "true",
    )
