"""What all components of a stack share: who it belongs to, where it goes, at which date it is judged, and the tags that say so.

In: `StackArgs`, as the program passes them to every component. Out: `Context`, resolved once per component, and problems.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple, NotRequired, TypedDict, TypeVar, cast

import pulumi

from azure_gpu.catalog import defaults_day, regions, roles, tags
from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import tags as keys
from azure_gpu.formats.dates import SPELLING, parse_day
from azure_gpu.shared import wording
from azure_gpu.shared.naming import physical_name

Tags = Mapping[str, pulumi.Input[str]]
"""Tags of a resource by key."""
_WRITTEN_KEYS = (keys.AS_OF, keys.EXPIRES_AT, keys.PROJECT, keys.STACK, keys.TEAM)
_OWN_KEYS = (*_WRITTEN_KEYS, keys.STOPPED_SINCE)


class StackArgs(TypedDict):
    """What all components of a stack share. All of it is plain."""

    subscription_id: str
    """The Azure subscription that everything is created in. It is part of the names that are unique in all of Azure."""
    team: str
    """Who owns the stack; part of every name, and the tag `team`. Empty, for a component of a program alone: nobody is named."""
    location: str
    """Azure region of everything that isn't given its own: `westeurope` or `West Europe`. Empty, for a component of a program
    alone: the resource group's, which isn't known yet."""
    tags: NotRequired[Tags]
    """Tags on everything that takes tags, beside the program's own. Default: none."""
    as_of: NotRequired[str]
    """The day at which services, sizes and dates are judged, YYYY-MM-DD, and the tag `as-of`. Default: `today`, and no tag."""
    today: str
    """The day on which the program runs, YYYY-MM-DD."""
    protect_data: NotRequired[bool]
    """Whether storage account, key vault and workspace are protected from deletion and replacement, and deleted blobs are kept
    for 7 days. Default: true."""
    component: NotRequired["ComponentOfProgram"]
    """The component that a program describes. Default: a stack file describes it."""


class ComponentOfProgram(NamedTuple):
    """A component that a program describes."""

    kind: str  # such as BatchPool
    name: str  # its logical name

    def __str__(self) -> str:
        """Where problems of it are."""
        return f'{self.kind}("{self.name}")'


class RegistryArgs(TypedDict):
    """A container registry that the stack's identity may pull from."""

    name: str
    """Plain: the registry's name, by which an image's host is recognised."""
    id: pulumi.Input[str]
    """Wired: its ARM id."""
    server: pulumi.Input[str]
    """Wired: its login server, `name.azurecr.io`."""
    subscription_id: NotRequired[str]
    """Plain: the subscription that it lies in, where that is another. Default: the component's own."""
    pull_role: NotRequired[str]
    """Plain: the GUID of the role by which it lets pull. Default: AcrPull."""
    workload_images: dict[str, pulumi.Input[str]]
    """Wired: the image of each workload that the stack has built, by the workload's name."""


class LogsArgs(TypedDict):
    """A Log Analytics workspace that containers send their logs to."""

    workspace_arm_id: pulumi.Input[str]
    """Wired: its ARM id. Services send logs by their own right, without a key of the workspace."""


class StorageArgs(TypedDict):
    """A storage account for data."""

    name: pulumi.Input[str]
    """Its name. A stack's plan knows it; of an account that an output is the id of nothing is named or judged by it."""
    id: pulumi.Input[str]
    """Wired: its ARM id."""
    is_own: NotRequired[bool]
    """Plain: true where the stack has made the account, and so may put containers into it. Default: false."""
    resource_group_name: NotRequired[pulumi.Input[str]]
    """Wired: its resource group, where the stack has made the account. Default: not known."""


class ServingArgs(TypedDict):
    """The identity that endpoints and services on clusters speak as, in place of the stack's, which trains."""

    id: pulumi.Input[str]
    """Wired: its ARM id, known once it has its roles."""
    name: str
    """Plain: what tells it from another, as `identity_name` does."""
    client_id: pulumi.Input[str]
    """Wired: by which programs that speak as it name it."""
    principal_id: pulumi.Input[str]
    """Wired: its object id, which roles are assigned to."""
    is_own: bool
    """Plain: true where the stack has made it, and so may let pods speak as it."""


class Surroundings(TypedDict):
    """What a foundation offers to the components that stand on it."""

    resource_group_name: pulumi.Input[str]
    """Wired: the resource group that everything goes into."""
    resource_group: NotRequired[str]
    """Plain: its name, for commands that are printed before it is there. Default: a placeholder."""
    identity_id: NotRequired[pulumi.Input[str]]
    """Wired: ARM id of a user-assigned identity. Default: none."""
    identity_name: NotRequired[str]
    """Plain: what tells that identity from another: its group and its name, or its whole id where the stack didn't make it.
    Default: none."""
    identity_client_id: NotRequired[pulumi.Input[str]]
    """Wired: by which programs that speak as the identity name it. Default: none."""
    identity_principal_id: NotRequired[pulumi.Input[str]]
    """Wired: its object id, which roles are assigned to. Default: none."""
    identity_is_own: NotRequired[bool]
    """Plain: true where the stack has made the identity, and so may let others speak as it. Default: false."""
    serving: NotRequired[ServingArgs]
    """The identity of what answers requests. Default: none, and it speaks as the identity above."""
    assign_roles: NotRequired[bool]
    """Plain: false leaves role assignments to an administrator and prints the commands. Default: true."""
    registry: NotRequired[RegistryArgs]
    """The registry to pull from as that identity. Default: none."""
    storage: NotRequired[StorageArgs]
    """The storage account for data. Default: none."""
    logs: NotRequired[LogsArgs]
    """Where logs go. Default: they stay with the service that runs the container."""


def pull_role_of(registry: RegistryArgs) -> str:
    """The GUID of the role by which a registry lets pull."""
    return registry.get("pull_role", roles.ACR_PULL)


def surroundings_of(args: Mapping[str, Any]) -> Surroundings:
    """Those among the arguments of a component."""
    return cast(Surroundings, {key: args[key] for key in Surroundings.__annotations__ if key in args})


_Args = TypeVar("_Args", bound=Surroundings)


def as_serving(args: _Args) -> _Args:
    """The arguments of what answers requests: the identity that serves is in the identity's place, where there is one."""
    if "serving" not in args:
        return args
    serving = args["serving"]
    identity = {
        "identity_id": serving["id"],
        "identity_name": serving["name"],
        "identity_client_id": serving["client_id"],
        "identity_principal_id": serving["principal_id"],
        "identity_is_own": serving["is_own"],
    }
    return cast(_Args, {**args, **identity})


class OfStack(Surroundings):
    """What every component of a stack shares."""

    stack: StackArgs
    """Who owns the stack, where it goes and at which date it is judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """`StackArgs` resolved, with the project and the stack."""

    project: str
    stack: str
    subscription_id: str
    team: str
    location: str  # as ARM spells it; empty where it isn't known yet
    user_tags: Tags
    as_of: date | None  # None where the settings don't give one
    today: date
    protect_data: bool = True
    component: ComponentOfProgram | None = None  # None: a stack file describes it

    @property
    def protect(self) -> bool | None:
        """The resource option of what holds data. None leaves it to the options that a component was given."""
        return True if self.protect_data else None

    @property
    def day(self) -> date:
        """The day at which everything is judged."""
        return self.as_of or self.today

    def chosen_at(self, as_of: date | None = None) -> date:
        """The day at which defaults are chosen. `as_of`: that of one part, in place of the stack's."""
        return defaults_day.chosen_at(as_of or self.as_of, self.today)

    def region(self, given: pulumi.Input[str] | None) -> str:
        """The region of what may have a `location` of its own, as ARM spells it; empty where it isn't known yet."""
        return regions.normalise(known(given) or "") if given is not None else self.location

    def path(self, section: str, name: str = "") -> str:
        """Where a component is described: `pools.train` in a stack file, `BatchPool("train")` in a program."""
        if self.component is not None:
            return str(self.component)
        return f"{section}.{name}" if name else section

    def own_path(self, key: str) -> str:
        """Where a key is described that a stack file has for all of its components, such as `location`."""
        return _own_path(self.component, key)

    def part_path(self, part: str) -> str:
        """Where a part of the foundation, such as `storage`, is described that a component needs."""
        return f"{self.component}.{wording.PART_IDS[part]}" if self.component is not None else f"foundation.{part}"

    def missing_part(self, part: str, message: str) -> Problem:
        """The problem of a component that needs a part of a foundation and has none."""
        path = self.part_path(part)
        allowed = "create, or existing: <id>" if self.component is None else f"an ARM id, or a foundation with {part}"
        return Problem(path=path, message=message, allowed=allowed, fix=wording.give_part(path, part))

    def name(self, arm_type: str, what: str) -> str:
        """Physical name of the stack's resource of this type; `what` tells it from the others of its type. Two components of a
        program have two names: the logical one is among the words."""
        own = self.component.name if self.component is not None else ""
        inside = what == own or what.startswith(f"{own}-") or what.endswith(f"-{own}")
        of_stack = [self.project, self.team, self.stack] if self.team or self.component is None else [self.project, self.stack]
        words = [*of_stack, *(word for word in ("" if inside else own, what) if word)]
        return physical_name(arm_type, words, subscription_id=self.subscription_id)

    def tags(self, as_of: date | None = None, **more: str) -> Tags:
        """Tags of one resource: the user's and the program's. `as_of` stands in for the stack's where a resource has its own."""
        given = as_of or self.as_of
        own = {keys.PROJECT: self.project, keys.STACK: self.stack, **({keys.TEAM: self.team} if self.team else {})}
        return {**self.user_tags, **own, **({keys.AS_OF: given.isoformat()} if given else {}), **more}


def resolve_stack(args: StackArgs, project: str, stack: str) -> tuple[Context, list[Problem]]:
    """The context of a stack, and what is wrong with it. Where a value can't be used, the context holds a stand-in for it."""
    problems: list[Problem] = []
    component = args.get("component")
    if not args["subscription_id"]:
        problems.append(
            Problem(
                path="azure-native:subscriptionId" if component is None else str(component),
                message="no subscription is named; without one, whichever the Azure CLI is logged into would be used"
                if component is None
                else "the provider is logged in to no subscription",
                allowed="the id of a subscription",
                fix="pulumi config set azure-native:subscriptionId <id>; `az account list` shows yours",
            )
        )
    if not any(character.isalnum() for character in args["team"]) and (args["team"] or component is None):
        problems.append(
            Problem(
                path=_own_path(component, "team"),
                message="the team is part of every name and has no letter or digit",
                value=args["team"],
                allowed="a short word, such as vision",
                fix="pulumi config set team <word>" if component is None else "give another, or leave it out",
            )
        )
    if component is None:
        problems += regions.check(args["location"], "location")
    user_tags = args.get("tags", {})
    problems += check_tags(user_tags, _own_path(component, "tags"))
    as_of, as_of_problems = resolve_day(args.get("as_of"), _own_path(component, "as_of"))
    today, today_problems = resolve_day(args["today"], "today")
    context = Context(
        project=project,
        stack=stack,
        subscription_id=args["subscription_id"],
        team=args["team"],
        location=regions.normalise(args["location"]),
        user_tags=user_tags,
        as_of=as_of,
        today=today or date.min,
        protect_data=args.get("protect_data", True),
        component=component,
    )
    return context, [*problems, *as_of_problems, *today_problems]


def _own_path(component: ComponentOfProgram | None, key: str) -> str:
    return key if component is None else f"{component}.{key}"


def check_tags(user_tags: Tags, path: str) -> list[Problem]:
    """Problems of tags that a user gives: Azure's own limits, and the keys that the program writes."""
    taken: Sequence[Problem] = [
        Problem(
            path=f"{path}.{key}",
            message="the program writes this tag itself",
            value=known(user_tags[key]),
            allowed=f"any key but {', '.join(_OWN_KEYS)}",
            fix="choose another key",
        )
        for key in user_tags
        if key.lower() in _OWN_KEYS  # Azure takes a tag's key in any letter case for the same key
    ]
    shown = {key: known(value) or "" for key, value in user_tags.items()}
    return [*taken, *tags.check(shown, path, most=tags.MOST_TAGS - len(_WRITTEN_KEYS))]


def declared(decided: str, given: pulumi.Input[str] | None) -> pulumi.Input[str] | None:
    """What is declared for a value: the output that was given, or what was decided; None where that isn't known, which leaves a
    location to the provider, who takes the resource group's."""
    return given if given is not None and known(given) is None else decided or None


def check_region(given: pulumi.Input[str] | None, path: str) -> list[Problem]:
    """The problem of a `location` that is no region; none where it isn't given, or not known yet."""
    region = known(given)
    return regions.check(region, path) if region is not None else []


def known(value: pulumi.Input[str] | None) -> str | None:
    """A value that was given; None where there is none, or one that is known only while resources are created."""
    return value if isinstance(value, str) else None


def resolve_day(text: str | None, path: str) -> tuple[date | None, list[Problem]]:
    """The day that a setting names, or None with a problem where it names none. No text is no day and no problem."""
    if text is None:
        return None, []
    day = parse_day(text)
    if day is not None:
        return day, []
    return None, [Problem(path=path, message="this is no day", value=text, allowed=SPELLING, fix='write it as "2026-11-30"')]
