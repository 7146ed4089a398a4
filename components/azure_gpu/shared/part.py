"""A part that a stack creates or that a company already has."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, NotRequired, TypedDict

import pulumi

from azure_gpu.catalog import names
from azure_gpu.catalog.problems import Problem
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.shared import existing
from azure_gpu.shared.context import Context


class PartArgs(TypedDict):
    """A part that a company may already have. Exactly one of the two keys; the word `create` alone stands for `create: true`."""

    create: NotRequired[bool]
    """Plain: true creates the part and deletes it with the stack."""
    existing: NotRequired[str]
    """Plain: ARM id of the one to use, in any subscription. It is looked up, never changed and never deleted."""


class NamedPartArgs(PartArgs):
    """A part whose name in Azure can be said; the name alone stands for `create: true`, too."""

    name: NotRequired[str]
    """Plain: the name in Azure of one that is created, such as that of one which the stack takes over; another name is another
    resource. Default: made of project, stack and team."""


class Named(NamedTuple):
    """The name in Azure that a part is given."""

    name: str
    path: str
    """Where it is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One resolved part: an existing one, or one to create where there is none."""

    name: str
    existing: ArmId | None


def not_changed(said: Mapping[str, object], path: str) -> list[Problem]:
    """The problem of a part that exists and is given overrides."""
    if not {"existing", "overrides"} <= said.keys():
        return []
    return [
        Problem(
            path=f"{path}.overrides",
            message="an existing part is never changed",
            allowed="overrides of what is created",
            fix="remove it, or have the owner of the part set it",
        )
    ]


def _named_already(existing_id: str, named: Named) -> Problem:
    return Problem(
        path=named.path,
        message="an existing part has its name in its id",
        value=named.name,
        allowed="the name of what is created",
        fix=f"remove it, or remove existing: {existing_id} where the stack is to have the part as its own",
    )


def name_of(resource_id: pulumi.Output[str] | None, part: Part | None) -> pulumi.Output[str] | None:
    """The name of a part as an output, which is known once the part is there; None without one."""
    return resource_id.apply(lambda _: part.name) if resource_id is not None and part is not None else None


def resolve_part(
    given: PartArgs, azure_type: AzureType, what: str, context: Context, path: str, named: Named | None = None
) -> tuple[Part, list[Problem]]:
    """The part that `given` asks for; `what` tells it from the stack's others of its type, `path` is where it is written."""
    new = Part(name=named.name if named else context.name(azure_type.arm_type, what), existing=None)
    if named is not None and "existing" in given:
        return new, [_named_already(given["existing"], named)]
    if named is not None:
        given = {"create": given.get("create", True)}
        if wrong := names.check(azure_type.arm_type, *named):
            return new, wrong
    if given.get("create", False) == ("existing" in given):
        problem = Problem(
            path=path,
            message="exactly one of the two has to be said",
            value=dict(given),
            allowed="create, or existing: <id>",
            fix="write create, or leave the part out if the stack needs none",
        )
        return new, [problem]
    if "existing" not in given:
        return new, []
    found, problems = existing.resolve_id(given["existing"], azure_type, context.subscription_id, f"{path}.existing")
    return (Part(name=found.name, existing=found) if found else new), problems
