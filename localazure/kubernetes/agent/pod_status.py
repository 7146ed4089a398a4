"""The status of a pod, from what its containers are doing. Pure.

Phase, conditions and container statuses follow from a `ContainerState` for each container. Behaviour: kubelet v1.36.2,
pkg/kubelet/kubelet_pods.go (getPhase, convertToAPIContainerStatuses) and pkg/kubelet/status/generate.go.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Body = dict[str, Any]
CREATING = "ContainerCreating"
_OURS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


@dataclass(slots=True)
class ContainerState:
    """One container as it is now: one of waiting, running, terminated. `last` is how its run before ended."""

    name: str
    waiting: tuple[str, str] | None = (CREATING, "")  # reason and message
    running: str = ""  # since when
    terminated: Body | None = None
    last: Body | None = None
    restarts: int = 0
    ready: bool = False
    started: bool = False
    image: str = ""  # as it was pulled; empty: not yet
    image_id: str = ""
    container_id: str = ""

    def wait(self, reason: str, message: str = "") -> None:
        """It is to run, and doesn't yet or doesn't any more."""
        if self.terminated is not None:
            self.last = self.terminated
        self.waiting, self.running, self.terminated = (reason, message), "", None
        self.ready = self.started = False

    def run(self, since: str, container_id: str) -> None:
        if self.terminated is not None:
            self.last = self.terminated
        self.waiting, self.running, self.terminated = None, since, None
        self.container_id = container_id

    def end(self, terminated: Body) -> None:
        if self.terminated is not None:
            self.last = self.terminated
        self.waiting, self.running, self.terminated = None, "", terminated
        self.ready = self.started = False

    @property
    def state(self) -> Body:
        if self.running:
            return {"running": {"startedAt": self.running}}
        if self.terminated is not None:
            return {"terminated": self.terminated}
        reason, message = self.waiting or (CREATING, "")
        return {"waiting": {"reason": reason, **({"message": message} if message else {})}}


def is_sidecar(container: Body) -> bool:
    return container.get("restartPolicy") == "Always"


def should_restart(pod: Body, container: Body, code: int, *, init: bool) -> bool:
    """Whether a container that has ended runs again: by its own policy, else the pod's."""
    policy = container.get("restartPolicy") or pod["spec"].get("restartPolicy", "Always")
    if init and not is_sidecar(container):
        return code != 0 and policy != "Never"
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def phase(pod: Body, states: Mapping[str, ContainerState], *, over: bool) -> str:
    """`over`: nothing of the pod starts any more."""
    spec = pod["spec"]
    mains = [states[one["name"]] for one in spec["containers"]]
    begun = any(one.running or one.terminated or one.last for one in mains)
    pending = False
    for container in spec.get("initContainers") or ():
        state = states[container["name"]]
        if is_sidecar(container):
            pending |= not begun and not (state.running and state.started) and state.terminated is None
            continue
        ended = state.terminated or (state.last if state.waiting else None)
        if ended is None:
            pending = True
        elif ended["exitCode"] != 0:
            if not should_restart(pod, container, ended["exitCode"], init=True):
                return "Failed"
            pending = True
    if pending and not over:
        return "Pending"
    running = [*mains, *(states[one["name"]] for one in spec.get("initContainers") or () if is_sidecar(one))]
    if any(one.running for one in running) and not any(one.waiting and one.last is None for one in mains):
        return "Running"
    ended_all = [one.terminated or (one.last if one.waiting else None) for one in mains]
    if not over and any(one is None for one in ended_all):
        return "Pending"
    codes = [one["exitCode"] if one else None for one in ended_all]
    if over:
        return "Succeeded" if all(code == 0 for code in codes) else "Failed"
    again = [
        should_restart(pod, container, int(code or 0), init=False)
        for container, code in zip(spec["containers"], codes, strict=True)
    ]
    if any(again):
        return "Running"
    return "Succeeded" if all(code == 0 for code in codes) else "Failed"


def container_statuses(containers: list[Body], states: Mapping[str, ContainerState]) -> list[Body]:
    return [_container_status(one, states[one["name"]]) for one in containers]


def _container_status(container: Body, state: ContainerState) -> Body:
    status: Body = {
        "name": container["name"],
        "image": state.image or container["image"],
        "imageID": state.image_id,
        "ready": state.ready,
        "started": state.started,
        "restartCount": state.restarts,
        "state": state.state,
        "lastState": {"terminated": state.last} if state.last else {},
    }
    if state.container_id:
        status["containerID"] = state.container_id
    if container.get("volumeMounts"):
        status["volumeMounts"] = [_mounted(one) for one in container["volumeMounts"]]
    resources = container.get("resources") or {}
    if state.container_id and resources:
        status["resources"] = resources
        if resources.get("requests"):
            status["allocatedResources"] = resources["requests"]
    return status


def _mounted(mount: Body) -> Body:
    shown = {"name": mount["name"], "mountPath": mount["mountPath"]}
    return {**shown, "readOnly": True, "recursiveReadOnly": "Disabled"} if mount.get("readOnly") else shown


def conditions(pod: Body, states: Mapping[str, ContainerState], phase_now: str, now: str, *, sandbox: bool) -> list[Body]:
    """The kubelet's own conditions, and those of others as they are. `sandbox`: containers may start."""
    spec = pod["spec"]
    inits = spec.get("initContainers") or []
    containers_ready = _containers_ready(spec, inits, states, phase_now)
    found = [
        ("PodReadyToStartContainers", sandbox, "", ""),
        ("Initialized", *_initialized(spec, inits, states, phase_now)),
        ("Ready", *containers_ready),
        ("ContainersReady", *containers_ready),
        ("PodScheduled", True, "", ""),
    ]
    before = {one["type"]: one for one in (pod.get("status") or {}).get("conditions") or ()}
    own = [_condition(pod, *one, before.get(one[0]), now) for one in found]
    return [one for kind, one in before.items() if kind not in _OURS] + own


Told = tuple[bool, str, str]  # status, reason, message


def _containers_ready(spec: Body, inits: list[Body], states: Mapping[str, ContainerState], phase_now: str) -> Told:
    if phase_now == "Succeeded":
        return False, "PodCompleted", ""
    if phase_now == "Failed":
        return False, "PodFailed", ""
    counted = [*(one for one in inits if is_sidecar(one)), *spec["containers"]]
    unready = [one["name"] for one in counted if not states[one["name"]].ready]
    if unready:
        return False, "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]"
    return True, "", ""


def _initialized(spec: Body, inits: list[Body], states: Mapping[str, ContainerState], phase_now: str) -> Told:
    if phase_now == "Succeeded":
        return True, "PodCompleted", ""
    if any(states[one["name"]].running or states[one["name"]].restarts for one in spec["containers"]):
        return True, "", ""
    missing = [one["name"] for one in inits if not _is_done(one, states[one["name"]])]
    if missing:
        return False, "ContainersNotInitialized", f"containers with incomplete status: [{' '.join(missing)}]"
    return True, "", ""


def _is_done(container: Body, state: ContainerState) -> bool:
    if is_sidecar(container):
        return state.started
    return state.terminated is not None and state.terminated["exitCode"] == 0


def _condition(pod: Body, kind: str, status: bool, reason: str, message: str, before: Body | None, now: str) -> Body:
    text = str(status)
    since = before["lastTransitionTime"] if before and before["status"] == text and before.get("lastTransitionTime") else now
    return {
        "type": kind,
        "status": text,
        "lastProbeTime": None,
        "lastTransitionTime": since,
        "observedGeneration": pod["metadata"].get("generation", 1),
        "reason": reason or None,
        "message": message or None,
    }
