"""Selects the provider for look-ups and for resources in existing parts: the component's own, or one for the part's
subscription."""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

import pulumi
import pulumi_azure_native as azure_native
from pulumi.runtime import get_root_resource
from pulumi.runtime.config import is_config_secret

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.shared import sdk_types
from azure_gpu.shared.provider_keys import PROVIDER

T = TypeVar("T")
# By stack, as a process may run several. The provider for other languages has no stack, and runs for one in one event loop.
_made: WeakKeyDictionary[object, dict[str, pulumi.ProviderResource]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedBy:
    """The providers of a component, known before it is declared. The default is that of a stack file's components."""

    opts: pulumi.InvokeOptions = field(default_factory=pulumi.InvokeOptions)
    others: Mapping[str, pulumi.ProviderResource] = field(default_factory=dict[str, pulumi.ProviderResource])
    """Providers of other subscriptions, by the subscription's id."""
    as_configured: bool = True
    """Whether the component uses the default provider, which logs in by the configuration."""

    def at(self, part: ArmId | None, own: str) -> pulumi.InvokeOptions:
        """Returns the options of a look-up of `part`; None: it is taken to be in `own`, the subscription of the component."""
        provider = self.provider_at(part, own)
        return self.opts if provider is None else pulumi.InvokeOptions(provider=provider)

    def provider_at(self, part: ArmId | None, own: str) -> pulumi.ProviderResource | None:
        """Returns the provider for the subscription of a part; None where that is the component's own."""
        if part is None or part.subscription.lower() == own.lower():
            return None
        return self.provider_of(part.subscription)

    def provider_of(self, subscription: str) -> pulumi.ProviderResource:
        """Returns the provider for another subscription than the component's own."""
        return self.given(subscription) or _as_configured(subscription.lower())

    def unreachable(self, part: ArmId, own: str, path: str) -> list[Problem]:
        """Returns a problem where the part is in another subscription and the component's explicit provider has no login for
        it."""
        if self.as_configured or part.subscription.lower() == own.lower() or self.given(part.subscription) is not None:
            return []
        component = path.split(".", 1)[0]
        return [refused("existing.unreachable", path, part.text, own=own, component=component, subscription=part.subscription)]

    def given(self, subscription: str) -> pulumi.ProviderResource | None:
        """Returns the explicit provider for another subscription; None without one."""
        return next((each for id_, each in self.others.items() if id_.lower() == subscription.lower()), None)


OF_STACK = AskedBy()


def _as_configured(subscription: str) -> pulumi.ProviderResource:
    """Returns the provider of a subscription with the configured login, declared once per stack. It reads environment variables
    itself."""
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


def before(opts: pulumi.ResourceOptions | None, others: Mapping[str, pulumi.ProviderResource]) -> AskedBy:
    """Returns the providers by the options of a component in a program. `others`: providers of other subscriptions."""
    if opts is None:
        return AskedBy(others=others)
    for provider in _providers(opts):
        if provider.package == PROVIDER:
            return AskedBy(opts=pulumi.InvokeOptions(provider=provider), others=others, as_configured=False)
    inherited = opts.parent.get_provider(f"{PROVIDER}:index:any") if opts.parent is not None else None
    return AskedBy(opts=pulumi.InvokeOptions(parent=opts.parent), others=others, as_configured=inherited is None)


def _providers(opts: pulumi.ResourceOptions) -> Iterable[pulumi.ProviderResource]:
    """Yields the providers in the options, in each of their forms."""
    if opts.provider is not None:
        yield opts.provider
    given = opts.providers
    if isinstance(given, pulumi.ProviderResource):
        yield given
    elif isinstance(given, Mapping):
        yield from given.values()
    elif given is not None:
        yield from given


def answered(look_up: Callable[[], T]) -> T:
    """Returns the result of a blocking look-up; raises RunError, which is shown as one line, where it fails."""
    try:
        return look_up()
    except Exception as error:  # noqa: BLE001  the SDK raises nothing narrower for a failed look-up
        raise pulumi.RunError(str(error)) from None


def told(found: pulumi.Output[T]) -> pulumi.Output[T]:
    """Wraps a look-up so that its failure is shown as one line; the SDK's error would end the program with a traceback."""
    resources: asyncio.Future[set[pulumi.Resource]] = asyncio.Future()
    value: asyncio.Future[T] = asyncio.Future()
    is_known: asyncio.Future[bool] = asyncio.Future()
    is_secret: asyncio.Future[bool] = asyncio.Future()

    async def settle() -> None:
        try:
            resources.set_result(await found.resources())
            value.set_result(cast(T, await found.future(with_unknowns=True)))
            is_known.set_result(await found.is_known())
            is_secret.set_result(await found.is_secret())
        except Exception as error:  # noqa: BLE001  the SDK raises nothing more exact
            resources.set_exception(pulumi.RunError(str(error)))  # the one that is awaited first

    settling = asyncio.ensure_future(settle())
    resources.add_done_callback(lambda _: settling)  # kept until then
    return pulumi.Output(resources, value, is_known, is_secret)
