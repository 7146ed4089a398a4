"""Waits for container groups that run to completion, and shows how each ended."""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.terminal import coloured

API_VERSION = "2023-05-01"
POLL_SECONDS = 2.0
LAST_LINES = 12

_ENDED = {"Succeeded", "Failed", "Stopped"}


class ContainerEnd(NamedTuple):
    """One container: its state, its exit code (None while it hasn't one) and its last lines of log."""

    name: str
    state: str
    exit_code: int | None
    log: tuple[str, ...]


class GroupEnd(NamedTuple):
    """One group; `state` is the service's: `Succeeded`, `Failed`, `Stopped`, `Running`, or `Missing`."""

    name: str
    state: str
    containers: tuple[ContainerEnd, ...] = ()

    @property
    def succeeded(self) -> bool:
        return self.state == "Succeeded"


def wait(
    arm: Arm,
    groups: Mapping[str, str],
    *,
    limit_seconds: float,
    say: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[GroupEnd]:
    """Waits until every group of `groups` (logical name to id) has ended, at most `limit_seconds`. Shows each change of state."""
    deadline = clock() + limit_seconds
    known: dict[str, str] = {}
    while True:
        for name, group_id in groups.items():
            if known.get(name) in _ENDED:
                continue
            state = _state(arm.get(group_id, API_VERSION))
            if known.get(name) != state:
                say(f"{name}: {state}")
            known[name] = state
        if all(state in _ENDED or state == "Missing" for state in known.values()) or clock() >= deadline:
            return [_end(arm, name, group_id) for name, group_id in groups.items()]
        sleep(POLL_SECONDS)


def runs_to_an_end(group: Mapping[str, Any]) -> bool:
    """False for a group with restart policy Always, which never ends."""
    return group["properties"].get("restartPolicy", "Always") != "Always"


def render(ends: list[GroupEnd]) -> str:
    """Each group's state, each container's exit code and last log lines."""
    lines: list[str] = []
    for group in ends:
        lines.append(f"{group.name}: {group.state}")
        for container in group.containers:
            code = "none yet" if container.exit_code is None else str(container.exit_code)
            lines.append(f"  {container.name}: {container.state}, exit code {code}, last lines of its log:")
            lines.extend(f"    {coloured(line)}" for line in container.log)
    return "\n".join(lines)


def _state(group: Mapping[str, Any] | None) -> str:
    if group is None:
        return "Missing"
    properties = group["properties"]
    return properties.get("instanceView", {}).get("state") or properties["provisioningState"]


def _end(arm: Arm, name: str, group_id: str) -> GroupEnd:
    group = arm.get(group_id, API_VERSION)
    if group is None:
        return GroupEnd(name, "Missing")
    containers = tuple(_container_end(arm, group_id, container) for container in group["properties"]["containers"])
    return GroupEnd(name, _state(group), containers)


def _container_end(arm: Arm, group_id: str, container: Mapping[str, Any]) -> ContainerEnd:
    current = container["properties"].get("instanceView", {}).get("currentState", {})
    return ContainerEnd(
        name=container["name"],
        state=current.get("state", "Waiting"),
        exit_code=current.get("exitCode"),
        log=_last_lines(arm, f"{group_id}/containers/{container['name']}/logs"),
    )


def _last_lines(arm: Arm, logs_id: str) -> tuple[str, ...]:
    try:
        answer = arm.get(logs_id, API_VERSION)
    except AzureError as error:
        return (f"(no log: {error})",)
    content = (answer or {}).get("content") or ""
    return tuple(content.splitlines()[-LAST_LINES:])
