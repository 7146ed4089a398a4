"""Follows a job on a pool to its end: what its tasks wait for, the output of a single task, the progress of many.

KeyboardInterrupt passes through. The autoscale formula of a pool is evaluated at once, instead of at its interval. Of the workers
beside a task's primary Batch only knows that their coordination command succeeded; a worker's exit code is in a file on its node.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import requests
from azure.batch import models
from azure.core.exceptions import AzureError as AzureCoreError

from azure_gpu.formats.task_file import Task
from azure_gpu_operations.azure import AzureError
from azure_gpu_operations.batch.account import BatchAccount, Counts, last_lines
from azure_gpu_operations.batch.pool_facts import NO_NODES_AGAIN, PoolFacts, facts_of, word
from azure_gpu_operations.run import service_run
from azure_gpu_operations.run.log_lines import BlobTail
from azure_gpu_operations.run.on_batch.commands import EXIT_FILE
from azure_gpu_operations.run.protocol import Output

EVALUATE_SECONDS = 35.0  # Batch evaluates a formula at most every 30 seconds
TOO_FEW_TIMES = 3
PROGRESS_SECONDS = 10.0  # between two progress lines
WORKERS_SECONDS = 15.0  # between two checks of the other workers of a task


class End(NamedTuple):
    """How the job ended."""

    tasks: tuple[models.BatchTask, ...] = ()
    nodes: Mapping[str, bool] = {}  # seen in the pool, by id: True for dedicated, False for Spot
    hopeless: str = ""  # why following was given up
    is_gone: bool = False  # the job was deleted


class Follower(service_run.Follower[End]):
    """One job. `pool_name` is the stack's name for the pool, `prepares` whether the job has a preparation task."""

    service = "Batch"
    poll_seconds = 2.0

    def __init__(
        self,
        account: BatchAccount,
        job_id: str,
        pool_name: str,
        pool_id: str,
        tasks: Sequence[Task],
        output: Output,
        *,
        prepares: bool,
        **times: Any,
    ) -> None:
        super().__init__(f"the job {job_id}", output, **times)
        self._account = account
        self._job = job_id
        self._pool_name, self._pool = pool_name, pool_id
        self._tasks = {task.id.lower(): task for task in tasks}
        self._prepares = prepares
        self._needed = max(task.nodes for task in tasks)
        only = tasks[0].id if len(tasks) == 1 else ""
        files = {"stdout.txt": output.show, "stderr.txt": output.show_error} if only else {}
        self._only = only
        self._tails = [BlobTail(partial(account.read_from, job_id, only, name), shown) for name, shown in files.items()]
        self._counted: Counts | None = None
        self._counted_at = self._clock()
        self._evaluated_at: float | None = None
        self._too_few = 0  # evaluations in a row that gave some nodes and not enough
        self._starts = (0, 0)  # retries of the task, and starts on another node
        self._workers_at = self._clock()
        self._lost: set[int] = set()  # workers that had failed at the last look
        self.nodes: dict[str, bool] = {}

    def finish(self) -> int:
        """Shows the last output of a single task. Returns the total number of lines."""
        for tail in self._tails:
            try:
                tail.finish()
            except (AzureError, AzureCoreError, requests.RequestException):
                continue  # the node may be gone; what was shown stays
        return sum(tail.lines for tail in self._tails)

    def _look(self) -> End | None:
        return self._look_at_one() if self._only else self._look_at_many()

    def _look_at_one(self) -> End | None:
        task = self._account.task(self._job, self._only)
        if task is None:
            return End(nodes=self.nodes, is_gone=True)
        state = word(task.state)
        if state == "completed":
            return End((task,), self.nodes)
        info = task.execution_info
        if info is not None and (starts := (info.retry_count, info.requeue_count)) != self._starts:
            if info.retry_count > self._starts[0]:
                self._say(f"the task failed; retry {info.retry_count}")
            self._starts = starts
            for tail in self._tails:
                tail.again()
        if state == "running":
            self._see_nodes()
            for tail in self._tails:
                tail.more()
            reason = self._worker_lost()
            return End((task,), self.nodes, hopeless=reason) if reason else None
        if state == "preparing":
            self._once("the node is preparing the task: downloading its files or image")
        return self._wait(state)

    def _worker_lost(self) -> str:
        """A worker that failed while the first one is still running, and waiting for it."""
        if self._needed == 1 or self._clock() - self._workers_at < WORKERS_SECONDS:
            return ""
        self._workers_at = self._clock()
        lost = failed_workers(self._account, self._pool, self._job, self._only)
        again = [worker for worker in lost if worker.number in self._lost]
        self._lost = {worker.number for worker in lost}
        if not again:
            return ""
        for line in again[0].lines:
            self._output.show_error(line)
        return f"{again[0].called} ended with exit code {again[0].code}, and the first worker is still waiting for it"

    def _look_at_many(self) -> End | None:
        counts = self._account.counts(self._job)
        if counts is None:
            return End(nodes=self.nodes, is_gone=True)
        self._count(counts)
        if counts.over >= len(self._tasks):
            return End(tuple(self._account.tasks(self._job)), self.nodes)
        if counts.running:
            self._see_nodes()
            reason = "" if counts.over else self._preparation()
            return End(tuple(self._account.tasks(self._job)), self.nodes, hopeless=reason) if reason else None
        if counts.failed:
            tasks = self._account.tasks(self._job)
            if all(task.id.lower() in self._blocked(tasks) for task in tasks if word(task.state) == "active"):
                return End(tuple(tasks), self.nodes)
        return self._wait("active")

    def _wait(self, state: str) -> End | None:
        """Shows what it waits for; returns an End if that will never happen."""
        found = self._account.pool(self._pool)
        if found is None:
            return End(nodes=self.nodes, hopeless=f"the pool {self._pool_name} doesn't exist any more")
        pool, nodes = facts_of(found), self._account.nodes(self._pool)
        self._note(nodes)
        if state == "active":
            self._once(waiting_for(self._pool_name, pool, nodes, self._needed))
        reason = hopeless_because(self._pool_name, pool, nodes)
        if not reason:
            reason = self._preparation()
        if reason:
            return End(tuple(self._account.tasks(self._job)), self.nodes, hopeless=reason)
        if pool.formula and pool.is_steady and pool.target < self._needed:
            return self._evaluate(found, pool)
        self._too_few = 0
        return None

    def _preparation(self) -> str:
        if not self._prepares:
            return ""
        failed = preparation_failed(self._account.preparations(self._job))
        if failed is None:
            return ""
        info = failed.job_preparation_task_execution_info
        code = f" with exit code {info.exit_code}" if info is not None and info.exit_code is not None else ""
        return f"the job's preparation failed{code} on a node of the pool {self._pool_name}"

    def _evaluate(self, found: models.BatchPool, pool: PoolFacts) -> End | None:
        """Returns an End if the formula repeatedly gives the task some nodes, but too few."""
        now = self._clock()
        if self._evaluated_at is not None and now - self._evaluated_at < EVALUATE_SECONDS:
            return None
        self._too_few = self._too_few + 1 if pool.target else 0
        if self._too_few > TOO_FEW_TIMES:
            return End(tuple(self._account.tasks(self._job)), self.nodes, too_few(self._pool_name, pool, self._needed))
        self._evaluated_at = now
        self._account.evaluate_now(found)
        return None

    def _see_nodes(self) -> None:
        if not self.nodes:
            self._note(self._account.nodes(self._pool))

    def _note(self, nodes: Sequence[models.BatchNode]) -> None:
        self.nodes |= {node.id: node.is_dedicated is not False for node in nodes}

    def _count(self, counts: Counts) -> None:
        """Shows progress if it has changed, at a limited rate."""
        if counts == self._counted or counts == Counts(active=len(self._tasks)):
            return
        due = self._clock() - self._counted_at >= PROGRESS_SECONDS or counts.over >= len(self._tasks) or self._counted is None
        if not due:
            return
        self._counted, self._counted_at = counts, self._clock()
        failed = f", {counts.failed} failed" if counts.failed else ""
        runs = f", {counts.running} running" if counts.running else ""
        self._say(f"{counts.over} of {len(self._tasks)} tasks{failed}{runs}")

    def _blocked(self, tasks: Sequence[models.BatchTask]) -> frozenset[str]:
        """The tasks that depend on a failed task, directly or indirectly."""
        dead = {task.id.lower() for task in tasks if word(task.state) == "completed" and failed(task)}
        dead = {each for each in dead if self._tasks.get(each) is None or self._tasks[each].on_failure_dependents != "satisfy"}
        blocked: set[str] = set()
        changed = True
        while changed:
            new = {
                key
                for key, task in self._tasks.items()
                if key not in blocked and any(each.lower() in dead | blocked for each in task.depends_on)
            }
            changed = bool(new)
            blocked |= new
        return frozenset(blocked)


def failed(task: models.BatchTask) -> bool:
    info = task.execution_info
    return info is not None and word(info.result) == "failure"


# Codes of resize errors that don't resolve by waiting: limits of the account. PoolResizeErrorCodes of Azure's .NET client, and
# AccountVMSeriesCoreQuotaReached from Microsoft's page on failing resizes of pools.
QUOTAS = frozenset(
    {
        "AccountCoreQuotaReached",
        "AccountLowPriorityCoreQuotaReached",
        "AccountSpotCoreQuotaReached",
        "AccountVMSeriesCoreQuotaReached",
        "UnsupportedVMSize",
    }
)
_COMING = {
    "creating": "is being created",
    "starting": "is starting",
    "waitingforstarttask": "runs its start task",
    "rebooting": "is rebooting",
    "reimaging": "is being reimaged",
    "preempted": "was preempted (Spot) and may come back",
    "offline": "accepts no new tasks",
    "leavingpool": "is leaving the pool",
    "unknown": "doesn't answer",
}


def waiting_for(name: str, pool: PoolFacts, nodes: Sequence[models.BatchNode], needed: int = 1) -> str:
    """What the tasks wait for. `needed`: nodes at once."""
    if pool.resize_errors and not nodes:
        code, message = pool.resize_errors[0]
        return f"the pool {name} got no nodes: {code}: {_first(message)}"
    if pool.target > pool.nodes or (pool.allocation == "resizing" and pool.target != pool.nodes):
        return f"the pool {name} is resizing: {pool.nodes} → {_nodes(pool.target)}"
    states = Counter(word(node.state) for node in nodes)
    for state, doing in _COMING.items():
        if states[state]:
            return f"{_nodes(states[state])} of the pool {name} {doing if states[state] == 1 else _plural(doing)}"
    if pool.is_steady and len(nodes) < needed:
        formula = "; its formula is being evaluated" if pool.formula else ""
        return f"the pool {name} has {_nodes(len(nodes))}, and {_nodes(needed)} are needed{formula}".replace(
            "1 node are needed", "1 is needed"
        )
    if needed > 1 and 0 < states["idle"] < needed:
        return f"{_nodes(needed)} of the pool {name} are needed at once, and {_free(states['idle'], len(nodes))}"
    if states["running"]:
        return f"every node of the pool {name} is busy with other tasks"
    return f"a node of the pool {name} is getting ready for it"


def hopeless_because(name: str, pool: PoolFacts, nodes: Sequence[models.BatchNode]) -> str:
    """Why no task will ever start on this pool; "" if one may."""
    dead = [node for node in nodes if word(node.state) in NO_NODES_AGAIN]
    if nodes and len(dead) == len(nodes) and pool.is_steady:
        failed = [node for node in dead if word(node.state) == "starttaskfailed"]
        if failed:
            code = failed[0].start_task_info.exit_code if failed[0].start_task_info else None
            with_code = f" with exit code {code}" if code is not None else ""
            return f"the start task of the pool {name} failed{with_code} on {'its node' if len(nodes) == 1 else 'all its nodes'}"
        errors = [error for node in dead for error in node.errors or ()]
        error = f": {errors[0].code}: {_first(errors[0].message or '')}" if errors else ""
        return f"{'the node' if len(nodes) == 1 else 'every node'} of the pool {name} is unusable{error}"
    if not nodes and pool.is_steady and pool.target > 0:
        for code, message in pool.resize_errors:
            if code in QUOTAS:
                return f"the pool {name} gets no nodes: {code}: {_first(message)}"
    return ""


def too_few(name: str, pool: PoolFacts, needed: int) -> str:
    """Message for a formula that counts a task on several nodes as one."""
    fix = f"`nodes_per_task: {needed}` of its `autoscale` in the stack's file counts them as {needed} each"
    return f"the formula of the pool {name} gives {_nodes(pool.target)} to a task that needs {needed} at once; {fix}"


def preparation_failed(
    statuses: Sequence[models.BatchJobPreparationAndReleaseTaskStatus],
) -> models.BatchJobPreparationAndReleaseTaskStatus | None:
    """The first node on which the job's preparation failed, so that none of its tasks starts there."""
    for each in statuses:
        info = each.job_preparation_task_execution_info
        if info is not None and word(info.state) == "completed" and word(info.result) == "failure":
            return each
    return None


def _nodes(nodes: int) -> str:
    return "1 node" if nodes == 1 else f"{nodes} nodes"


def _free(idle: int, nodes: int) -> str:
    return f"{idle} of {nodes} {'is' if idle == 1 else 'are'} idle"


def _plural(doing: str) -> str:
    first, _, rest = doing.partition(" ")
    many = {"is": "are", "runs": "run", "was": "were", "accepts": "accept", "doesn't": "don't"}.get(first, first)
    return f"{many} {rest}"


def _first(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0] if lines else ""


_WORKER_LINES = 15


class Worker(NamedTuple):
    """One failed worker."""

    number: int  # of the subtask, which isn't the index in TF_CONFIG
    node: str
    code: int
    lines: tuple[str, ...] = ()  # the last ones of its standard error

    @property
    def called(self) -> str:
        return f"the worker of subtask {self.number} on node {self.node}"


def failed_workers(account: BatchAccount, pool_id: str, job_id: str, task_id: str) -> list[Worker]:
    """Empty if none has failed, their nodes are gone, or the task has no other workers."""
    found: list[Worker] = []
    for subtask in account.subtasks(job_id, task_id):
        place = subtask.node_info
        if place is None or not place.node_id or not place.task_root_directory:
            continue
        content = account.node_file(pool_id, place.node_id, f"{place.task_root_directory}/{EXIT_FILE}")
        code = int(content) if content and content.strip().isdigit() else 0
        if code:
            errors = account.node_file(pool_id, place.node_id, f"{place.task_root_directory}/stderr.txt")
            found.append(Worker(subtask.id or 0, place.node_id, code, last_lines(errors, _WORKER_LINES)))
    return found
