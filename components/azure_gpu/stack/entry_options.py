"""The engine's options of an entry of a stack file: what `pulumi.ResourceOptions` is to a component of a program.

In: `opts` of an entry, such as `pools.train.opts`. Out: problems of it, and the options of the entry's component.
"""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NotRequired, TypedDict, cast

import pulumi

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import azure_types
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.shared import overrides

_DURATION = re.compile(r"(\d+(\.\d+)?(ms|s|m|h))+")
_AZURE = "azure-native:"
# What an entry is in Azure. `ignore_changes` is about these; what stands beside them, such as roles, is the program's own matter.
_TYPES: Mapping[str, tuple[AzureType, ...]] = {
    "foundation": (
        azure_types.RESOURCE_GROUP,
        azure_types.USER_ASSIGNED_IDENTITY,
        azure_types.REGISTRY,
        azure_types.LOG_WORKSPACE,
        azure_types.STORAGE_ACCOUNT,
    ),
    "budget": (azure_types.BUDGET,),
    "container_groups": (azure_types.CONTAINER_GROUP,),
    "jobs": (azure_types.JOB,),
    "job_environment": (azure_types.MANAGED_ENVIRONMENT,),
    "batch_account": (azure_types.BATCH_ACCOUNT,),
    "gallery_images": (azure_types.GALLERY, azure_types.GALLERY_IMAGE, azure_types.GALLERY_IMAGE_VERSION),
    "pools": (azure_types.BATCH_POOL,),
    "clusters": (azure_types.MANAGED_CLUSTER, azure_types.AGENT_POOL),
    "ml_workspace": (azure_types.ML_WORKSPACE, azure_types.ML_COMPUTE),
    "ml_endpoints": (azure_types.ML_ONLINE_ENDPOINT, azure_types.ML_ONLINE_DEPLOYMENT),
    "vms": (azure_types.VIRTUAL_MACHINE,),
}

SECTIONS = _TYPES.keys()  # those with entries in Azure; the clusters of `edges` are elsewhere


class TimeoutsArgs(TypedDict):
    """How long the engine waits for each resource in Azure, such as 90m or 1h30m."""

    create: NotRequired[str]
    """While it is created. Default: the provider's own."""
    update: NotRequired[str]
    """While it is updated. Default: the provider's own."""
    delete: NotRequired[str]
    """While it is deleted. Default: the provider's own."""


class EntryOptions(TypedDict):
    """Options of the engine for all that an entry declares in Azure."""

    protect: NotRequired[bool]
    """True has the engine refuse to delete or replace it, until it is false or `pulumi state unprotect` lets go. Default: false,
    and `protect_data` for what holds data."""
    ignore_changes: NotRequired[Sequence[str]]
    """Properties by azure-native's names whose differences an update leaves alone, such as `scaleSettings.fixedScale`; they are
    set once, when the resource is created. Default: none."""
    custom_timeouts: NotRequired[TimeoutsArgs]
    """How long the engine waits. Default: as long as the provider does."""


class Entry(TypedDict):
    """What every entry has beside its own keys."""

    opts: NotRequired[EntryOptions]
    """The engine's own options for what it declares. Default: none."""


def problems(said: EntryOptions, section: str, path: str) -> Iterator[Problem]:
    """What is wrong with the options at `path`."""
    for operation, text in cast(Mapping[str, str], said.get("custom_timeouts", {})).items():
        if not _DURATION.fullmatch(text):
            yield Problem(
                path=f"{path}.custom_timeouts.{operation}",
                message="this is no duration",
                value=text,
                allowed="numbers with h, m or s, such as 1h30m",
                fix="write it as 90m",
            )
    what = " or ".join(each.token.split(":")[-1] for each in _TYPES[section])
    names = sorted({name for each in _TYPES[section] for name in overrides.properties(each)})
    for index, given in enumerate(said.get("ignore_changes", [])):
        first = re.split(r"[.\[]", given, maxsplit=1)[0]
        if first not in names:
            close = difflib.get_close_matches(first, names, n=1)
            yield Problem(
                path=f"{path}.ignore_changes[{index}]",
                message=f"azure-native has no such property of {what}",
                value=given,
                allowed=", ".join(names),
                fix=f"did you mean {close[0]}?" if close else "remove it",
            )


def of(said: EntryOptions | None, section: str) -> pulumi.ResourceOptions | None:
    """The options of an entry's component, from which its resources have theirs."""
    if not said:
        return None
    ignored = {each.token: set(overrides.properties(each)) for each in _TYPES[section]}
    timeouts = pulumi.CustomTimeouts(**said["custom_timeouts"]) if "custom_timeouts" in said else None

    def handed_down(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        if not args.type_.startswith(_AZURE):
            return None
        own = [path for path in said.get("ignore_changes", []) if re.split(r"[.\[]", path)[0] in ignored.get(args.type_, ())]
        more = pulumi.ResourceOptions(ignore_changes=own or None, custom_timeouts=timeouts)
        return pulumi.ResourceTransformationResult(args.props, pulumi.ResourceOptions.merge(args.opts, more))

    return pulumi.ResourceOptions(protect=said.get("protect") or None, transformations=[handed_down])
