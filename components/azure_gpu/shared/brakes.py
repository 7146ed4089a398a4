"""What keeps a program's data: the option `protect`, a lock in Azure, and a warning where the engine will refuse to let it go.

The engine's own message names only a URN. These read the stack's state, as the last update left it; where it can't be read,
nothing is said, and the engine refuses all the same.
"""

from collections.abc import Iterator, Mapping

import pulumi
from pulumi_azure_native import authorization

from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats import azure_types, tags
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.shared import own_state, refusal
from azure_gpu.shared.context import ComponentOfProgram, Context

_LOST = {
    azure_types.STORAGE_ACCOUNT: ("storage account", "its blobs"),
    azure_types.REGISTRY: ("registry", "its images"),
    azure_types.LOG_WORKSPACE: ("log workspace", "its logs"),
    azure_types.BATCH_ACCOUNT: ("Batch account", "its jobs, tasks and applications"),
    azure_types.ML_WORKSPACE: ("Azure Machine Learning workspace", "its models, jobs and metrics"),
}
_HOLDING = ("Foundation", "BatchAccount", "MlWorkspace")


def protect(context: Context, azure_type: AzureType, logical: str, name: str | None, location: str = "") -> bool | None:
    """Returns the option `protect` of a resource that holds data. `logical`: its name in the program; `name`: the one in Azure;
    `location`: its region. The last two may not be known. Warns where the program replaces it, which the engine refuses."""
    if context.protect_data and context.component is not None:
        state = own_state.resources(of_stack_file=False) or {}
        was = own_state.named(state, azure_type.token, logical)
        refusal.warn(list(_replaced(context, azure_type, was, name, location)))
    return context.protect


def lock(context: Context, logical: str, of: pulumi.Output[str], parent: pulumi.Resource) -> None:
    """Locks a resource that holds data, where the context says so. Not for a Batch account or a workspace: their pools, computes
    and endpoints, which come and go, would inherit it. Sources: Microsoft Learn, azure-resource-manager/management/
    lock-resources; of roles, MicrosoftDocs/azure-docs issue 110791 (2023-06-12)."""
    if context.lock_data:
        authorization.ManagementLockByScope(
            f"{logical}-lock",
            lock_name="azure-gpu",
            scope=of,
            level=authorization.LockLevel.CAN_NOT_DELETE,
            notes=f"{context.project}, stack {context.stack}: lock_data",
            opts=pulumi.ResourceOptions(parent=parent),
        )


def _replaced(
    context: Context, azure_type: AzureType, was: Mapping[str, object], name: str | None, location: str
) -> Iterator[Problem]:
    old = str(was.get("name") or "")
    old_region = regions.normalise(str(was.get("location") or ""))
    stays = name is None or old.lower() == name.lower()
    if not old or (stays and (not location or old_region == location)):
        return
    what, lost = _LOST[azure_type]
    old_tags = was.get("tags")
    now = {tags.PROJECT: context.project, tags.STACK: context.stack, tags.TEAM: context.team}
    changed = [
        (key, before, now[key])
        for key in now
        if isinstance(old_tags, Mapping) and (before := str(old_tags.get(key, ""))) != now[key]
    ]
    if location and old_region != location:
        changed.append(("location", old_region, location))
    key, before, after = changed[0] if changed else ("name", old, name or "")
    yield refused(
        "stack.data_replaced", context.own_path(key), f"{before} -> {after}", what=what, old=old, lost=lost, before=before
    )


def component(kind: str, name: str, opts: pulumi.ResourceOptions | None) -> ComponentOfProgram:
    """Returns a component of a program, with the names that it had before by its aliases. Warns where one that holds data seems
    to have another name than in the state."""
    former = _former(opts)
    if not former and kind not in _HOLDING:
        return ComponentOfProgram(kind, name)
    state = own_state.resources(of_stack_file=False) or {}
    if former:
        names = frozenset(str(each["outputs"].get("name", "")).lower() for each in state.values())
        return ComponentOfProgram(kind, name, former, names)
    there = {urn.rsplit("::", 1)[-1] for urn, each in state.items() if each["type"] == f"azuregpu:index:{kind}"}
    found = ComponentOfProgram(kind, name)
    if there and name not in there:
        names = sorted(there)
        refusal.warn([refused("stack.renamed", str(found), names=", ".join(names), first=names[0])])
    return found


def _former(opts: pulumi.ResourceOptions | None) -> tuple[str, ...]:
    """The names in the aliases, given as URNs or by name; those that are outputs aren't known."""
    given = (opts.aliases if opts is not None else None) or []
    names = [each.name if isinstance(each, pulumi.Alias) else each for each in given]
    return tuple(each.rsplit("::", 1)[-1] for each in names if isinstance(each, str))
