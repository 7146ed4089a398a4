"""The jobs and tasks of Batch: which of them a pool's nodes may run next, and what follows from their ends.

Clients change `jobs` and `tasks`; nodes report `begun`, `ended` and `requeued`; `ready` has the tasks that may start. All of it
outlives this process when a method returns. What clients ask outlives the machine as well; what nodes tell does so from the
tables' `sync` on, which comes before a client is told anything: where the machine goes, the nodes' processes go with it, and
their tasks run again. Everything happens on the server's event loop; nothing here awaits.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from localazure.arm.store import Body
from localazure.batch import work_rules as rules
from localazure.batch.changes import Changed
from localazure.batch.model import Outcome, PoolKey, TaskKey, TaskNode, TaskRun
from localazure.batch.work_jobs import Jobs
from localazure.batch.work_tables import RUNNING, Job, Tables, Task
from localazure.batch.work_tasks import Tasks


class Work:
    """Opened once. `jobs` and `tasks` are what clients change, `tables` all that there is; the rest is for the nodes."""

    def __init__(self, path: Path, now: Callable[[], datetime]) -> None:
        self.tables = Tables(path)
        self.now = now
        self._changed = Changed(self.tables, now)
        self.jobs = Jobs(self.tables, self._changed)
        self.tasks = Tasks(self.tables, self._changed, self.jobs)

    def close(self) -> None:
        self.tables.close()

    def listen(self, callback: Callable[[PoolKey], None]) -> None:
        """Calls back with a pool that has new work to take, or whose work was ended by a user."""
        self._changed.pool_changed = callback

    def listen_to_jobs(self, callback: Callable[[str, str], None]) -> None:
        """Calls back with account and job when a job is on its way to another state, and when a task of such a job has ended."""
        self._changed.job_changed = callback

    def add_job(self, account: str, body: Body, *, quota: int | None = None) -> Job:
        """A new job. `quota`: how many jobs the account may have that haven't completed."""
        with self._changed.told():
            job = self.jobs.add(account, body, quota=quota)
            self.jobs.look(job)
        return job

    async def forget_account(self, account: str) -> None:
        """Everything of an account that is deleted: its pools, and what ran on them, have gone before."""
        for job in self.tables.jobs(account):
            self.jobs.gone(job)

    # For those who give tasks to nodes

    def ready(self, pool: PoolKey) -> Iterator[TaskRun]:
        """What may start now, by its job's priority, then by age. Who takes a task says so by `begun` before asking for more."""
        for job in self.tables.jobs_of(pool):
            tasks = self.tables.of(job.account, job.name)
            for task in tasks.in_states("active") if job.state == "active" else ():
                if job.parallel != -1 and len(tasks.in_states(*RUNNING)) >= job.parallel:
                    break
                if not task.held:
                    yield _run(job, task)

    def counts(self, pool: PoolKey) -> tuple[int, int]:
        """Tasks that are ready to run, and that run; a multi-instance task is one."""
        active = running = 0
        for job in self.tables.jobs_of(pool):
            tasks = self.tables.of(job.account, job.name)
            active += sum(job.state == "active" and not each.held for each in tasks.in_states("active"))
            running += len(tasks.in_states(*RUNNING))
        return active, running

    def run_of(self, key: TaskKey) -> TaskRun | None:
        """A task with its job, whatever its state."""
        task, job = self.tables.task(key), self.tables.job(key.account, key.job)
        return _run(job, task) if job and task else None

    # What nodes tell

    def begun(self, key: TaskKey, node: TaskNode, *, preparing: bool = False) -> None:
        """A node has taken the task. `preparing`: its job's preparation comes first, and `started` follows."""
        task = self.tables.task(key)
        job = self.tables.job(key.account, key.job)
        if task is None or job is None or task.state == "completed":
            return
        task.record |= {"node": list(node), "pool": job.body["poolInfo"]["poolId"]}
        task.record["execution"] = rules.counters(task.record["execution"]) | {"startTime": self._changed.stamp()}
        with self._changed.told(loosely=True):
            self._changed.state(task, "preparing" if preparing else "running")
            self.tables.put(task)

    def started(self, key: TaskKey) -> None:
        """What had to be prepared is there: the task's own command runs."""
        task = self.tables.task(key)
        if task is None or task.state != "preparing":
            return
        task.record["execution"]["startTime"] = self._changed.stamp()
        with self._changed.told(loosely=True):
            self._changed.state(task, "running")
            self.tables.put(task)

    def ended(self, key: TaskKey, outcome: Outcome) -> None:
        """A run is over: the task is tried again, or it has completed, with what that means for others and for its job."""
        task = self.tables.task(key)
        job = self.tables.job(key.account, key.job)
        if task is None or job is None or task.state == "completed":
            return
        with self._changed.told(loosely=True):
            if rules.tried_again(task.body, task.record, outcome) and job.state not in ("terminating", "deleting"):
                self.tasks.again(task, "Retry")
                self._changed.pool(job.pool_key)
            else:
                self.tasks.complete(task, job, outcome)
            self._changed.job_if_moving(job)

    def requeued(self, key: TaskKey) -> None:
        """The task's node was lost, or taken away: it waits for another, and no retry is used up."""
        task = self.tables.task(key)
        job = self.tables.job(key.account, key.job)
        if task is None or job is None or not task.running:
            return
        with self._changed.told(loosely=True):
            self.tasks.again(task, "Requeue")
            self._changed.pool(job.pool_key)
            self._changed.job_if_moving(job)


def _run(job: Job, task: Task) -> TaskRun:
    instances = (task.body.get("multiInstanceSettings") or {}).get("numberOfInstances") or 1
    return TaskRun(task.key, job.pool_key, task.body, job.body, task.slots, instances)
