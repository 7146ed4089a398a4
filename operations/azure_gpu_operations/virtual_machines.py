"""Virtual machines as ARM reports them: power state, results of extensions and run-commands, shutdown schedule."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any, NamedTuple

from azure_gpu.formats import azure_types
from azure_gpu.formats.dates import instant
from azure_gpu_operations.azure import Arm
from azure_gpu_operations.observed.bodies import read

API_VERSION = "2024-11-01"
MACHINE_TYPE = azure_types.VIRTUAL_MACHINE.arm_type
SCHEDULES_VERSION = "2018-09-15"


class Extension(NamedTuple):
    """One extension of a machine."""

    name: str
    type: str = ""
    state: str = ""  # succeeded, failed, transitioning
    message: str = ""


class RunCommand(NamedTuple):
    """A run-command resource of a machine."""

    name: Annotated[str, "name"]
    # Pending, Running, Succeeded, Failed, TimedOut, Canceled
    state: Annotated[str, "properties.instanceView.executionState"] = ""
    exit_code: Annotated[int | None, "properties.instanceView.exitCode"] = None
    output: Annotated[str, "properties.instanceView.output"] = ""
    error: Annotated[str, "properties.instanceView.error"] = ""
    message: Annotated[str, "properties.instanceView.executionMessage"] = ""
    ended: Annotated[datetime | None, "properties.instanceView.endTime"] = None


class Shutdown(NamedTuple):
    """When a machine is deallocated each day."""

    time: str = ""  # HH:MM; "" for no such schedule
    zone: str = ""


class Machine(NamedTuple):
    """One machine."""

    id: Annotated[str, "id"]
    name: Annotated[str, "name"]
    state: Annotated[str, "properties.provisioningState"] = ""  # of provisioning
    power: str = ""  # running, stopped, deallocated, …
    since: datetime | None = None  # of this power state
    size: Annotated[str, "properties.hardwareProfile.vmSize"] = ""
    location: Annotated[str, "location"] = ""
    windows: bool = False
    spot: bool = False
    disk_type: Annotated[str, "properties.storageProfile.osDisk.managedDisk.storageAccountType"] = ""  # of the system's disk
    disk_gib: Annotated[int | None, "properties.storageProfile.osDisk.diskSizeGB"] = None
    created: Annotated[datetime | None, "properties.timeCreated"] = None
    messages: tuple[str, ...] = ()  # of the service
    extensions: tuple[Extension, ...] = ()
    commands: tuple[RunCommand, ...] = ()
    shutdown: Shutdown = Shutdown()
    tags: Annotated[Mapping[str, str], "tags"] = {}


def get(arm: Arm, machine_id: str, *, whole: bool = True) -> Machine | None:
    """None if it doesn't exist. Not `whole`: without run-commands and shutdown, which need a request each."""
    body = arm.get(machine_id, API_VERSION)
    if body is None:
        return None
    view = arm.get(f"{machine_id}/instanceView", API_VERSION) or {}
    machine = machine_of(body, view)
    if not whole:
        return machine
    commands = tuple(command_of(each) for each in _run_commands(arm, machine_id))
    return machine._replace(commands=commands, shutdown=_shutdown(arm, machine_id))


def _run_commands(arm: Arm, machine_id: str) -> Iterator[dict[str, Any]]:
    """With their results, which a list doesn't contain."""
    for each in arm.values(f"{machine_id}/runCommands", API_VERSION):
        command = f"{machine_id}/runCommands/{each['name']}"
        yield arm.get(command, API_VERSION, **{"$expand": "instanceView"}) or each


def machine_of(body: Mapping[str, Any], view: Mapping[str, Any]) -> Machine:
    """Pure."""
    properties = body.get("properties") or {}
    disk = (properties.get("storageProfile") or {}).get("osDisk") or {}
    statuses = view.get("statuses") or []
    power = next((each for each in statuses if str(each.get("code")).startswith("PowerState/")), {})
    failed = [each for each in statuses if "/failed" in str(each.get("code") or "").lower()]
    return read(
        Machine,
        body,
        power=str(power.get("code") or "").partition("/")[2],
        since=instant(power.get("time")),
        windows=disk.get("osType") == "Windows",
        spot=properties.get("priority") in ("Spot", "Low"),
        messages=tuple(_words(each) for each in failed),
        extensions=tuple(_extension(each) for each in view.get("extensions") or []),
    )


def command_of(body: Mapping[str, Any]) -> RunCommand:
    """Pure."""
    return read(RunCommand, body)


def _extension(view: Mapping[str, Any]) -> Extension:
    statuses = [*(view.get("statuses") or []), *(view.get("substatuses") or [])]
    code = next((str(each.get("code")) for each in statuses if str(each.get("code")).startswith("ProvisioningState/")), "")
    words = "; ".join(text for each in statuses if (text := str(each.get("message") or "").strip()))
    state = code.split("/")[1] if "/" in code else ""
    return Extension(str(view.get("name") or ""), str(view.get("type") or ""), state, words)


def _words(status: Mapping[str, Any]) -> str:
    return f"{str(status.get('code') or '').rpartition('/')[2]}: {status.get('message') or ''}".strip(": ")


def _shutdown(arm: Arm, machine_id: str) -> Shutdown:
    """The machine's shutdown schedule, which Azure finds by the machine's name."""
    group, name = machine_id.split("/providers/")[0], machine_id.rsplit("/", 1)[-1]
    body = arm.get(f"{group}/providers/Microsoft.DevTestLab/schedules/shutdown-computevm-{name}", SCHEDULES_VERSION)
    properties = (body or {}).get("properties") or {}
    time = str((properties.get("dailyRecurrence") or {}).get("time") or "")
    if properties.get("status") != "Enabled" or len(time) != 4:
        return Shutdown()
    return Shutdown(f"{time[:2]}:{time[2:]}", str(properties.get("timeZoneId") or ""))
