"""Components that a program declares itself: checks the shape of their arguments and derives `StackArgs`.

Subscription and region come from the provider and the resource group, the date from the clock.
"""

from collections.abc import Mapping, MutableMapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple, NotRequired, TypedDict, cast
from weakref import WeakKeyDictionary

import pulumi
from pulumi.runtime.settings import get_monitor
from pulumi_azure_native import authorization, resources

from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats import parts
from azure_gpu.shared import brakes, existing, look_up, refusal
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


class _Taken(NamedTuple):
    """One who has a name in Azure."""

    component: ComponentOfProgram
    within: tuple[object, ...]


Names = MutableMapping[tuple[str, str], list[_Taken]]
"""Those who have a name, by kind and name in lower case."""
OF_DEPLOYMENT: ContextVar[Names | None] = ContextVar("OF_DEPLOYMENT", default=None)
"""The names of all components that a process constructs; set for programs in other languages, where each has its own monitor."""
_of_program: WeakKeyDictionary[object, Names] = WeakKeyDictionary()


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
        problems=[*checked.problems, *errors(of_secrets), *_taken_names(component, args)],
        asked_by=asked_by,
        subscription_id=_subscription(component, asked_by),
    )


def _taken_names(component: ComponentOfProgram, args: Mapping[str, Any]) -> list[Problem]:
    """Takes the name that the arguments set, or returns a problem where another component in the same place has it: Azure would
    refuse the second only when the first exists."""
    kind = parts.BY_COMPONENT.get(component.kind)
    name = args.get(kind.name_key) if kind is not None else None
    if kind is None or not isinstance(name, str):
        return []
    key = kind.name_key
    within = tuple(each.lower() if isinstance(each, str) else each for each in map(args.get, kind.name_within))
    having = _names().setdefault((component.kind, name.lower()), [])
    others = [each.component for each in having if each.component.name != component.name and _same(each.within, within)]
    having.append(_Taken(component, within))
    if not others:
        return []
    return [refused("part.name_taken_in_program", f"{component}.{key}", name, other=others[0], key=key, own=component.name)]


def _names() -> Names:
    shared = OF_DEPLOYMENT.get()
    program = get_monitor()
    return shared if shared is not None else _of_program.setdefault(program, {})


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Texts are compared, all else by identity: of two outputs it isn't known whether they are the same."""
    return all(a == b if isinstance(a, str) and isinstance(b, str) else a is b for a, b in zip(one, other, strict=True))


def _subscription(component: ComponentOfProgram, asked_by: AskedBy) -> str:
    """Returns the provider's subscription. Raises `Refused` where it can't be read, such as without a login."""
    try:
        return authorization.get_client_config(opts=asked_by.opts).subscription_id
    except Exception as error:  # noqa: BLE001  the SDK raises nothing narrower for a failed look-up
        problem = refused("stack.unread_subscription", str(component), reason=existing.reason_of(error))
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
    own = {key: args[key] for key in ("as_of", "protect_data", "lock_data") if key in args}
    return cast(StackArgs, {**stack, **own})


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
