"""Arguments and resolution of parts that a stack creates or that exist already."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, NotRequired, TypedDict

import pulumi

from azure_gpu.catalog import names
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
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
    return [refused("part.overrides_of_existing", f"{path}.overrides")]


def name_of(resource_id: pulumi.Output[str] | None, part: Part | None) -> pulumi.Output[str] | None:
    """Returns the name of a part as an output, known once the part exists; None without a part."""
    return resource_id.apply(lambda _: part.name) if resource_id is not None and part is not None else None


def resolve_part(
    given: PartArgs, azure_type: AzureType, what: str, context: Context, path: str, named: Named | None = None
) -> tuple[Part, list[Problem]]:
    """Resolves a part; `what` distinguishes it from others of its type in the stack, `path` is the path of its settings."""
    new = Part(name=named.name if named else context.name(azure_type.arm_type, what), existing=None)
    if named is not None and "existing" in given:
        return new, [refused("part.named_already", named.path, named.name, id=given["existing"])]
    if named is not None:
        given = {"create": given.get("create", True)}
        if wrong := names.check(azure_type.arm_type, *named):
            return new, wrong
    if given.get("create", False) == ("existing" in given):
        return new, [refused("part.create_or_existing", path, dict(given))]
    if "existing" not in given:
        return new, []
    found, problems = existing.resolve_id(given["existing"], azure_type, context.subscription_id, f"{path}.existing")
    return (Part(name=found.name, existing=found) if found else new), problems
