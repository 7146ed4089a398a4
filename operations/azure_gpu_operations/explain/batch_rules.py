"""A Batch pool, or a Batch job with its tasks, as they were seen, and their rules of code. The others are rows of
`findings.yaml`. Pure.
"""

from datetime import datetime
from typing import Any, NamedTuple

from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.batch.pool_facts import PoolFacts
from azure_gpu_operations.explain import refusal_rules, rules, table
from azure_gpu_operations.explain.facts import Cause, Container, Facts, Finding, Kind, Refusal
from azure_gpu_operations.terminal import counted


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
        state = f"{self.facts.allocation}, {counted(len(self.nodes), 'node')}" if self.facts else ""
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


_COMING = ("creating", "starting", "waitingforstarttask", "rebooting", "reimaging")


def explain_pool(pool: PoolSeen) -> Finding:
    return failure(pool) or table.explain_surely("pool without a failure", pool, values=_of_pool(pool))


def failure(pool: PoolSeen) -> Finding | None:
    """The failure of a pool; None if tasks can start."""
    return table.explain("pool", pool, {"not_there": _not_there, "unusable": _unusable}, _of_pool(pool))


def explain_job(job: JobSeen) -> Finding:
    return table.explain_surely("job of Batch", job, {"task": _task, "never_starts": _never_starts, "pool": _pool}, _of_job(job))


def _of_pool(pool: PoolSeen) -> dict[str, Any]:
    """What rows of the table name."""
    facts = pool.facts
    failed = [node for node in pool.nodes if node.state == "starttaskfailed"]
    first = failed[0] if failed else None
    gone = [node for node in pool.nodes if node.state == "preempted"]
    coming = sorted({node.state for node in pool.nodes if node.state in _COMING})
    resizing = f"{facts.nodes} → {facts.target} nodes" if facts and facts.allocation == "resizing" else ""
    errors = facts.resize_errors if facts else ()
    return {
        "pool_id": facts.id if facts else pool.name,
        "size": facts.size if facts else "",
        "formula": facts.formula if facts else "",
        "failed_start": first.id if first else "",
        "start_failure": first.start_failure if first else "",
        "start_code": "" if first is None or first.start_exit_code is None else f" with exit code {first.start_exit_code}",
        "where_failed": "on its node" if len(pool.nodes) == 1 else f"on {len(failed)} of {len(pool.nodes)} nodes",
        "resize_codes": [code for code, _ in errors],
        "resize_code": errors[0][0] if errors else "",
        "resize_errors": [f"{code}: {message}".rstrip(": ") for code, message in errors],
        "has": f"it has {counted(facts.nodes, 'node')} of {facts.target}" if facts else "",
        "evicted": counted(len(gone), "node") if gone and len(gone) == len(pool.nodes) else "",
        "coming": ", ".join(coming) or resizing,
        "has_nodes": counted(len(pool.nodes), "node"),
    }


def _not_there(pool: PoolSeen) -> Finding | None:
    return None if pool.facts is not None else refusal_rules.absent(pool.as_facts(), "pool")


def _unusable(pool: PoolSeen) -> Finding | None:
    broken = [node for node in pool.nodes if node.state == "unusable"] or [node for node in pool.nodes if node.errors]
    if not broken:
        return None
    first = broken[0]
    text = "\n".join(first.errors)
    if table.phrase("image pull").search(text) or "ContainerInvalidImage" in text or "ContainerInvalidRegistry" in text:
        return refusal_rules.of_image(pool.as_facts(), "", first.errors, "")
    cause = Cause.PACKAGE if "ApplicationPackage" in text else Cause.UNUSABLE_NODE
    fix = f"check that the package exists and is active: {COMMAND} preflight"
    if cause is Cause.UNUSABLE_NODE:
        fix = (
            "usual reasons: the image lacks something that the pool requires, the subnet blocks Batch, or the disk is full; "
            "fix it and run `pulumi up`"
        )
    what = f"{len(broken)} of {len(pool.nodes)} nodes {'is' if len(broken) == 1 else 'are'} {first.state}"
    return Finding(cause, what, fix, first.errors)


def _of_job(job: JobSeen) -> dict[str, Any]:
    """What rows of the table name."""
    behind = next((task for task in job.waiting if task.depends_on), None)
    is_blocked = behind is not None and not job.running and job.failed  # a failed task that is known has precedence
    at_once = max((task.nodes for task in job.waiting), default=1)
    idle = sum(node.state == "idle" for node in job.pool.nodes) if job.pool else 0
    code = job.preparation_exit_code
    return {
        "preparation_code": "" if code is None else f" with exit code {code}",
        "open": job.active + job.running,
        "blocked": f"{behind.called} waits for {', '.join(behind.depends_on[:3])}" if behind and is_blocked else "",
        "at_once": at_once if at_once > 1 else 0,
        "idle": f"{idle} of them {'is' if idle == 1 else 'are'}",
    }


def _task(job: JobSeen) -> Finding | None:
    """The first failed task is explained, and the others are counted."""
    if not job.failures:
        return None
    task = job.failures[0]
    took = (task.ended - task.began).total_seconds() / 60 if task.began and task.ended else None
    is_late = task.limit_minutes is not None and took is not None and took >= task.limit_minutes - 0.05
    values = {
        "is_late": is_late,
        "took": f"{took or 0:.1f}",
        "limit": f"{task.limit_minutes or 0:g}",
        "is_of_container": task.code.startswith("Container") or bool(table.first("image pull", task.words)),
    }
    of_code: dict[str, table.Rule] = {"image": lambda task: _image(job, task), "exit_code": _exit_code}
    finding = table.explain_surely("task of Batch", task, of_code, values)
    if job.failed < 2:
        return finding
    return finding._replace(what=f"{finding.what} (the first of {job.failed} tasks that failed, of {job.total})")


def _image(job: JobSeen, task: TaskSeen) -> Finding | None:
    is_refused = table.first("image pull", task.words) or task.code in ("ContainerInvalidImage", "ContainerInvalidRegistry")
    return refusal_rules.of_image(job.as_facts(), task.image, task.words, task.called) if is_refused else None


def _exit_code(task: TaskSeen) -> Finding | None:
    """By the rules for containers: the exit codes have the same meaning."""
    stand_in = Container(name=task.called, image=task.image, exit_code=task.exit_code, log=task.log, began=task.began)
    facts = Facts(task.id, Kind.BATCH_JOB, "", state="Failed", containers=(stand_in,))
    for rule in (rules.no_command, rules.gpu_memory, rules.memory):
        finding = rule(facts)
        if finding is not None:
            what = finding.what.replace(f"container {task.called}", task.called).replace("isn't in the image", "isn't there")
            return finding._replace(what=what)
    return None


def _never_starts(job: JobSeen) -> Finding | None:
    """Tasks that Batch keeps active for ever without an error."""
    pool = job.pool.facts if job.pool else None
    if pool is None:
        return None
    for task in job.waiting:
        needs = f"{task.called} requires {task.nodes} nodes at once, but"
        if task.nodes > 1 and not pool.inter_node:
            return _stuck(f"{needs} its pool has no inter-node communication", task)
        if task.nodes > 1 and pool.slots != 1:
            return _stuck(f"{needs} the pool's nodes run {pool.slots} tasks each", task)
        if task.slots > pool.slots:
            return _stuck(f"{task.called} requires {task.slots} slots of a node, but the pool's nodes have {pool.slots}", task)
        if task.nodes > 1 and not pool.formula and task.nodes > max(pool.nodes, pool.target):
            return _stuck(f"{needs} the pool has {pool.target}", task)
    return None


def _stuck(what: str, task: TaskSeen) -> Finding:
    fix = "request less with --nodes"
    if task.nodes > 1:
        fix = "give the pool `inter_node: true` or `mpi` in the stack's file, with one task slot, or request fewer --nodes"
    source = "source: Microsoft Learn, batch/batch-mpi"
    return Finding(Cause.NEVER_STARTS, f"{what}; Batch keeps it active and never starts it", fix, (source,))


def _pool(job: JobSeen) -> Finding | None:
    """Tasks wait, and their pool can't run them."""
    if not job.active or job.running or job.pool is None or job.state in ("completed", "terminating", "deleting"):
        return None
    finding = failure(job.pool)
    return finding and finding._replace(what=f"its tasks wait for the pool {job.pool.name}: {finding.what}")
