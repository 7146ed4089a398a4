"""Registers a subscription for the resource provider of diagnostic settings, before the first `up` with one.

Pulumi's provider registers a subscription for every other resource provider when needed. This one rejects with an answer that the
provider doesn't recognise, and of which it shows only `Conflict`: pulumi/pulumi-azure-native issue 3479, open (2024-08-01); its
body is in Azure/azure-sdk-for-net issue 17836 (2021-01-07).
"""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

from azure_gpu.catalog.providers import INSIGHTS
from azure_gpu.formats import azure_types
from azure_gpu.stack.keys import config_key
from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.connection import Connection, connection_from, connection_of
from azure_gpu_operations.stack import Stack

API_VERSION = "2021-04-01"
_REGISTERED = "registered"
_LIMIT_SECONDS, _PAUSE_SECONDS = 600.0, 5.0


def before_first(stack: Stack, deployment: Mapping[str, Any], say: Callable[[str], None]) -> None:
    """Does nothing where the stack has a diagnostic setting already, or no log workspace. Where the login may not register, the
    command is printed for an administrator, and `up` continues."""
    there = {resource["type"] for resource in deployment.get("resources") or []}
    configuration = stack.configuration()
    sends_logs = "log_workspace" in configuration.get(config_key("foundation", stack.project), "")
    if azure_types.DIAGNOSTIC_SETTING.token in there or not sends_logs:
        return
    try:
        register(connection_of(deployment) or connection_from(configuration, os.environ), say)
    except AzureError as error:
        say(f"the subscription can't be registered for {INSIGHTS}: {error}; `az provider register --namespace {INSIGHTS} --wait`")


def register(connection: Connection, say: Callable[[str], None], *, sleep: Callable[[float], None] = time.sleep) -> None:
    """Waits until it is registered, 10 minutes at most. AzureError where ARM refuses."""
    with closing(Arm(connection)) as arm:
        path = f"/subscriptions/{connection.subscription_id}/providers/{INSIGHTS}"
        if _is_registered(arm.get(path, API_VERSION)):
            return
        say(f"registering the subscription for {INSIGHTS}, required by diagnostic settings; takes up to 10 minutes")
        arm.post(f"{path}/register", API_VERSION)
        for _ in range(int(_LIMIT_SECONDS / _PAUSE_SECONDS)):
            if _is_registered(arm.get(path, API_VERSION)):
                return
            sleep(_PAUSE_SECONDS)


def _is_registered(provider: Mapping[str, Any] | None) -> bool:
    return provider is not None and str(provider.get("registrationState")).lower() == _REGISTERED
