"""Facts of a Batch pool, or of a Batch job with its tasks, for the rules and for the report. Pure."""

from datetime import datetime
from typing import NamedTuple

from azure_gpu_operations.batch.pool_facts import PoolFacts
from azure_gpu_operations.explain.facts import Container, Facts, Kind, Refusal


class NodeSeen(NamedTuple):
    """One node."""

    id: str
    state: str
    is_spot: bool = False
    errors: tuple[str, ...] = ()  # the service's words
    start_exit_code: int | None = None
    start_failure: str = ""  # the service's words
    log: tuple[str, ...] = ()  # the last lines of its start task's standard error

    @property
    def start_task(self) -> str:
        return f"the start task on node {self.id}"


class PoolSeen(NamedTuple):
    """A pool and its nodes. `facts` None: it isn't there."""

    name: str
    id: str
    facts: PoolFacts | None = None
    nodes: tuple[NodeSeen, ...] = ()
    formula_error: str = ""
    refusals: tuple[Refusal, ...] = ()  # of ARM, the newest first

    def as_facts(self) -> Facts:
        shown = [Container(name=node.start_task, state=node.state, log=node.log) for node in self.nodes]
        state = f"{self.facts.allocation}, {len(self.nodes)} nodes".replace(" 1 nodes", " 1 node") if self.facts else ""
        return Facts(
            self.name,
            Kind.POOL,
            self.id,
            exists=self.facts is not None,
            state=state,
            containers=tuple(shown),
            refusals=self.refusals,
        )


class TaskSeen(NamedTuple):
    """One task that failed, or that waits."""

    id: str
    state: str
    exit_code: int | None = None
    code: str = ""  # of its failure: the service's own
    message: str = ""
    details: tuple[str, ...] = ()
    image: str = ""
    nodes: int = 1
    slots: int = 1
    depends_on: tuple[str, ...] = ()
    began: datetime | None = None
    ended: datetime | None = None
    limit_minutes: float | None = None  # that it may take; None: no limit
    log: tuple[str, ...] = ()  # the last lines of its standard error, or of its standard output where that is empty

    @property
    def words(self) -> tuple[str, ...]:
        """The service's messages about its failure."""
        summary = f"{self.code}: {self.message}".rstrip(": ") if self.code else self.message
        more = (text for text in self.details if text.partition(": ")[2] not in summary)
        return tuple(text for text in (summary, *more) if text)

    @property
    def called(self) -> str:
        return f"task {self.id}"


class JobSeen(NamedTuple):
    """A job, its failed and waiting tasks, and its pool."""

    name: str
    id: str
    exists: bool = True
    state: str = ""
    reason: str = ""  # why it was terminated, if given
    scheduling_error: str = ""
    active: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    failures: tuple[TaskSeen, ...] = ()  # the first to fail first
    waiting: tuple[TaskSeen, ...] = ()
    preparation_node: str = ""  # on which the job's preparation failed
    preparation_exit_code: int | None = None
    preparation_log: tuple[str, ...] = ()
    pool: PoolSeen | None = None

    @property
    def total(self) -> int:
        return self.active + self.running + self.succeeded + self.failed

    def as_facts(self) -> Facts:
        shown = [Container(name=each.called, image=each.image, exit_code=each.exit_code, log=each.log) for each in self.failures]
        if self.preparation_node:
            name = preparation_on(self.preparation_node)
            shown.append(Container(name=name, exit_code=self.preparation_exit_code, log=self.preparation_log))
        if self.pool is not None:
            shown += self.pool.as_facts().containers
        tasks = f"{self.succeeded + self.failed} of {self.total} tasks finished" if self.total else "no tasks"
        return Facts(
            self.name, Kind.BATCH_JOB, self.id, exists=self.exists, state=f"{self.state}, {tasks}", containers=tuple(shown)
        )


def preparation_on(node: str) -> str:
    return f"the job's preparation on node {node}"
