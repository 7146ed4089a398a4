"""Tests a container group: starts it again, waits for its end, and reads its log.

A group only runs its declared containers. One that runs forever is checked as it is. Starting an ended group runs its containers
again, which are billed while they run (Microsoft Learn, container-instances/container-instances-stop-start).
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

from azure_gpu_operations.azure import Arm
from azure_gpu_operations.groups import API_VERSION, POLL_SECONDS, runs_to_an_end
from azure_gpu_operations.prove.proof import Proof, Report, Service, joined, report_of

SECONDS = 600.0
_ENDED = ("Succeeded", "Failed", "Stopped")
LAST_LINES = 5

Explain = Callable[[str], list[str]]


def prove(
    arm: Arm,
    place: str,
    group_id: str,
    explain: Explain,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Proof:
    body = arm.get(group_id, API_VERSION)
    if body is None:
        return _failed(place, "the group is in the stack's state but not in Azure; run `pulumi refresh`")
    if not runs_to_an_end(body):
        return _of_a_server(arm, place, group_id, body, explain)
    runs_before = _begun(body)
    arm.post(f"{group_id}/start", API_VERSION)
    began, first = clock(), None
    while clock() - began < SECONDS:
        body = arm.get(group_id, API_VERSION)
        if body is None:
            return _failed(place, "the group was deleted while it ran")
        is_anew = _begun(body) != runs_before or not _is_over(body)
        lines = _log(arm, group_id, body) if is_anew else []
        first = clock() - began if first is None and lines else first
        if is_anew and _begun(body) != runs_before and _is_over(body):
            return _ended(arm, place, group_id, body, first, explain)
        sleep(POLL_SECONDS / 4)
    return _failed(place, f"it didn't end within {SECONDS / 60:g} minutes", *explain(place))


def _ended(arm: Arm, place: str, group_id: str, body: Mapping[str, Any], first: float | None, explain: Explain) -> Proof:
    codes = [_current(each).get("exitCode") for each in body["properties"]["containers"]]
    lines = _log(arm, group_id, body)
    found = report_of(lines)
    if any(codes):
        details = (found.problems if found else ()) or tuple(lines[-LAST_LINES:])
        code = next(each for each in codes if each)
        return _failed(place, f"exit code {code}", *details, *explain(place))._replace(first_line_seconds=first)
    return joined(Service.CONTAINER_GROUP, place, [found or Report("", passed=True)], first_line_seconds=first)


def _of_a_server(arm: Arm, place: str, group_id: str, body: Mapping[str, Any], explain: Explain) -> Proof:
    state = (body["properties"].get("instanceView") or {}).get("state")
    if state != "Running":
        return _failed(place, f"it is {state or 'in no state'} and should run", *explain(place))
    found = report_of(_log(arm, group_id, body))
    return joined(Service.CONTAINER_GROUP, place, [found or Report("", passed=True)])


def _failed(place: str, *why: str) -> Proof:
    return Proof(Service.CONTAINER_GROUP, place, passed=False, why=why)


def _is_over(body: Mapping[str, Any]) -> bool:
    return (body["properties"].get("instanceView") or {}).get("state") in _ENDED


def _begun(body: Mapping[str, Any]) -> list[str]:
    """The last start times of the containers."""
    return [str(_current(each).get("startTime") or "") for each in body["properties"]["containers"]]


def _current(container: Mapping[str, Any]) -> Mapping[str, Any]:
    return (container["properties"].get("instanceView") or {}).get("currentState") or {}


def _log(arm: Arm, group_id: str, body: Mapping[str, Any]) -> list[str]:
    """Of its first container."""
    name = body["properties"]["containers"][0]["name"]
    answer = arm.get(f"{group_id}/containers/{name}/logs", API_VERSION)
    return str((answer or {}).get("content") or "").splitlines()
