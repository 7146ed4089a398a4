"""With which provider a component looks things up, and declares what it puts into existing parts: its own, or one of the
subscription that a part lies in.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar, cast

import pulumi

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.shared import subscriptions
from azure_gpu.shared.provider_keys import PROVIDER

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedBy:
    """Who looks something up before its component is declared. By default it is a component of a stack file."""

    opts: pulumi.InvokeOptions = field(default_factory=pulumi.InvokeOptions)
    others: Mapping[str, pulumi.ProviderResource] = field(default_factory=dict[str, pulumi.ProviderResource])
    """Providers of other subscriptions, by the subscription's id."""
    as_configured: bool = True
    """Whether its provider is the one that logs in as the configuration says."""

    def at(self, part: ArmId | None, own: str) -> pulumi.InvokeOptions:
        """For a look-up of a part. `own`: the subscription of the component; None: the part lies there, as far as is known."""
        provider = self.provider_at(part, own)
        return self.opts if provider is None else pulumi.InvokeOptions(provider=provider)

    def provider_at(self, part: ArmId | None, own: str) -> pulumi.ProviderResource | None:
        """The provider of the subscription that a part lies in; None where it is the component's own."""
        if part is None or part.subscription.lower() == own.lower():
            return None
        given = self._given(part)
        return given if given is not None else subscriptions.as_configured(part.subscription.lower())

    def unreachable(self, part: ArmId, own: str, path: str) -> list[Problem]:
        """The problem of a part in another subscription, for a component whose own login isn't known here."""
        if self.as_configured or part.subscription.lower() == own.lower() or self._given(part) is not None:
            return []
        component = path.split(".", 1)[0]
        return [
            Problem(
                path=path,
                message="this lies in another subscription, and how to log in there isn't known: the component has a provider of"
                " its own",
                value=part.text,
                allowed=f"ids in subscription {own}, or in one of other_subscriptions",
                fix=f'add {component}.other_subscriptions: {{"{part.subscription}": <a provider of it>}}',
            )
        ]

    def _given(self, part: ArmId) -> pulumi.ProviderResource | None:
        return next((each for id_, each in self.others.items() if id_.lower() == part.subscription.lower()), None)


OF_STACK = AskedBy()


def before(opts: pulumi.ResourceOptions | None, others: Mapping[str, pulumi.ProviderResource]) -> AskedBy:
    """Who asks, by the options that a component of a program is given. `others`: providers of other subscriptions."""
    if opts is None:
        return AskedBy(others=others)
    for provider in _providers(opts):
        if provider.package == PROVIDER:
            return AskedBy(opts=pulumi.InvokeOptions(provider=provider), others=others, as_configured=False)
    inherited = opts.parent.get_provider(f"{PROVIDER}:index:any") if opts.parent is not None else None
    return AskedBy(opts=pulumi.InvokeOptions(parent=opts.parent), others=others, as_configured=inherited is None)


def _providers(opts: pulumi.ResourceOptions) -> Iterable[pulumi.ProviderResource]:
    """Those that an option names, in each of its forms."""
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
    """What a look-up that the program waits for answers; RunError, which is one line to a user, where it fails."""
    try:
        return look_up()
    except Exception as error:  # noqa: BLE001  the SDK raises nothing narrower for a failed look-up
        raise pulumi.RunError(str(error)) from None


def told(found: pulumi.Output[T]) -> pulumi.Output[T]:
    """A look-up whose failure is one line: what the SDK raises for it ends the program with a trace."""
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
