"""What all components of a stack share: who it belongs to, where it goes, at which date it is judged, and the tags that say so.

In: `StackArgs`, as the program passes them to every component. Out: `Context`, resolved once per component, and problems.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import NotRequired, TypedDict

import pulumi

from azure_gpu.catalog import regions, tags
from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import tags as keys
from azure_gpu.formats.dates import SPELLING, parse_day
from azure_gpu.shared.naming import physical_name

_OWN_KEYS = (keys.AS_OF, keys.EXPIRES_AT, keys.PROJECT, keys.STACK, keys.TEAM)


class StackArgs(TypedDict):
    """What all components of a stack share. All of it is plain."""

    subscription_id: str
    """The Azure subscription that everything is created in. It is part of the names that are unique in all of Azure."""
    team: str
    """Who owns the stack; part of every name, and the tag `team`."""
    location: str
    """Azure region of everything that isn't given its own: `westeurope` or `West Europe`."""
    tags: NotRequired[dict[str, str]]
    """Tags on everything that takes tags, beside the program's own. Default: none."""
    as_of: NotRequired[str]
    """The day at which services, sizes and dates are judged, YYYY-MM-DD, and the tag `as-of`. Default: `today`, and no tag."""
    today: str
    """The day on which the program runs, YYYY-MM-DD."""


class RegistryArgs(TypedDict):
    """A container registry that the stack's identity may pull from."""

    name: str
    """Plain: the registry's name, by which an image's host is recognised."""
    id: pulumi.Input[str]
    """Wired: its ARM id."""
    server: pulumi.Input[str]
    """Wired: its login server, `name.azurecr.io`."""
    workload_images: dict[str, pulumi.Input[str]]
    """Wired: the image of each workload that the stack has built, by the workload's name."""


class LogsArgs(TypedDict):
    """A Log Analytics workspace that containers send their logs to."""

    workspace_arm_id: pulumi.Input[str]
    """Wired: its ARM id, for services that send logs by their own right."""
    workspace_id: pulumi.Input[str]
    """Wired: the workspace's own GUID, which Azure calls customer id; no ARM id."""
    workspace_key: NotRequired[pulumi.Input[str]]
    """Wired: a shared key of the workspace; secret. Container groups send logs with nothing else. Default: none."""


class StorageArgs(TypedDict):
    """A storage account for data."""

    name: str
    """Plain: its name."""
    id: pulumi.Input[str]
    """Wired: its ARM id."""
    is_own: NotRequired[bool]
    """Plain: true where the stack has made the account, and so may put containers into it. Default: false."""


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
    identity_is_own: NotRequired[bool]
    """Plain: true where the stack has made the identity, and so may let others speak as it. Default: false."""
    assign_roles: NotRequired[bool]
    """Plain: false leaves role assignments to an administrator and prints the commands. Default: true."""
    registry: NotRequired[RegistryArgs]
    """The registry to pull from as that identity. Default: none."""
    storage: NotRequired[StorageArgs]
    """The storage account for data. Default: none."""
    logs: NotRequired[LogsArgs]
    """Where logs go. Default: they stay with the service that runs the container."""


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
    location: str  # as ARM spells it
    user_tags: dict[str, str]
    as_of: date | None  # None where the settings don't give one
    today: date

    @property
    def day(self) -> date:
        """The day at which everything is judged."""
        return self.as_of or self.today

    def name(self, arm_type: str, what: str) -> str:
        """Physical name of the stack's resource of this type; `what` tells it from the others of its type."""
        words = [self.project, self.team, self.stack, what] if what else [self.project, self.team, self.stack]
        return physical_name(arm_type, words, subscription_id=self.subscription_id)

    def tags(self, as_of: date | None = None, **more: str) -> dict[str, str]:
        """Tags of one resource: the user's and the program's. `as_of` stands in for the stack's where a resource has its own."""
        given = as_of or self.as_of
        own = {keys.PROJECT: self.project, keys.STACK: self.stack, keys.TEAM: self.team}
        return {**self.user_tags, **own, **({keys.AS_OF: given.isoformat()} if given else {}), **more}


def resolve_stack(args: StackArgs, project: str, stack: str) -> tuple[Context, list[Problem]]:
    """The context of a stack, and what is wrong with it. Where a value can't be used, the context holds a stand-in for it."""
    problems: list[Problem] = []
    if not args["subscription_id"]:
        problems.append(
            Problem(
                path="azure-native:subscriptionId",
                message="no subscription is named; without one, whichever the Azure CLI is logged into would be used",
                allowed="the id of a subscription",
                fix="pulumi config set azure-native:subscriptionId <id>; `az account list` shows yours",
            )
        )
    if not any(character.isalnum() for character in args["team"]):
        problems.append(
            Problem(
                path="team",
                message="the team is part of every name and has no letter or digit",
                value=args["team"],
                allowed="a short word, such as vision",
                fix="pulumi config set team <word>",
            )
        )
    problems += regions.check(args["location"], "location")
    user_tags = dict(args.get("tags", {}))
    problems += check_tags(user_tags, "tags")
    as_of, as_of_problems = resolve_day(args.get("as_of"), "as_of")
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
    )
    return context, [*problems, *as_of_problems, *today_problems]


def check_tags(user_tags: dict[str, str], path: str) -> list[Problem]:
    """Problems of tags that a user gives: Azure's own limits, and the keys that the program writes."""
    taken: Sequence[Problem] = [
        Problem(
            path=f"{path}.{key}",
            message="the program writes this tag itself",
            value=user_tags[key],
            allowed=f"any key but {', '.join(_OWN_KEYS)}",
            fix="choose another key",
        )
        for key in user_tags
        if key.lower() in _OWN_KEYS  # Azure takes a tag's key in any letter case for the same key
    ]
    return [*taken, *tags.check(user_tags, path, most=tags.MOST_TAGS - len(_OWN_KEYS))]


def resolve_day(text: str | None, path: str) -> tuple[date | None, list[Problem]]:
    """The day that a setting names, or None with a problem where it names none. No text is no day and no problem."""
    if text is None:
        return None, []
    day = parse_day(text)
    if day is not None:
        return day, []
    return None, [Problem(path=path, message="this is no day", value=text, allowed=SPELLING, fix='write it as "2026-11-30"')]
