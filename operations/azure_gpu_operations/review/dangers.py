"""Resources that a change replaces, deletes or interrupts, with the cause, the loss and an alternative. Pure.

Resources that hold data or serve traffic come first.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import azure_types
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.graph.kinds import kind_of
from azure_gpu_operations.guard import losses
from azure_gpu_operations.guard.held import Held
from azure_gpu_operations.review.interruptions import Interrupts, of_step
from azure_gpu_operations.review.model import UNKNOWN_YET, Danger, Operation
from azure_gpu_operations.review.source_locations import NOWHERE, SourceLocations
from azure_gpu_operations.review.steps import Owner, Planned, followers, path_of


class Difference(NamedTuple):
    """A key's values as text in JSON, None where a configuration doesn't have it."""

    key: str  # `clusters.shared.tier`; a key of a provider with its namespace
    first: str | None
    second: str | None


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[Difference]:
    """Each leaf that differs between the two configurations, by key."""
    ours, theirs = dict(_leaves(first, "")), dict(_leaves(second, ""))
    keys = sorted(ours.keys() | theirs.keys())
    for key in keys:
        one, other = ours.get(key), theirs.get(key)
        is_empty = "{}" in (one, other) and any(each.startswith(f"{key}.") for each in keys)  # its keys tell the difference
        if one != other and not is_empty:
            yield Difference(key, one, other)


def _leaves(value: object, path: str) -> Iterator[tuple[str, str]]:
    """Every value that isn't a mapping with keys in it: a list is one value."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    else:
        yield path, value if isinstance(value, str) else json.dumps(value)


# Keys that are part of most names or locations: a change forces replacements in all parts.
_OF_ALL = ("team", "location", "project", "stack")


class _Kind(NamedTuple):
    what: str  # in the user's words
    lost: str  # where it goes; "": nothing that lasts


# What goes with a resource that holds no data and yet is missed. By type of Azure.
_MISSED = {
    azure_types.BATCH_POOL.token: _Kind("Batch pool", "the running tasks on its nodes"),
    azure_types.AGENT_POOL.token: _Kind("GPU pool", "the pods on its nodes, restarted elsewhere if there is room"),
    azure_types.MANAGED_CLUSTER.token: _Kind("cluster", "everything that runs on it, and its address"),
    azure_types.CONTAINER_GROUP.token: _Kind("container group", "its running containers, files and address"),
    azure_types.VIRTUAL_MACHINE.token: _Kind("virtual machine", "its running workloads and its OS disk"),
    azure_types.ML_COMPUTE.token: _Kind("ML compute", "its running jobs"),
    azure_types.ML_ONLINE_DEPLOYMENT.token: _Kind("ML deployment", "the requests being served"),
    azure_types.JOB.token: _Kind("GPU job", "its running executions and its execution history"),
    azure_types.MANAGED_ENVIRONMENT.token: _Kind("job environment", "its GPU quota, which belongs to one environment"),
    azure_types.USER_ASSIGNED_IDENTITY.token: _Kind("identity", "role assignments made by others"),
}


# Of which a new one can stand beside the old one, by the key `replace`.
_SIDE_BY_SIDE = (azure_types.BATCH_POOL.token, azure_types.AGENT_POOL.token, azure_types.ML_COMPUTE.token)


# How long one operation takes. Azure/terraform-azurerm-avm-res-containerservice-managedcluster pull request 160 (2026-02-24);
# Microsoft Learn, machine-learning/how-to-troubleshoot-online-endpoints, 409 (2026-11).
_MINUTES = dict.fromkeys(
    (
        azure_types.MANAGED_CLUSTER.token,
        azure_types.AGENT_POOL.token,
        azure_types.ML_ONLINE_ENDPOINT.token,
        azure_types.ML_ONLINE_DEPLOYMENT.token,
    ),
    "2 to 20",
)


class Change(NamedTuple):
    """A change: plan, owners, held resources and differences."""

    found: Sequence[Planned]
    owners: Mapping[str, Owner]
    held: Sequence[Held]  # of the state that the plan begins with
    differences: Sequence[Difference]  # of the two stack files
    places: SourceLocations


def dangers(change: Change, steps: Iterable[Mapping[str, Any]]) -> list[Danger]:
    """Each resource that is missed when it goes. What goes because another one does is told there too."""
    found = {each.urn: each for each in change.found}
    held = {each.urn: each for each in change.held}
    lost = {each.held.urn: each for each in losses.losses(change.held, steps)}
    forced = followers(change.found)
    result: list[Danger] = []
    for urn, each in found.items():
        if each.operation is Operation.UPDATE:
            kind = _interrupted(each)
        else:
            kind = _kind(each, held.get(urn)) if each.operation in (Operation.REPLACE, Operation.DELETE) else None
        if kind is None:
            continue
        owner = change.owners.get(urn, Owner("", ""))
        cause = _cause(_first(each, forced), change)
        loss = lost.get(urn)
        result.append(
            Danger(
                operation=each.operation,
                what=kind.what,
                name=each.name,
                azure_name=each.id.rsplit("/", 1)[-1],
                part=path_of(each, owner),
                lost=kind.lost,
                cause=cause.key if cause else "",
                before=cause.first if cause else None,
                after=cause.second if cause else None,
                place=change.places.of(cause.key) if cause else NOWHERE,
                milder=_milder(each, loss, cause, _renamed_to(owner.path, change.differences)),
                minutes=_MINUTES.get(each.type, ""),
                quota=_quota(each),
                refused=f"{loss.option} {each.name}" if loss is not None else "",
                is_held=urn in held and each.operation is not Operation.UPDATE,
            )
        )
    return sorted(result, key=lambda each: (not each.is_held, -list(Operation).index(each.operation), each.part, each.name))


def _kind(each: Planned, held: Held | None) -> _Kind | None:
    if held is not None and not held.is_group:
        return _Kind(held.what, held.lost)
    return _MISSED.get(each.type)


def _interrupted(each: Planned) -> _Kind | None:
    """What an update of it interrupts; None if nothing or unknown."""
    found = of_step("update", each.type, [one.path for one in each.properties])
    if found.interrupts not in (Interrupts.YES, Interrupts.CAN):
        return None
    known = _MISSED.get(each.type) or _Kind(kind_of(each.type).noun, "")
    return _Kind(known.what, found.what if found.interrupts is Interrupts.YES else f"possibly {found.what}")


def _first(each: Planned, forced: Mapping[str, Planned]) -> Planned:
    """The resource whose own arguments force it: itself, or the one that it follows in the end."""
    seen: set[str] = set()
    while each.urn in forced and each.urn not in seen:
        seen.add(each.urn)
        each = forced[each.urn]
    return each


def _cause(first: Planned, change: Change) -> Difference | None:
    """The key of the stack file that forces it: of those below its own part, the one whose value is among what forces; else the
    only one there; else a key that names everything. None where the file doesn't say: the program has changed."""
    owner = change.owners.get(first.urn, Owner("", ""))
    own, part = path_of(first, owner), owner.path
    forcing = [one for one in first.properties if one.forces]
    values = {value for one in forcing for value in (one.before, one.after) if value and value != UNKNOWN_YET}
    for path in dict.fromkeys((own, part)):
        below = [each for each in change.differences if path and (each.key == path or each.key.startswith(f"{path}."))]
        exact = [each for each in below if values & {_plain(each.first), _plain(each.second)}]
        if first.operation is Operation.DELETE and len(below) > 1 and all(each.second is None for each in below):
            return Difference(path, None, None)  # the whole part
        if exact or below:
            return (exact or below)[0]
    named = [each for each in change.differences if each.key in _OF_ALL]
    if named:
        return named[0]
    return change.differences[0] if len(change.differences) == 1 and first.operation is not Operation.DELETE else None


def _plain(text: str | None) -> str:
    """A JSON value as plain text."""
    return (text or "").strip('"')


def _renamed_to(part: str, differences: Sequence[Difference]) -> str:
    """The new part with exactly the keys of one that is gone; "" without one."""
    section = part.rpartition(".")[0]
    if not section:
        return ""
    gone, new = dict[str, str | None](), dict[str, dict[str, str | None]]()
    for each in differences:
        if each.key.startswith(f"{part}.") and each.second is None:
            gone[each.key.removeprefix(part)] = each.first
        elif each.key.startswith(f"{section}.") and each.first is None:
            name, _, key = each.key.removeprefix(f"{section}.").partition(".")
            new.setdefault(name, {})[f".{key}"] = each.second
    return next((f"{section}.{name}" for name, keys in new.items() if gone and keys == gone), "")


def _milder(each: Planned, loss: losses.Loss | None, cause: Difference | None, renamed_to: str) -> str:
    if each.operation is Operation.DELETE and renamed_to:
        return f"{renamed_to} is new and has the same keys: if this part was renamed, take back its name, and nothing is deleted"
    if cause is not None and cause.key == "team":
        return f"set team back to {_plain(cause.first)}; to record another owner, add a tag in `tags`"
    if loss is not None:
        return losses.problem(loss).fix
    if each.type in _SIDE_BY_SIDE and each.operation is Operation.REPLACE:
        drain = f"`{COMMAND} stop` first lets running tasks end; " if each.type == azure_types.BATCH_POOL.token else ""
        if _is_drained_first(each):
            return f"{drain}`replace: side-by-side` creates the new one before deleting the old one, if the quota allows both"
        return f"{drain}the new one is created before the old one is deleted; `replace: drain-first` doesn't need quota for both"
    if each.operation is Operation.DELETE and cause is not None and cause.second is None:
        return f"restore {cause.key}; `enabled: false` keeps it in the file but deletes it too"
    return ""


def _is_drained_first(each: Planned) -> bool:
    """Whether the new one takes the old one's name, and so comes after it."""
    renamed = {one.path for one in each.properties}
    return not any(path in renamed for path in ("agentPoolName", "computeName", "poolName"))


def _quota(each: Planned) -> str:
    """The quota needed while the old and the new resource exist."""
    if each.operation is not Operation.REPLACE:
        return ""
    size = next((one.after for one in each.properties if one.path.rpartition(".")[2] == "vmSize"), None)
    known = SIZES.find(size) if size and size != UNKNOWN_YET else None
    if known is None:
        return ""
    return f"{known.quota_vcpus or known.vcpus} vCPUs of {known.series.quota_family} for each new machine"
