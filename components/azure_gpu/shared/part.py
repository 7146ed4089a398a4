"""Arguments and resolution of parts that a stack creates or that exist already."""

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
    """A part that is created or exists already. Exactly one of the two keys; `create` is short for `create: true`."""

    create: NotRequired[bool]
    """Plain: true creates the part and deletes it with the stack."""
    existing: NotRequired[str]
    """Plain: ARM id of an existing one, in any subscription. It is looked up, never changed and never deleted."""


class NamedPartArgs(PartArgs):
    """A part whose name in Azure can be set; `name` without `create` implies `create: true`."""

    name: NotRequired[str]
    """Plain: the name in Azure of one that is created, such as that of one which the stack takes over; another name is another
    resource. Default: built from project, stack and team."""


class Named(NamedTuple):
    """The name in Azure that is set for a part."""

    name: str
    path: str
    """The path of the setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A resolved part: existing, or to be created."""

    name: str
    existing: ArmId | None


def not_changed(settings: Mapping[str, object], path: str) -> list[Problem]:
    """Rejects overrides of an existing part."""
    if not {"existing", "overrides"} <= settings.keys():
        return []
    return [
        Problem(
            path=f"{path}.overrides",
            message="an existing part is never changed",
            allowed="overrides of a part that the stack creates",
            fix="remove it, or have the owner of the part set it",
        )
    ]


def _named_already(existing_id: str, named: Named) -> Problem:
    return Problem(
        path=named.path,
        message="the name of an existing part is in its id",
        value=named.name,
        allowed="the name of a part that the stack creates",
        fix=f"remove it, or remove existing: {existing_id} to have the stack create the part",
    )


def name_of(resource_id: pulumi.Output[str] | None, part: Part | None) -> pulumi.Output[str] | None:
    """Returns the name of a part as an output, known once the part exists; None without a part."""
    return resource_id.apply(lambda _: part.name) if resource_id is not None and part is not None else None


def resolve_part(
    given: PartArgs, azure_type: AzureType, what: str, context: Context, path: str, named: Named | None = None
) -> tuple[Part, list[Problem]]:
    """Resolves a part; `what` distinguishes it from others of its type in the stack, `path` is the path of its settings."""
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
            message="set exactly one of `create` and `existing`",
            value=dict(given),
            allowed="create, or existing: <id>",
            fix="write create, or remove the part",
        )
        return new, [problem]
    if "existing" not in given:
        return new, []
    found, problems = existing.resolve_id(given["existing"], azure_type, context.subscription_id, f"{path}.existing")
    return (Part(name=found.name, existing=found) if found else new), problems
