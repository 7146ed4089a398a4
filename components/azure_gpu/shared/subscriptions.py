"""A provider for each other subscription in which a stack has an existing part, which logs in as the configuration says."""

import asyncio
import json
from typing import Any
from weakref import WeakKeyDictionary

import pulumi
import pulumi_azure_native as azure_native
from pulumi.runtime import get_root_resource
from pulumi.runtime.config import is_config_secret

from azure_gpu.shared import sdk_types
from azure_gpu.shared.provider_keys import PROVIDER

# By the stack, for a process may run more than one. The provider for other languages has no stack, and runs for one in one loop.
_made: WeakKeyDictionary[object, dict[str, pulumi.ProviderResource]] = WeakKeyDictionary()


def as_configured(subscription: str) -> pulumi.ProviderResource:
    """The provider of a subscription, declared once a stack. What the environment says, it reads by itself."""
    providers = _made.setdefault(get_root_resource() or asyncio.get_running_loop(), {})
    if subscription not in providers:
        login = azure_native.ProviderArgs(**_login())
        login.subscription_id = subscription
        providers[subscription] = azure_native.Provider(f"subscription-{subscription}", login)
    return providers[subscription]


def _login() -> dict[str, Any]:
    """The configuration of the default provider, as arguments of another."""
    config, found = pulumi.Config(PROVIDER), dict[str, Any]()
    kinds = sdk_types.kinds(azure_native.ProviderArgs)
    for key, name in sdk_types.wire_names(azure_native.ProviderArgs).items():
        text = config.get(name)
        if text:
            value = text if kinds[name] is str else json.loads(text)
            found[key] = pulumi.Output.secret(value) if is_config_secret(f"{PROVIDER}:{name}") else value
    return found
