"""A deployment's logs as `getLogs` answers them: of the storage initializer, and of the containers in which the servers run."""

from collections.abc import Mapping
from pathlib import Path

from localazure.containers.runtime import State

INITIALIZER, SERVER = "StorageInitializer", "InferenceServer"


def of_file(path: Path, tail: int | None) -> str:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
    except FileNotFoundError:
        return ""
    return "".join(lines if tail is None else lines[max(len(lines) - tail, 0) :])


def of_instances(instances: Mapping[str, tuple[State | None, str]]) -> str:
    """By instance: its state, and the lines that are requested. In the order that clients of the service know."""
    return "\n".join(_instance(name, state, printed) for name, (state, printed) in instances.items())


def _instance(name: str, state: State | None, printed: str) -> str:
    current = (state or {}).get("current") or {}
    ended = current.get("state") == "Terminated" or "CrashLoopBackOff" in str(current.get("detailStatus"))
    start = "Failed" if ended else "Succeeded" if current.get("state") == "Running" else "InProgress"
    before = "Succeeded" if current else "InProgress"
    lines = [
        f"Instance status ({name}):",
        "SystemSetup: Succeeded",
        f"UserContainerImagePull: {before}",
        f"ModelDownload: {before}",
        f"UserContainerStart: {start if current else 'Pending'}",
        "",
        "Container events:",
        *(_event(each) for each in (state or {}).get("events", ())),
        "",
        "Container logs:",
        printed,
    ]
    return "\n".join(lines)


def _event(event: Mapping[str, object]) -> str:
    when, name, message = event["lastTimestamp"], event["name"], event["message"]
    return f"Kind: Pod, Name: {name}, Type: {event['type']}, Time: {when}, Message: {message}"
