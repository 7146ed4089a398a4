"""The key `opts` of a stack file's entries: validates the engine's options and converts them to `pulumi.ResourceOptions`."""

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
# The resource types of each entry. `ignore_changes` applies to these, and not to others of the entry, such as roles.
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

SECTIONS = _TYPES.keys()  # those with resources in Azure, which `edges` doesn't have


class TimeoutsArgs(TypedDict):
    """Timeouts of the engine for each resource in Azure, such as 90m or 1h30m."""

    create: NotRequired[str]
    """For its creation. Default: the provider's."""
    update: NotRequired[str]
    """For its update. Default: the provider's."""
    delete: NotRequired[str]
    """For its deletion. Default: the provider's."""


class EntryOptions(TypedDict):
    """Options of the engine for all resources of an entry in Azure."""

    protect: NotRequired[bool]
    """True keeps the engine from deleting or replacing it, until it is false or `pulumi state unprotect` was run. Default: false,
    and `protect_data` for resources that hold data."""
    ignore_changes: NotRequired[Sequence[str]]
    """Properties by azure-native's names whose differences an update ignores, such as `scaleSettings.fixedScale`; they are set
    only when the resource is created. Default: none."""
    custom_timeouts: NotRequired[TimeoutsArgs]
    """Timeouts of the engine. Default: the provider's."""


class Entry(TypedDict):
    """Keys that every entry has."""

    opts: NotRequired[EntryOptions]
    """The engine's options for its resources. Default: none."""


def problems(options: EntryOptions, section: str, path: str) -> Iterator[Problem]:
    """Validates the options at `path`."""
    for operation, text in cast(Mapping[str, str], options.get("custom_timeouts", {})).items():
        if not _DURATION.fullmatch(text):
            yield Problem(
                path=f"{path}.custom_timeouts.{operation}",
                message="not a valid duration",
                value=text,
                allowed="numbers with h, m or s, such as 1h30m",
                fix="write it as 90m",
            )
    what = " or ".join(each.token.split(":")[-1] for each in _TYPES[section])
    names = sorted({name for each in _TYPES[section] for name in overrides.properties(each)})
    for index, given in enumerate(options.get("ignore_changes", [])):
        first = re.split(r"[.\[]", given, maxsplit=1)[0]
        if first not in names:
            close = difflib.get_close_matches(first, names, n=1)
            yield Problem(
                path=f"{path}.ignore_changes[{index}]",
                message=f"not a property of {what} in azure-native",
                value=given,
                allowed=", ".join(names),
                fix=f"did you mean {close[0]}?" if close else "remove it",
            )


def of(options: EntryOptions | None, section: str) -> pulumi.ResourceOptions | None:
    """Converts the options of an entry to those of its component, which its resources inherit."""
    if not options:
        return None
    ignored = {each.token: set(overrides.properties(each)) for each in _TYPES[section]}
    timeouts = pulumi.CustomTimeouts(**options["custom_timeouts"]) if "custom_timeouts" in options else None

    def handed_down(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        if not args.type_.startswith(_AZURE):
            return None
        own = [path for path in options.get("ignore_changes", []) if re.split(r"[.\[]", path)[0] in ignored.get(args.type_, ())]
        more = pulumi.ResourceOptions(ignore_changes=own or None, custom_timeouts=timeouts)
        return pulumi.ResourceTransformationResult(args.props, pulumi.ResourceOptions.merge(args.opts, more))

    return pulumi.ResourceOptions(protect=options.get("protect") or None, transformations=[handed_down])
