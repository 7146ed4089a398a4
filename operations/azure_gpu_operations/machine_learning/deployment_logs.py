"""Shows the logs of deployments while `up` waits for them, so that a missing model or package is seen at once.

Each line starts with deployment and container. The engine's events tell whether it changes one, the pending operations of the
stack's state which, and the logs come from Azure Machine Learning. Lines that may contain a secret are hidden, and errors here
don't affect the update.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from azure_gpu.formats.likely_secrets import holds_secret
from azure_gpu_operations import repair
from azure_gpu_operations.azure import UNREADABLE, Arm
from azure_gpu_operations.connection import connection_of
from azure_gpu_operations.machine_learning import endpoints
from azure_gpu_operations.machine_learning.endpoints import INFERENCE_SERVER, STORAGE_INITIALIZER
from azure_gpu_operations.stack import EngineError, Stack
from azure_gpu_operations.terminal import printable

POLL_SECONDS = 3.0
MOST_LINES = 500  # of a log, per read
HIDDEN = "[a line that may hold a secret]"
_DEPLOYMENT = "azure-native:machinelearningservices:OnlineDeployment"
_CONTAINERS = {STORAGE_INITIALIZER: "storage-initializer", INFERENCE_SERVER: "inference-server"}
_COMING = ("creating", "updating")
_CHANGES = ("create", "create-replacement", "update")
_LONGEST = 300  # characters of a line

Say = Callable[[str], None]


@contextmanager
def shown(stack: Stack, say: Say, events: Path, poll_seconds: float = POLL_SECONDS) -> Iterator[None]:
    """Shows the logs while the block runs. `events`: what the engine writes its events into."""
    stop = threading.Event()
    thread = threading.Thread(target=_follow, args=(stack, say, events, stop, poll_seconds), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(poll_seconds + 10)


def _follow(stack: Stack, say: Say, events: Path, stop: threading.Event, poll_seconds: float) -> None:
    following: dict[str, Log] = {}
    ending = False
    while not ending:
        ending = stop.wait(poll_seconds)
        try:
            if not following and not is_changed(events.read_text(encoding="utf-8", errors="replace").splitlines()):
                continue  # exporting the state takes the engine a third of a second
            deployment = stack.deployment()
            coming = pending(deployment)
            gone = [each for each in following if each not in coming]
            for resource_id, name in coming.items():
                following.setdefault(resource_id, Log(name, resource_id))
            connection = connection_of(deployment)
            if following and connection is not None:
                with closing(Arm(connection)) as arm:
                    for log in list(following.values()):
                        log.read(arm, say)
            for each in gone:  # read once more after its end: the last lines say why it failed
                del following[each]
        except (EngineError, *UNREADABLE, OSError, ValueError):
            pass


def is_changed(events: Iterable[str]) -> bool:
    """From an engine's events: whether a deployment is being created or updated."""
    changing: set[str] = set()
    for event in repair.parsed(line for line in events if _DEPLOYMENT in line):
        if begun := event.get("resourcePreEvent"):
            changing |= {begun["metadata"]["urn"]} if begun["metadata"]["op"] in _CHANGES else set()
        elif ended := event.get("resOutputsEvent") or event.get("resOpFailedEvent"):
            changing.discard(ended["metadata"]["urn"])
    return bool(changing)


class Log:
    """Both logs of one deployment, each line once."""

    def __init__(self, name: str, resource_id: str) -> None:
        self.name = name
        self._id = resource_id
        self._seen: dict[str, tuple[str, ...]] = {}

    def read(self, arm: Arm, say: Say) -> None:
        for container, called in _CONTAINERS.items():
            lines = endpoints.logged(arm, self._id, container, MOST_LINES).lines
            for line in new(self._seen.get(container, ()), lines):
                shown_line = HIDDEN if holds_secret(line) else _shown(endpoints.without_time(line))
                if shown_line:
                    say(f"{self.name} {called}: {shown_line}")
            if lines:
                self._seen[container] = lines


def new(before: Sequence[str], now: Sequence[str]) -> Sequence[str]:
    """The new lines of a log whose last lines are read each time: those after the end of `before`."""
    for length in range(min(len(before), len(now)), 0, -1):
        if tuple(before[-length:]) == tuple(now[:length]):
            return now[length:]
    return now


def pending(deployment: Mapping[str, Any]) -> dict[str, str]:
    """ARM id of each deployment that the engine creates or updates, with `endpoint/deployment` by the stack file's names."""
    found: dict[str, str] = {}
    for operation in deployment.get("pending_operations") or []:
        resource = operation.get("resource") or {}
        inputs = resource.get("inputs") or {}
        if operation.get("type") not in _COMING or resource.get("type") != _DEPLOYMENT:
            continue
        resource_id = str(resource.get("id") or "") or _id(deployment, inputs)
        if resource_id:
            component = str(resource.get("parent") or "").rsplit("::", 1)[-1]
            found[resource_id] = f"{component or inputs.get('endpointName')}/{inputs.get('deploymentName')}"
    return found


def _id(deployment: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
    """Id of a deployment that doesn't exist yet, from that of its endpoint in the stack's state."""
    endpoint = str(inputs.get("endpointName") or "").lower()
    for resource in deployment.get("resources") or []:
        resource_id = str(resource.get("id") or "")
        if resource_id.lower().endswith(f"/onlineendpoints/{endpoint}") and inputs.get("deploymentName"):
            return f"{resource_id}/deployments/{inputs['deploymentName']}"
    return ""


def _shown(line: str) -> str:
    clean = printable(line).strip()
    return clean if len(clean) <= _LONGEST else f"{clean[:_LONGEST]}…"
