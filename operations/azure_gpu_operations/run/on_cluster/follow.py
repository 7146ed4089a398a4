"""Follows a Job to its end: what its pod waits for, its log, replaced pods. KeyboardInterrupt passes through."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from azure_gpu.kubernetes import worker_group
from azure_gpu_operations.clusters import queues, scheduling
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.clusters.objects import (
    GPU_PREFIXES,
    ContainerSeen,
    EventSeen,
    JobSeen,
    NodeSeen,
    PodSeen,
    by_age,
    node_of,
)
from azure_gpu_operations.clusters.scheduling import Reason
from azure_gpu_operations.explain import pod_rules
from azure_gpu_operations.explain.cluster_facts import PodCase
from azure_gpu_operations.observed import in_cluster
from azure_gpu_operations.run import service_run
from azure_gpu_operations.run.log_lines import Logs, PodLog
from azure_gpu_operations.run.on_cluster.outcome import DEADLINE, JOB, Kind, main
from azure_gpu_operations.run.on_cluster.plan import CONTAINER
from azure_gpu_operations.run.protocol import Output, Say

HINT_SECONDS = 90.0  # of waiting, after which `explain` is suggested once
DRAIN_SECONDS = 10.0  # how long the log may continue after the container's end


class Api(Logs, Protocol):
    """Requests to the cluster."""

    def get(self, path: str) -> dict[str, Any] | None: ...

    def items(self, path: str, **query: str) -> list[dict[str, Any]]: ...


class End(NamedTuple):
    """How the Job ended."""

    job: JobSeen | None = None  # None: it was deleted
    pods: tuple[PodSeen, ...] = ()
    nodes: Mapping[str, NodeSeen] = {}  # of its pods, if this login may read nodes
    hopeless: str = ""  # why following was given up
    fix: str = ""  # for that
    lines: int = 0  # of log
    is_late: bool = False  # its timeout has passed, and it still exists


class Follower(service_run.Follower[End]):
    """One Job."""

    service = "the cluster"

    def __init__(
        self,
        api: Api,
        namespace: str,
        name: str,
        output: Output,
        *,
        kind: Kind = JOB,
        hint: str = "",
        limit_seconds: float | None = None,
        **times: Any,
    ) -> None:
        super().__init__(f"the job {name}", output, **times)
        self._api, self._namespace, self._name, self._hint = api, namespace, name, hint
        self._kind, self._limit_seconds = kind, limit_seconds
        self._began: float | None = None  # when its first pod was there
        self._pods: dict[str, PodSeen] = {}
        self._nodes: dict[str, NodeSeen] = {}
        self._no_nodes = False
        self._logs: dict[str, PodLog] = {}
        self._told_lost: set[str] = set()
        self._state: tuple[str, str] = ("", "")
        self._state_at = self._clock()

    @property
    def path(self) -> str:
        return f"{self._kind.path(self._namespace)}/{self._name}"

    def leave(self) -> tuple[list[PodSeen], dict[str, NodeSeen]]:
        """Stops showing output; returns what was seen so far."""
        for log in self._logs.values():
            log.leave()
        return by_age(self._pods.values()), self._nodes

    def _look(self) -> End | None:
        body = self._api.get(self.path)
        if body is None:
            return End(None, tuple(by_age(self._pods.values())), self._nodes, lines=self._drain())
        job = self._late(self._kind.seen(body))
        found = in_cluster.pods_of(self._api, self._namespace, self._name, self._kind.pod_label)
        self._pods |= {pod.name: pod for pod in found}
        pods = by_age(self._pods.values())
        there = {pod.name for pod in found}
        for pod in pods:
            self._tell_lost(pod, pod.name in there, is_last=pod is pods[-1] and job.is_over)
            self._see_node(pod)
            self._start_log(pod)
        if job.is_over:
            return End(job, tuple(pods), self._nodes, lines=self._drain())
        if pods and self._began is None:
            self._began = self._clock()
        if self._is_late(pods):
            self.leave()
            lines = sum(log.lines for log in self._logs.values())
            return End(job._replace(failure=DEADLINE), tuple(pods), self._nodes, lines=lines, is_late=True)
        current = self._slowest([pod for pod in pods if pod.name in there]) if self._kind.is_group else pods[-1] if pods else None
        return self._wait(job, current if current is not None and current.name in there else None, pods)

    def _late(self, job: JobSeen) -> JobSeen:
        """Sets the failure to timeout if the Job's was: a JobSet doesn't report that."""
        if not (self._kind.is_group and job.failure):
            return job
        own = self._api.get(f"{JOB.path(self._namespace)}/{self._kind.job_name(self._name)}")
        return job._replace(failure=DEADLINE) if own is not None and JOB.seen(own).failure == DEADLINE else job

    def _is_late(self, pods: list[PodSeen]) -> bool:
        """Whether a restarted group is over its timeout, which Kubernetes restarts with the new Job."""
        if not self._kind.is_group or self._limit_seconds is None or self._began is None:
            return False
        has_restarted = any(int(pod.labels.get(worker_group.ATTEMPT_LABEL) or 0) for pod in pods)
        return has_restarted and self._clock() - self._began >= self._limit_seconds

    @staticmethod
    def _slowest(pods: list[PodSeen]) -> PodSeen | None:
        """The worker of a group that isn't running yet, which the others wait for."""
        waiting_for = [pod for pod in pods if not pod.is_over and pod.phase != "Running"]
        return waiting_for[0] if waiting_for else pods[-1] if pods else None

    def _wait(self, job: JobSeen, pod: PodSeen | None, pods: list[PodSeen]) -> End | None:
        if pod is not None and (pod.is_over or (pod.phase == "Running" and not _is_held_up(pod))):
            return None
        events = in_cluster.events(self._api, self._namespace, pod.name) if pod is not None else ()
        job_events = in_cluster.events(self._api, self._namespace, self._name) if pod is None else ()
        text = waiting_for(pod, events, job_events) or self._in_queue(job, pod)
        self._once(text)
        waited = self._since(pod)
        if self._hint and waited >= HINT_SECONDS:
            self._say(f"still waiting; for details: {self._hint}")
            self._hint = ""
        reason = hopeless_because(pod, events, waited, pods)
        if not reason:
            return None
        fix = pod_rules.explain(PodCase(pod or pods[-1], events)).fix
        return End(job, tuple(pods), self._nodes, reason, fix, self._drain())

    def _in_queue(self, job: JobSeen, pod: PodSeen | None) -> str:
        if pod is not None or worker_group.QUEUE_LABEL not in job.labels:
            return ""
        why = queues.held(self._api, self._namespace, self._name)
        return f"waiting for its queue {job.labels[worker_group.QUEUE_LABEL]}: {why}" if why else ""

    def _since(self, pod: PodSeen | None) -> float:
        """Seconds for which the pod's container has waited for the same reason; reasons of one pull count as the same."""
        held = next((each.reason for each in pod.containers if each.state == "waiting"), "") if pod is not None else ""
        kind = "pull" if held in PULL_FAILS else held
        state = (pod.name if pod is not None else "", kind)
        if state != self._state:
            self._state, self._state_at = state, self._clock()
        return self._clock() - self._state_at

    def _tell_lost(self, pod: PodSeen, is_there: bool, *, is_last: bool) -> None:
        """Reports an evicted or deleted pod, which the Job replaces. A group deletes its workers when one fails, so there only a
        disruption is reported."""
        is_gone = not self._kind.is_group and not is_there and not pod.is_over
        if is_last or pod.name in self._told_lost or not (pod.disruption or is_gone):
            return
        self._told_lost.add(pod.name)
        node = self._nodes.get(pod.node)
        spot = ", a Spot node" if node is not None and node.is_spot else ""
        why = f" ({pod.reason}: {pod.message})" if pod.reason == "Evicted" else ""
        where = f" from the node {pod.node}{spot}" if pod.node else ""
        again = "all workers restart" if self._kind.is_group else "the job restarts in another pod"
        self._say(f"the pod {pod.name} was evicted{where}{why}; {again}")

    def _see_node(self, pod: PodSeen) -> None:
        if not pod.node or pod.node in self._nodes or self._no_nodes:
            return
        try:
            body = self._api.get(f"/api/v1/nodes/{pod.node}")
        except ClusterError as error:
            if not error.is_refusal:
                raise
            self._no_nodes = True  # a user of one namespace, as on edges
            return
        if body is not None:
            self._nodes[pod.node] = node_of(body)

    def _start_log(self, pod: PodSeen) -> None:
        container = main(pod)
        if container is None or container.state not in ("running", "terminated") or pod.name in self._logs:
            return
        if container.began is None:
            return  # it never started, and has no output
        self._say(f"pod {pod.name} is running on node {pod.node}")
        self._logs[pod.name] = PodLog(self._api, self._namespace, pod.name, CONTAINER, self._shown_of(pod))
        self._logs[pod.name].start()

    def _shown_of(self, pod: PodSeen) -> Say:
        """Prefixes lines of several workers with their index."""
        if not self._kind.is_group:
            return self._output.show
        worker = pod.labels.get(worker_group.INDEX_LABEL, "?")
        return lambda line: self._output.show(f"[{worker}] {line}")

    def _drain(self) -> int:
        for log in self._logs.values():
            log.finish(DRAIN_SECONDS)
        return sum(log.lines for log in self._logs.values())


def _is_held_up(pod: PodSeen) -> bool:
    return any(each.state == "waiting" for each in pod.containers)


IMAGE_SECONDS = 120.0  # for which a pull may fail: a new role takes a minute to work
CONFIG_SECONDS = 60.0
MOST_EVICTIONS = 3  # by nodes under resource pressure, which a further pod wouldn't avoid
NEVER_PULLED = ("InvalidImageName", "ErrImageNeverPull")
PULL_FAILS = ("ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "SignatureValidationFailed")
CONFIG_FAILS = ("CreateContainerConfigError", "CreateContainerError")
_NOT_MADE = "FailedCreate"


def waiting_for(pod: PodSeen | None, events: Sequence[EventSeen], job_events: Sequence[EventSeen]) -> str:
    """Empty if the pod is running or has ended."""
    if pod is None:
        refused = last_event(job_events, _NOT_MADE)
        return f"the cluster creates no pod for it: {_short(refused.message)}" if refused else ""
    if pod.is_over or pod.phase == "Running":
        return ""
    if not pod.node:
        return _for_a_node(pod, events)
    return _on_node(pod, events)


def hopeless_because(pod: PodSeen | None, events: Sequence[EventSeen], waited_seconds: float, pods: Sequence[PodSeen]) -> str:
    """Why it will never run; "" if it may. `waited_seconds`: in the pod's current state."""
    evicted = [each for each in pods if each.reason == "Evicted"]
    if len(evicted) >= MOST_EVICTIONS:
        return f"its nodes evicted {len(evicted)} of its pods: {_short(evicted[-1].message)}"
    container = _waiting_container(pod) if pod is not None else None
    if pod is None or container is None:
        return ""
    if container.reason in NEVER_PULLED or (container.reason in PULL_FAILS and waited_seconds >= IMAGE_SECONDS):
        return f"the image {container.image} can't be pulled: {_pull_error(container, events)}"
    if container.reason in CONFIG_FAILS and waited_seconds >= CONFIG_SECONDS:
        return f"its container can't be created: {_short(container.message)}"
    return ""


def in_words(reasons: Sequence[Reason]) -> str:
    """Readable reasons: `2 of 3 nodes have not enough nvidia.com/gpu`."""
    total = sum(each.count for each in reasons)
    parts: list[str] = []
    for each in sorted(reasons, key=lambda one: -one.count):
        nodes = f"{each.count} of {total} nodes" if total > 1 else "the only node"
        many = each.count > 1
        if each.missing:
            parts.append(f"{nodes} {'have' if many else 'has'} not enough {each.missing}")
        elif each.is_taint:
            taint = f" {each.taint.key}={each.taint.value}" if each.taint and each.taint.value else ""
            parts.append(f"{nodes} {'have' if many else 'has'} an untolerated taint{taint}")
        elif scheduling.WRONG_SELECTOR in each.text:
            parts.append(f"{nodes} {'are' if many else 'is'} in another pool")
        else:
            parts.append(f"{nodes}: {each.text.removeprefix('node(s) ')}")
    return "; ".join(parts)


def last_event(events: Sequence[EventSeen], reason: str) -> EventSeen | None:
    return next((each for each in reversed(events) if each.reason == reason), None)


def _for_a_node(pod: PodSeen, events: Sequence[EventSeen]) -> str:
    decision = scheduling.last_word(events)
    scale_up = scheduling.scale_up(decision) if decision is not None else None
    reasons = scheduling.reasons(pod.unschedulable)
    if decision is not None and decision.reason == scheduling.TRIGGERED and not _has_come(decision, reasons, events):
        which = f" to {scale_up.pool} ({scale_up.before} → {scale_up.after})" if scale_up else ""
        return f"the autoscaler is adding a node{which}, which takes minutes"
    if not reasons:
        return f"no suitable node yet: {_short(pod.unschedulable)}" if pod.unschedulable else ""
    adds = ""
    if decision is not None and decision.reason == scheduling.NOT_TRIGGERED:
        why = scheduling.reasons(decision.message)
        at_most = any(scheduling.AT_MAX in each.text for each in why)
        adds = "; the autoscaler adds no node: " + (
            "the pool is at its maximum" if at_most else _short(decision.message.partition(": ")[2] or decision.message)
        )
    return f"no suitable node yet: {in_words(reasons)}{adds}"


def _has_come(decision: EventSeen, reasons: Sequence[Reason], events: Sequence[EventSeen]) -> bool:
    """Whether the requested node has joined but lacks GPUs, according to a later event of the scheduler."""
    looked = last_event(events, "FailedScheduling")
    lacks = any(each.missing.startswith(GPU_PREFIXES) for each in reasons if each.missing)
    return lacks and looked is not None and decision.at is not None and looked.at is not None and looked.at > decision.at


def _on_node(pod: PodSeen, events: Sequence[EventSeen]) -> str:
    container = _waiting_container(pod)
    if container is not None and container.reason in (*NEVER_PULLED, *PULL_FAILS):
        return f"the image {container.image} can't be pulled: {_pull_error(container, events)}"
    if container is not None and container.reason in CONFIG_FAILS:
        return f"its container can't be created: {_short(container.message)}"
    mounts = last_event(events, "FailedMount")
    if mounts is not None and container is not None:
        return f"a volume can't be mounted: {_short(mounts.message)}"
    newest = events[-1].reason if events else ""
    if newest == "Pulling":
        return f"the node {pod.node} is pulling the image, which takes minutes if it is large"
    return f"the node {pod.node} is preparing it"


def _pull_error(container: ContainerSeen, events: Sequence[EventSeen]) -> str:
    """From the event, which has the registry's message; the container's state lacks it during the kubelet's back-off."""
    failed = next((each for each in reversed(events) if each.reason == "Failed" and "pull" in each.message), None)
    return _short(failed.message if failed is not None else container.message or container.reason)


def _waiting_container(pod: PodSeen) -> ContainerSeen | None:
    """The waiting container."""
    return next((each for each in pod.containers if each.state == "waiting" and each.reason != "PodInitializing"), None)


def _short(text: str) -> str:
    first = text.strip().splitlines()[0] if text.strip() else ""
    return first if len(first) <= 400 else f"{first[:397]}..."
