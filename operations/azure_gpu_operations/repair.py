"""Repairs what a killed `pulumi` leaves behind, so that the next `up` can continue.

A lock of a dead process blocks every further update, and a half-written file every command; a create in progress may or may not
have happened. The functions find locks to remove, updates to cancel, and resources to import or forget, and change the exported
deployment.

The engine has options for it, `refresh --import-pending-creates` and `--clear-pending-creates`. The first loses its input: 3.259
notes it as being imported, and no part of it imports such a note.
"""

import json
import os
import re
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

from azure_gpu.catalog import transient_errors
from azure_gpu.catalog.transient_errors import APPEARED, CANNOT_BE_UPDATED, TransientError, is_missing_permission
from azure_gpu.formats import azure_types
from azure_gpu.formats.azure_types import BY_TOKEN, AzureType

_LOST = re.compile(
    r"error reading from server|transport is closing|\bPut \"https?://|Status=409 Code=\"\w*InProgress|Status=409 .*in progress"
)
SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105  the signature of a secret in states and events
_APPEARED = re.compile(rf"([^\s<>]+): {APPEARED}")  # the engine puts marks of colour before a name


class PendingCreate(NamedTuple):
    """A create that the engine began and didn't finish."""

    urn: str
    azure_type: AzureType | None  # None: nothing that Azure knows, such as a provider
    inputs: Mapping[str, Any]


class Settled(NamedTuple):
    """`imports`: urn and id of what does exist; `forgotten`: the urns of what never came to be."""

    imports: tuple[tuple[str, str], ...]
    forgotten: tuple[str, ...]


def torn_attributes(backend_folder: Path) -> list[Path]:
    """The empty `.attrs` files beside states in a file backend. Each makes every command on any stack end with "EOF".

    They have a type and a checksum that nothing needs. The engine writes a state under another name and renames it, but these in
    place (gocloud.dev/blob/fileblob), so that a kill can leave one empty. Seen with Pulumi 3.259.
    """
    return [file for file in sorted((backend_folder / ".pulumi" / "stacks").rglob("*.attrs")) if file.stat().st_size == 0]


class Locks(NamedTuple):
    """The lock files of a stack in a file backend: those whose owner ran on this machine and is gone, and the others."""

    dead: tuple[Path, ...] = ()
    living: tuple[Path, ...] = ()


def locks(backend_folder: Path, project: str, stack: str, alive: Callable[[int], bool] | None = None) -> Locks:
    is_alive = alive or process_lives
    folder = backend_folder / ".pulumi" / "locks" / "organization" / project / stack
    dead: list[Path] = []
    living: list[Path] = []
    for file in sorted(folder.glob("*.json")):
        lock = json.loads(file.read_text())
        is_dead = lock["hostname"] == socket.gethostname() and not is_alive(int(lock["pid"]))
        (dead if is_dead else living).append(file)
    return Locks(tuple(dead), tuple(living))


def pending_creates(deployment: Mapping[str, Any]) -> list[PendingCreate]:
    """The creates without an end in an exported deployment."""
    return [
        PendingCreate(
            operation["resource"]["urn"],
            BY_TOKEN.get(operation["resource"]["type"]),
            operation["resource"].get("inputs", {}),
        )
        for operation in deployment.get("pending_operations") or []
        if operation["type"] == "creating"
    ]


def lost_creates(events: Iterable[str]) -> list[dict[str, Any]]:
    """From an engine's events: resources, as states have them, whose create ended because the provider did, or because its
    connection to Azure was lost after a PUT was sent, or because Azure answered that an operation is in progress, which creates
    it (pulumi/pulumi-azure-native issue 4761, 2026-07-15), also where another attempt then found it (`shared.retry_hooks`).

    The engine then takes the create for one that failed, and forgets it; the provider looks for a resource before it puts one, so
    that what is there was put by it. Source: pulumi 3.259, pkg/backend/snapshot.go (`createSnapshotMutation.End`). What
    azure-native says of a lost connection, Go's `url.Error`, is assumed. Secret inputs are left out: events have `[secret]` for
    them, which no state can have (`config.BlindingCrypter`).
    """
    began: dict[str, dict[str, Any]] = {}
    messages: dict[str, str] = {}
    appeared: set[str] = set()  # names
    for event in parsed(events):
        diagnostic = event.get("diagnosticEvent") or {}
        if named := _APPEARED.search(str(diagnostic.get("message"))):
            appeared.add(named[1])
        elif diagnostic.get("severity") == "error" and diagnostic.get("urn"):
            messages[diagnostic["urn"]] = messages.get(diagnostic["urn"], "") + diagnostic["message"]
        elif (failed := event.get("resOpFailedEvent")) and failed["metadata"]["op"] in ("create", "create-replacement"):
            began[failed["metadata"]["urn"]] = failed["metadata"]["new"]
    kept = ("urn", "type", "custom", "parent", "inputs", "provider", "protect")
    return [
        {key: _without_secrets(value) for key, value in resource.items() if key in kept}
        for urn, resource in began.items()
        if _LOST.search(messages.get(urn, "")) or urn.rsplit("::", 1)[-1] in appeared
    ]


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        members = cast(dict[str, Any], value).items()
        return {key: _without_secrets(each) for key, each in members if not (isinstance(each, dict) and SECRET in each.values())}
    if isinstance(value, list):
        return [_without_secrets(each) for each in cast(list[Any], value)]
    return value


def held_delete(events: Iterable[str]) -> TransientError | None:
    """From an engine's events: why Azure refuses a delete for a while; None where it failed for other reasons."""
    return next((found for _, text in _errors(events) if (found := transient_errors.find(text))), None)


def refused_pools(events: Iterable[str]) -> list[str]:
    """From an engine's events: the URNs of Batch pools whose update by PUT was refused. Their component has changed them by PATCH
    then, which the state doesn't have (`azure_gpu.batch.pool.patch`)."""
    pool = f"{azure_types.BATCH_POOL.token}::"
    return list(dict.fromkeys(urn for urn, text in _errors(events) if pool in urn and CANNOT_BE_UPDATED in text))


def _errors(events: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The URN and the message of each error among an engine's events."""
    for event in parsed(events):
        diagnostic = event.get("diagnosticEvent") or {}
        if diagnostic.get("severity") == "error":
            yield str(diagnostic.get("urn")), str(diagnostic.get("message"))


def parsed(events: Iterable[str]) -> Iterator[dict[str, Any]]:
    """An engine's events, without one that the engine writes now, or was killed while it wrote."""
    for line in events:
        with suppress(ValueError):
            yield json.loads(line)


def half_made(deployment: Mapping[str, Any]) -> list[str]:
    """The names of resources that Azure accepted and then failed to create, for reasons that pass: another `up` updates them."""
    return [
        str(each["urn"]).rsplit("::", 1)[-1]
        for each in deployment.get("resources") or []
        if any(transient_errors.find(why) or is_missing_permission(why) for why in each.get("initErrors") or ())
    ]


def with_pending(deployment: Mapping[str, Any], creates: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The deployment with further unfinished creates."""
    operations = [{"resource": dict(resource), "type": "creating"} for resource in creates]
    return {**deployment, "pending_operations": [*(deployment.get("pending_operations") or ()), *operations]}


def settle(pending: list[PendingCreate], subscription: str, exists: Callable[[str, str], bool]) -> Settled:
    """Asks Azure, through `exists(id, api_version)`, for each pending create whether it happened."""
    imports: list[tuple[str, str]] = []
    forgotten: list[str] = []
    for create in pending:
        resource_id = create.azure_type and create.azure_type.id_of(subscription, create.inputs)
        if resource_id and exists(resource_id, create.inputs["azureApiVersion"]):
            imports.append((create.urn, resource_id))
        else:
            forgotten.append(create.urn)
    return Settled(tuple(imports), tuple(forgotten))


def settled_deployment(deployment: Mapping[str, Any], settled: Settled) -> dict[str, Any]:
    """The deployment with what exists among its resources, its inputs alone known, and without the creates that are settled.

    What was created to replace another of its name takes that one's place, which is left for the engine to delete.
    """
    ids = dict(settled.imports)
    done = {*ids, *settled.forgotten}
    operations = deployment.get("pending_operations") or []
    creates = {operation["resource"]["urn"]: operation["resource"] for operation in operations if operation["type"] == "creating"}
    resources: list[dict[str, Any]] = list(deployment.get("resources") or [])
    # Created and written down already: never to be deleted as its own predecessor.
    written = {each["urn"] for each in resources if each["urn"] in ids and _same(each.get("id"), ids[each["urn"]])}
    ids = {urn: resource_id for urn, resource_id in ids.items() if urn not in written}
    resources = [{**each, "delete": True} if each["urn"] in ids else each for each in resources]
    taken_in = [{**creates[urn], "id": resource_id} for urn, resource_id in ids.items()]
    left = [one for one in operations if one["type"] != "creating" or one["resource"]["urn"] not in done]
    return {**deployment, "resources": [*resources, *taken_in], "pending_operations": left}


def as_created(deployment: Mapping[str, Any], pending: list[PendingCreate], settled: Settled) -> dict[str, Any]:
    """The deployment, read anew, with the inputs that each resource taken in was created with.

    Reading takes every property of Azure for an input, including defaults; an update would then remove those that the stack
    leaves unset, which is a replacement for some.
    """
    ids, inputs = dict(settled.imports), {create.urn: create.inputs for create in pending}
    resources = [
        {**each, "inputs": inputs[each["urn"]]} if each["urn"] in ids and _same(each.get("id"), ids[each["urn"]]) else each
        for each in deployment.get("resources") or []
    ]
    return {**deployment, "resources": resources}


def _same(one: str | None, other: str) -> bool:
    return one is not None and one.lower() == other.lower()


def process_lives(pid: int) -> bool:
    """Whether a process of this machine is there and hasn't ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _has_ended(pid)


def _has_ended(pid: int) -> bool:
    """Whether only its exit code is left of it: nobody collects that where a container's first process is no init. Linux only."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] in (
        "Z",
        "X",
    )  # man 5 proc_pid_stat: the field after the name, which may have any sign
