"""Pods, nodes, Jobs and events of a cluster, parsed from the API's responses. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple

from azure_gpu.catalog.services.aks.pools import LABEL as POOL_LABEL, SPOT_LABEL as SPOT_LABEL
from azure_gpu.formats import tags
from azure_gpu.formats.dates import instant
from azure_gpu_operations.observed.bodies import read

_OLD_POOL_LABEL = "agentpool"
SIZE_LABEL = "node.kubernetes.io/instance-type"
REGION_LABEL = "topology.kubernetes.io/region"
GPU_PREFIXES = ("nvidia.com/", "amd.com/")  # of resources that device plugins advertise
JOB_LABEL = "batch.kubernetes.io/job-name"
_OLD_JOB_LABEL = "job-name"
_EARLIEST = datetime.min.replace(tzinfo=UTC)


class EventSeen(NamedTuple):
    """One event; repetitions are one."""

    reason: Annotated[str, "reason"]
    message: Annotated[str, "message", str.strip]
    is_warning: bool = False
    at: datetime | None = None

    @property
    def sentence(self) -> str:
        return f"{self.reason}: {self.message}" if self.message else self.reason


class ContainerSeen(NamedTuple):
    """One container of a pod."""

    name: Annotated[str, "spec.name"]
    image: Annotated[str, "spec.image"] = ""
    state: str = ""  # waiting, running, terminated; "" before the kubelet's first report
    reason: Annotated[str, "now.reason"] = ""
    message: Annotated[str, "now.message", str.strip] = ""
    exit_code: Annotated[int | None, "now.exitCode"] = None
    began: Annotated[datetime | None, "now.startedAt"] = None
    ended: Annotated[datetime | None, "now.finishedAt"] = None
    restarts: Annotated[int, "status.restartCount"] = 0
    last_reason: Annotated[str, "last.reason"] = ""  # of its run before this one
    last_message: Annotated[str, "last.message", str.strip] = ""
    last_exit_code: Annotated[int | None, "last.exitCode"] = None
    memory: Annotated[str, "spec.resources.limits.memory"] = ""  # its limit
    is_init: bool = False

    @property
    def sentence(self) -> str:
        return f"{self.reason}: {self.message}" if self.reason and self.message else self.reason or self.message


class Toleration(NamedTuple):
    key: Annotated[str, "key"]
    operator: str
    value: Annotated[str, "value"]
    effect: Annotated[str, "effect"]


class Taint(NamedTuple):
    key: Annotated[str, "key"]
    value: Annotated[str, "value"]
    effect: Annotated[str, "effect"]

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


class PodSeen(NamedTuple):
    """One pod."""

    name: Annotated[str, "metadata.name"]
    namespace: Annotated[str, "metadata.namespace"]
    phase: Annotated[str, "status.phase"] = ""
    reason: Annotated[str, "status.reason"] = ""
    message: Annotated[str, "status.message", str.strip] = ""
    node: Annotated[str, "spec.nodeName"] = ""
    created: Annotated[datetime | None, "metadata.creationTimestamp"] = None
    began: Annotated[datetime | None, "status.startTime"] = None  # when a kubelet took it
    is_leaving: Annotated[bool, "metadata.deletionTimestamp"] = False
    unschedulable: str = ""  # the scheduler's message
    gated: str = ""  # why scheduling is held back
    disruption: str = ""  # why it was evicted: reason and message of the condition DisruptionTarget
    containers: tuple[ContainerSeen, ...] = ()
    gpus: Mapping[str, int] = {}  # requested by its containers, by resource
    tolerations: tuple[Toleration, ...] = ()
    node_selector: Annotated[Mapping[str, str], "spec.nodeSelector"] = {}
    job: str = ""
    labels: Annotated[Mapping[str, str], "metadata.labels"] = {}
    environment: Mapping[str, str] = {}  # of its containers; literal values only
    uid: Annotated[str, "metadata.uid"] = ""

    @property
    def is_over(self) -> bool:
        return self.phase in ("Succeeded", "Failed")

    @property
    def pool(self) -> str:
        """The pool that its node selector requires; "" if none."""
        found = (self.node_selector.get(label) for label in (POOL_LABEL, _OLD_POOL_LABEL, tags.NODE_POOL))
        return next((each for each in found if each), "")

    def tolerates(self, taint: Taint) -> bool:
        """By the scheduler's rules: a toleration without a key and with Exists tolerates everything."""
        return taint.effect == "PreferNoSchedule" or any(_tolerates(each, taint) for each in self.tolerations)


class NodeSeen(NamedTuple):
    """One node."""

    name: Annotated[str, "metadata.name"]
    pool: str = ""
    size: str = ""
    region: str = ""
    is_ready: bool = True
    not_ready: str = ""  # the kubelet's message
    is_unschedulable: Annotated[bool, "spec.unschedulable"] = False
    taints: tuple[Taint, ...] = ()
    gpus: Mapping[str, int] = {}  # allocatable, by resource
    labels: Annotated[Mapping[str, str], "metadata.labels"] = {}
    is_spot: bool = False
    created: Annotated[datetime | None, "metadata.creationTimestamp"] = None


class JobSeen(NamedTuple):
    """A Job without its pods."""

    name: Annotated[str, "metadata.name"]
    namespace: Annotated[str, "metadata.namespace"]
    uid: Annotated[str, "metadata.uid"] = ""
    active: Annotated[int, "status.active"] = 0
    succeeded: Annotated[int, "status.succeeded"] = 0
    failed: Annotated[int, "status.failed"] = 0
    is_suspended: Annotated[bool, "spec.suspend"] = False
    is_complete: bool = False
    failure: str = ""  # the reason of the condition Failed, such as DeadlineExceeded
    failure_message: str = ""
    began: Annotated[datetime | None, "status.startTime"] = None
    labels: Annotated[Mapping[str, str], "metadata.labels"] = {}
    tolerations: tuple[Toleration, ...] = ()
    created: Annotated[datetime | None, "metadata.creationTimestamp"] = None

    @property
    def is_over(self) -> bool:
        return self.is_complete or bool(self.failure)


def pod_of(body: Mapping[str, Any]) -> PodSeen:
    metadata, spec, status = _parts(body)
    conditions = {str(each.get("type")): each for each in status.get("conditions") or []}
    scheduled = conditions.get("PodScheduled") or {}
    waits = scheduled.get("status") == "False"
    disruption = conditions.get("DisruptionTarget") or {}
    labels: Mapping[str, str] = metadata.get("labels") or {}
    containers = [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]
    return read(
        PodSeen,
        body,
        unschedulable=str(scheduled.get("message") or "") if waits and scheduled.get("reason") == "Unschedulable" else "",
        gated=str(scheduled.get("message") or scheduled.get("reason") or "")
        if waits and scheduled.get("reason") != "Unschedulable"
        else "",
        disruption=_sentence(disruption) if disruption.get("status") == "True" else "",
        containers=(
            *_containers(spec.get("initContainers"), status.get("initContainerStatuses"), is_init=True),
            *_containers(spec.get("containers"), status.get("containerStatuses"), is_init=False),
        ),
        gpus=_gpus_requested(spec.get("containers") or []),
        tolerations=_tolerations(spec),
        job=labels.get(JOB_LABEL) or labels.get(_OLD_JOB_LABEL) or "",
        environment={
            str(each["name"]): str(each.get("value") or "")
            for container in containers
            for each in container.get("env") or []
            if each.get("name") and "valueFrom" not in each
        },
    )


def node_of(body: Mapping[str, Any]) -> NodeSeen:
    metadata, spec, status = _parts(body)
    labels: Mapping[str, str] = metadata.get("labels") or {}
    ready = next((each for each in status.get("conditions") or [] if each.get("type") == "Ready"), {})
    is_ready = ready.get("status") == "True"
    return read(
        NodeSeen,
        body,
        pool=labels.get(POOL_LABEL) or labels.get(_OLD_POOL_LABEL) or "",
        size=labels.get(SIZE_LABEL) or "",
        region=labels.get(REGION_LABEL) or "",
        is_ready=is_ready,
        not_ready="" if is_ready else _sentence(ready) or "no status yet",
        taints=tuple(read(Taint, each) for each in spec.get("taints") or []),
        gpus=gpus_in(status.get("allocatable") or {}),
        is_spot=labels.get(SPOT_LABEL[0]) == SPOT_LABEL[1],
    )


def job_of(body: Mapping[str, Any]) -> JobSeen:
    _, spec, status = _parts(body)
    conditions = {str(each.get("type")): each for each in status.get("conditions") or [] if each.get("status") == "True"}
    failed = conditions.get("Failed") or {}
    return read(
        JobSeen,
        body,
        is_complete="Complete" in conditions,
        failure=str(failed.get("reason") or ("Failed" if failed else "")),
        failure_message=str(failed.get("message") or ""),
        tolerations=_tolerations((spec.get("template") or {}).get("spec") or {}),
    )


def events_of(bodies: Iterable[Mapping[str, Any]]) -> tuple[EventSeen, ...]:
    """The oldest first."""
    found = [read(EventSeen, each, is_warning=each.get("type") == "Warning", at=_moment(each)) for each in bodies]
    return tuple(sorted(found, key=lambda each: each.at or _EARLIEST))


def by_age(pods: Iterable[PodSeen]) -> list[PodSeen]:
    """The oldest first."""
    return sorted(pods, key=lambda each: (each.created or _EARLIEST, each.name))


def gpus_in(resources: Mapping[str, Any]) -> dict[str, int]:
    """The GPUs among a container's or a node's resources, including amounts of 0, which a device plugin leaves behind."""
    return {
        str(name): int(str(amount))
        for name, amount in resources.items()
        if str(name).startswith(GPU_PREFIXES) and str(amount).isdecimal()
    }


def _gpus_requested(containers: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for container in containers:
        resources = container.get("resources") or {}
        for name, amount in gpus_in(resources.get("limits") or resources.get("requests") or {}).items():
            total[name] = total.get(name, 0) + amount
    return total


def _containers(specs: Any, statuses: Any, *, is_init: bool) -> Iterable[ContainerSeen]:
    by_name = {str(each.get("name")): each for each in statuses or []}
    for spec in specs or []:
        status = by_name.get(str(spec.get("name") or "")) or {}
        state, now = _state(status.get("state"))
        _, last = _state(status.get("lastState"))
        of_it = {"spec": spec, "status": status, "now": now, "last": last}
        yield read(ContainerSeen, of_it, state=state, is_init=is_init)


def _state(status: Any) -> tuple[str, Mapping[str, Any]]:
    for name in ("terminated", "running", "waiting"):
        if (status or {}).get(name) is not None:
            return name, status[name]
    return "", {}


def _tolerations(spec: Mapping[str, Any]) -> tuple[Toleration, ...]:
    return tuple(read(Toleration, each, operator=str(each.get("operator") or "Equal")) for each in spec.get("tolerations") or [])


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if not toleration.key:
        return toleration.operator == "Exists"
    return toleration.key == taint.key and (toleration.operator == "Exists" or toleration.value == taint.value)


def taint_of(text: str) -> Taint | None:
    """`key=value:effect`, as ARM and kubectl write it."""
    pair, colon, effect = text.rpartition(":")
    if not colon or not pair:
        return None
    key, _, value = pair.partition("=")
    return Taint(key, value, effect)


def _parts(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]]:
    return body.get("metadata") or {}, body.get("spec") or {}, body.get("status") or {}


def _sentence(condition: Mapping[str, Any]) -> str:
    parts = (str(condition.get("reason") or ""), str(condition.get("message") or "").strip())
    return ": ".join(part for part in parts if part)


def _moment(event: Mapping[str, Any]) -> datetime | None:
    """When it was last seen; the field differs between versions of the API."""
    series = event.get("series") or {}
    for each in (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"), event.get("firstTimestamp")):
        if each:
            return instant(each)
    return instant((event.get("metadata") or {}).get("creationTimestamp"))
