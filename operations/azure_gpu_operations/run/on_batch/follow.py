"""Follows a job on a pool to its end: what its tasks wait for, the output of a single task, the progress of many.

KeyboardInterrupt passes through. The autoscale formula of a pool is evaluated at once, instead of at its interval.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import requests
from azure.batch import models
from azure.core.exceptions import AzureError as AzureCoreError

from azure_gpu.formats.task_file import Task
from azure_gpu_operations.azure import AzureError
from azure_gpu_operations.batch.account import BatchAccount, Counts
from azure_gpu_operations.batch.pool_facts import PoolFacts, facts_of, word
from azure_gpu_operations.run import polling
from azure_gpu_operations.run.blob_tail import BlobTail
from azure_gpu_operations.run.on_batch import others, waiting
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


class Follower(polling.Follower[End]):
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
        lost = others.failed(self._account, self._pool, self._job, self._only)
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
            self._once(waiting.sentence(self._pool_name, pool, nodes, self._needed))
        reason = waiting.hopeless(self._pool_name, pool, nodes)
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
        failed = waiting.preparation_failed(self._account.preparations(self._job))
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
            return End(tuple(self._account.tasks(self._job)), self.nodes, waiting.too_few(self._pool_name, pool, self._needed))
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
