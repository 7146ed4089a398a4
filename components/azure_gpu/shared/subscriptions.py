"""Providers for other subscriptions with existing parts of a stack, with the configured login."""

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

# By stack, as a process may run several. The provider for other languages has no stack, and runs for one in one event loop.
_made: WeakKeyDictionary[object, dict[str, pulumi.ProviderResource]] = WeakKeyDictionary()


def as_configured(subscription: str) -> pulumi.ProviderResource:
    """Returns the provider of a subscription, declared once per stack. It reads environment variables itself."""
    providers = _made.setdefault(get_root_resource() or asyncio.get_running_loop(), {})
    if subscription not in providers:
        login = azure_native.ProviderArgs(**_login())
        login.subscription_id = subscription
        providers[subscription] = azure_native.Provider(f"subscription-{subscription}", login)
    return providers[subscription]


def _login() -> dict[str, Any]:
    """Returns the configuration of the default provider, as arguments of another one."""
    config, found = pulumi.Config(PROVIDER), dict[str, Any]()
    kinds = sdk_types.kinds(azure_native.ProviderArgs)
    for key, name in sdk_types.wire_names(azure_native.ProviderArgs).items():
        text = config.get(name)
        if text:
            value = text if kinds[name] is str else json.loads(text)
            found[key] = pulumi.Output.secret(value) if is_config_secret(f"{PROVIDER}:{name}") else value
    return found
