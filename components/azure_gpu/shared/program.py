"""Components that a program declares itself: checks the shape of their arguments and derives `StackArgs`.

Subscription and region come from the provider and the resource group, the date from the clock.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NotRequired, TypedDict, cast

import pulumi
from pulumi_azure_native import authorization, resources

from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.shared import brakes, existing, look_up, refusal, taken_names
from azure_gpu.shared.context import ComponentOfProgram, Context, Dependencies, StackArgs, known
from azure_gpu.shared.look_up import AskedBy
from azure_gpu.shared.refusal import Refused
from azure_gpu.shared.secret_places import OfProgram
from azure_gpu.shared.validation import check
from azure_gpu.shared.wired import Wired


class OwnerArgs(TypedDict):
    """Owner and date of evaluation of a component in a program."""

    team: NotRequired[str]
    """Plain: the owner; part of every name, and the tag `team`. Default: the foundation's, else none."""
    as_of: NotRequired[str]
    """Plain: the date at which services, sizes and dates are evaluated, YYYY-MM-DD, and the tag `as-of`. Default: the
    foundation's, else today, and no tag."""
    other_subscriptions: NotRequired[Mapping[str, pulumi.ProviderResource]]
    """Providers of other subscriptions, by the subscription's id, for existing parts there. Default: providers with the
    configured login, where the component's own provider uses it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """Context and dependencies of a component, for components inside of it."""

    context: Context
    dependencies: Dependencies


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """The arguments of a component in a program, with their shape checked."""

    component: ComponentOfProgram
    args: dict[str, Any]  # without what is wrong
    problems: list[Problem]
    asked_by: AskedBy
    subscription_id: str


def describe(
    kind: type[pulumi.ComponentResource], name: str, expected: Any, given: object, opts: pulumi.ResourceOptions | None
) -> Described:
    """Checks the shape of arguments. `expected`: their TypedDict. Raises `Refused` where they can't be used at all."""
    component = brakes.component(kind.__name__, name, opts)
    checked = check(given, expected, str(component))
    if not checked.usable:
        raise Refused(checked.problems, str(component))
    args, of_secrets = OfProgram(str(component), expected).placed(cast(dict[str, Any], checked.value))
    refusal.warn(of_secrets)
    asked_by = look_up.before(opts, args.get("other_subscriptions", {}))
    return Described(
        component=component,
        args=args,
        problems=[*checked.problems, *errors(of_secrets), *taken_names.check(component, args)],
        asked_by=asked_by,
        subscription_id=_subscription(component, asked_by),
    )


def _subscription(component: ComponentOfProgram, asked_by: AskedBy) -> str:
    """Returns the provider's subscription. Raises `Refused` where it can't be read, such as without a login."""
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
    """Derives the stack's arguments. `context`: of the component around it; `location`: the default region."""
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
        stack["lock_data"] = context.lock_data and args.get("protect_data", True)
        if context.as_of is not None:
            stack["as_of"] = context.as_of.isoformat()
    if "as_of" in args:
        stack["as_of"] = args["as_of"]
    if "protect_data" in args:
        stack["protect_data"] = args["protect_data"]
    if "lock_data" in args:
        stack["lock_data"] = args["lock_data"]
    return stack


def location_of(group: pulumi.Input[str] | None, asked_by: AskedBy) -> str:
    """Returns the region of an existing resource group; empty where it isn't known yet: the provider then determines it."""
    if not isinstance(group, str):
        return ""
    try:
        return resources.get_resource_group(resource_group_name=group, opts=asked_by.opts).location
    except Exception:  # noqa: BLE001  the SDK raises nothing narrower for a failed look-up; the group may come with this program
        return ""


def wired(described: Described, of_others: frozenset[str], dependencies: Mapping[str, Any], stack: StackArgs) -> Wired[Any, Any]:
    """Combines the arguments. `of_others`: those that became `dependencies` and aren't the component's own."""
    own = {key: value for key, value in described.args.items() if key not in of_others}
    return Wired(
        {**own, **dependencies, "stack": stack},
        problems=described.problems,
        component=str(described.component),
        asked_by=described.asked_by,
    )
