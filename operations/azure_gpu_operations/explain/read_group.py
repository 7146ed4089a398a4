"""Reads a container group as facts."""

from collections.abc import Mapping
from typing import Any

from azure_gpu.formats.dates import instant
from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.explain import activity_log
from azure_gpu_operations.explain.facts import Container, Event, Facts, Kind
from azure_gpu_operations.groups import API_VERSION

LAST_LINES = 15


def read(arm: Arm, name: str, group_id: str) -> Facts:
    refusals = activity_log.of_resource(arm, group_id)
    body = arm.get(group_id, API_VERSION)
    if body is None:
        return Facts(name, Kind.GROUP, group_id, exists=False, refusals=refusals)
    logs = {each["name"]: _log(arm, group_id, each["name"]) for each in _bodies(body["properties"])}
    return of_body(name, body, logs)._replace(refusals=refusals)


def of_body(name: str, body: Mapping[str, Any], logs: Mapping[str, tuple[str, ...]]) -> Facts:
    """Facts from the group's body. Pure."""
    properties = body["properties"]
    view = properties.get("instanceView") or {}
    init = {each["name"] for each in properties.get("initContainers") or []}
    containers = [_container(each, logs.get(each["name"], ()), is_init=each["name"] in init) for each in _bodies(properties)]
    provisioning = str(properties.get("provisioningState") or "")
    return Facts(
        name=name,
        kind=Kind.GROUP,
        id=body["id"],
        state=str(view.get("state") or provisioning),
        provisioning=provisioning,
        containers=tuple(containers),
        events=_events(view),
    )


def _bodies(properties: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*(properties.get("initContainers") or []), *(properties.get("containers") or [])]


def _container(body: Mapping[str, Any], log: tuple[str, ...], *, is_init: bool) -> Container:
    properties = body["properties"]
    view = properties.get("instanceView") or {}
    current, previous = view.get("currentState") or {}, view.get("previousState") or {}
    requests = (properties.get("resources") or {}).get("requests") or {}
    memory = requests.get("memoryInGB", requests.get("memoryInGb"))
    return Container(
        name=body["name"],
        image=str(properties.get("image") or ""),
        state=str(current.get("state") or ""),
        exit_code=current.get("exitCode"),
        detail=_detail(current),
        previous_exit_code=previous.get("exitCode"),
        previous_detail=_detail(previous),
        restarts=int(view.get("restartCount") or 0),
        events=_events(view),
        log=log,
        began=instant(current.get("startTime")) or instant(previous.get("startTime")),
        memory=f"{memory:g} GB" if memory is not None else "",
        is_init=is_init,
    )


def _detail(state: Mapping[str, Any]) -> str:
    """`Error` and `Completed` add nothing to the exit code."""
    detail = str(state.get("detailStatus") or "")
    return "" if detail in ("Error", "Completed") else detail


def _events(view: Mapping[str, Any]) -> tuple[Event, ...]:
    return tuple(
        Event(str(each.get("name") or ""), str(each.get("message") or ""), each.get("type") == "Warning")
        for each in view.get("events") or []
    )


def _log(arm: Arm, group_id: str, container: str) -> tuple[str, ...]:
    """Empty for a container that never started: the service answers with an error."""
    try:
        answer = arm.get(f"{group_id}/containers/{container}/logs", API_VERSION)
    except AzureError:
        return ()
    return tuple(((answer or {}).get("content") or "").splitlines()[-LAST_LINES:])
