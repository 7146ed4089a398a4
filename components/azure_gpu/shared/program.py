"""A component that a program describes: its arguments checked by their shape, and who it belongs to.

Subscription and region come from the provider and the resource group, the date from the clock.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NotRequired, TypedDict, cast

import pulumi
from pulumi_azure_native import authorization, resources

from azure_gpu.catalog.problems import Problem
from azure_gpu.shared import existing, look_up
from azure_gpu.shared.context import ComponentOfProgram, Context, StackArgs, Surroundings, known
from azure_gpu.shared.look_up import AskedBy
from azure_gpu.shared.refusal import Refused
from azure_gpu.shared.validation import check
from azure_gpu.shared.wired import Wired


class OwnerArgs(TypedDict):
    """Who a component of a program belongs to, and at which date it is judged."""

    team: NotRequired[str]
    """Plain: who owns it; part of every name, and the tag `team`. Default: the foundation's, else none."""
    as_of: NotRequired[str]
    """Plain: the day at which services, sizes and dates are judged, YYYY-MM-DD, and the tag `as-of`. Default: the foundation's,
    else today, and no tag."""
    other_subscriptions: NotRequired[Mapping[str, pulumi.ProviderResource]]
    """Providers of other subscriptions, by the subscription's id, for existing parts that lie there. Default: ones that log in as
    the configuration says, where the component's own provider does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What a component is in, for those that are put into it."""

    context: Context
    surroundings: Surroundings


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A component's arguments as a program gave them, checked by their shape."""

    component: ComponentOfProgram
    args: dict[str, Any]  # without what is wrong
    problems: list[Problem]
    asked_by: AskedBy
    subscription_id: str


def describe(
    kind: type[pulumi.ComponentResource], name: str, wanted: Any, given: object, opts: pulumi.ResourceOptions | None
) -> Described:
    """`wanted`: the TypedDict of the component's arguments. Raises `Refused` where nothing can be made of them."""
    component = ComponentOfProgram(kind.__name__, name)
    checked = check(given, wanted, str(component))
    if not checked.usable:
        raise Refused(checked.problems, str(component))
    args = cast(dict[str, Any], checked.value)
    asked_by = look_up.before(opts, args.get("other_subscriptions", {}))
    return Described(
        component=component,
        args=args,
        problems=checked.problems,
        asked_by=asked_by,
        subscription_id=_subscription(component, asked_by),
    )


def _subscription(component: ComponentOfProgram, asked_by: AskedBy) -> str:
    """The provider's. Raises `Refused` where the provider can't tell: nobody is logged in, or Azure doesn't answer."""
    try:
        return authorization.get_client_config(opts=asked_by.opts).subscription_id
    except Exception as error:  # noqa: BLE001  the SDK raises nothing narrower for a failed look-up
        problem = Problem(
            path=str(component),
            message=f"the provider's subscription can't be read: {existing.reason_of(error)}",
            allowed="a provider that is logged in to Azure",
            fix="`az login`, then `az account show`; or configure the provider, see azure-native's installation page",
        )
    raise Refused([problem], str(component))


def stack_of(described: Described, context: Context | None, location: str) -> StackArgs:
    """Who the component belongs to. `context`: of what it is put into; `location`: where it goes unless it says so."""
    args = described.args
    stack = StackArgs(
        subscription_id=described.subscription_id,
        team=args.get("team", context.team if context is not None else ""),
        location=(known(args["location"]) or "") if "location" in args else location,
        today=datetime.now(UTC).date().isoformat(),
        component=described.component,
    )
    if context is not None:
        stack["tags"] = context.user_tags
        stack["protect_data"] = context.protect_data
        if context.as_of is not None:
            stack["as_of"] = context.as_of.isoformat()
    if "as_of" in args:
        stack["as_of"] = args["as_of"]
    if "protect_data" in args:
        stack["protect_data"] = args["protect_data"]
    return stack


def location_of(group: pulumi.Input[str] | None, asked_by: AskedBy) -> str:
    """The region of a resource group that is there; empty where it isn't known yet, and the provider finds it by itself."""
    if not isinstance(group, str):
        return ""
    try:
        return resources.get_resource_group(resource_group_name=group, opts=asked_by.opts).location
    except Exception:  # noqa: BLE001  the SDK raises nothing narrower for a failed look-up; the group may come with this program
        return ""


def wired(described: Described, of_others: frozenset[str], surroundings: Mapping[str, Any], stack: StackArgs) -> Wired[Any, Any]:
    """`of_others`: the arguments that became `surroundings`, and aren't the component's own."""
    own = {key: value for key, value in described.args.items() if key not in of_others}
    return Wired(
        {**own, **surroundings, "stack": stack},
        problems=described.problems,
        component=str(described.component),
        asked_by=described.asked_by,
    )
