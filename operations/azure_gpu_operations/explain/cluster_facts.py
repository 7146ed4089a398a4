"""Facts of a pod, a Job with its pods, an AKS cluster and one of its pools, for the rules and for the report. Pure."""

from collections.abc import Mapping
from typing import NamedTuple

from azure_gpu_operations.clusters.arm_facts import ClusterFacts, PoolFacts
from azure_gpu_operations.clusters.objects import ContainerSeen, EventSeen, JobSeen, NodeSeen, PodSeen
from azure_gpu_operations.explain.facts import Container, Event, Facts, Kind, Refusal

_STATES = {"waiting": "Waiting", "running": "Running", "terminated": "Terminated"}
# Events of the scheduler and the autoscaler, which are about nodes and not about containers.
_OF_NODES = ("FailedScheduling", "NotTriggerScaleUp", "TriggeredScaleUp", "Scheduled", "Preempted")


class PodContext(NamedTuple):
    """The nodes and pools around a pod. `nodes` None: this login has no right to read them."""

    nodes: tuple[NodeSeen, ...] | None = None
    pools: tuple[PoolFacts, ...] = ()  # of AKS
    holders: tuple[PodSeen, ...] = ()  # pods that hold GPUs
    pool_refusals: Mapping[str, tuple[Refusal, ...]] = {}  # of ARM, by pool, the newest first
    built: frozenset[str] | None = None
    server: str = ""  # of the stack's registry
    is_edge: bool = False


class PodCase(NamedTuple):
    """A pod with its events, the oldest first, and each container's last lines."""

    pod: PodSeen
    events: tuple[EventSeen, ...] = ()
    logs: Mapping[str, tuple[str, ...]] = {}
    around: PodContext = PodContext()

    def as_facts(self) -> Facts:
        pod = self.pod
        where = f" on {pod.node}" if pod.node else ""
        return Facts(
            name=pod.name,
            kind=Kind.POD,
            id=f"{pod.namespace}/{pod.name}",
            state=pod.phase,
            containers=tuple(self._container(each) for each in pod.containers),
            message=f"{pod.reason}: {pod.message}".strip(": "),
            built=self.around.built,
            server=self.around.server,
        )._replace(provisioning=f"{pod.phase or 'Unknown'}{where}")

    def _container(self, seen: ContainerSeen) -> Container:
        last = f"{seen.last_reason}: {seen.last_message}".strip(": ")
        shown = [each for each in self.events if (each.is_warning or each.reason == "BackOff") and each.reason not in _OF_NODES]
        return Container(
            name=seen.name,
            image=seen.image,
            state=_STATES.get(seen.state, ""),
            exit_code=seen.exit_code,
            detail="" if seen.reason in ("Error", "Completed") and not seen.message else seen.sentence,
            previous_exit_code=seen.last_exit_code,
            previous_detail="" if last in ("Error", "Completed") else last,
            restarts=seen.restarts,
            events=tuple(Event(each.reason, each.message, each.is_warning) for each in shown),
            log=tuple(self.logs.get(seen.name, ())),
            began=seen.began,
            memory=seen.memory,
            is_init=seen.is_init,
        )


class JobCase(NamedTuple):
    """A Job. `pods`: the newest last."""

    job: JobSeen
    events: tuple[EventSeen, ...] = ()
    pods: tuple[PodCase, ...] = ()
    held: str = ""  # why its queue doesn't admit it

    def as_facts(self) -> Facts:
        job = self.job
        state = (
            "Complete" if job.is_complete else f"Failed, {job.failure}" if job.failure else "running" if job.active else "waiting"
        )
        inside = self.pods[-1].as_facts() if self.pods else None
        return Facts(
            name=job.name,
            kind=Kind.KUBERNETES_JOB,
            id=f"{job.namespace}/{job.name}",
            state=state,
            containers=inside.containers if inside else (),
            message=job.failure_message,
        )


class ClusterCase(NamedTuple):
    """A cluster, or with `pool` one of its pools. `facts` None: ARM has none. `silence`: why its API couldn't be asked."""

    name: str
    id: str
    facts: ClusterFacts | None = None
    pools: tuple[PoolFacts, ...] = ()
    pool: str = ""
    nodes: tuple[NodeSeen, ...] = ()
    waiting: tuple[PodCase, ...] = ()  # pods that wait for a node, or for their image
    refusals: tuple[Refusal, ...] = ()
    pool_refusals: Mapping[str, tuple[Refusal, ...]] = {}
    silence: str = ""
    denied: bool = False  # it answered that this login may not
    is_edge: bool = False

    @property
    def shown_pools(self) -> tuple[PoolFacts, ...]:
        return tuple(each for each in self.pools if not self.pool or each.name == self.pool)

    @property
    def is_there(self) -> bool:
        return self.is_edge or (self.facts is not None and bool(not self.pool or self.shown_pools))

    def as_facts(self) -> Facts:
        nodes = [node for node in self.nodes if not self.pool or node.pool == self.pool]
        count = "1 node" if len(nodes) == 1 else f"{len(nodes)} nodes"
        provisioning = self.facts.provisioning if self.facts else ""
        if self.pool and self.shown_pools:
            provisioning = self.shown_pools[0].provisioning
        state = self.facts.power if self.facts and self.facts.is_stopped else provisioning
        return Facts(
            name=f"{self.name}/{self.shown_pools[0].called if self.shown_pools else self.pool}" if self.pool else self.name,
            kind=Kind.CLUSTER_POOL if self.pool else Kind.CLUSTER,
            id=self.shown_pools[0].id if self.pool and self.shown_pools else self.id,
            exists=self.is_there,
            state=", ".join(part for part in (state, count if not self.silence else "") if part),
            provisioning=provisioning,
            refusals=self.pool_refusals.get(self.pool, ()) if self.pool else self.refusals,
        )
