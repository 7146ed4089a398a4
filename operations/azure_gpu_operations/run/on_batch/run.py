"""A run on a stack's pool: a Batch job with one task or many.

Imported when a run starts, because Azure's clients load slowly.

A successful job is removed. A failed, stopped or detached one is kept for `explain`.

Secrets aren't variables of the task, which all readers of the job can see. They are written to a blob of the stack's storage
account, which requires a role to read; the node downloads it with the pool's identity to the task's folder, and the shell that
starts the program reads and deletes that file first. The blob is deleted when the run ends.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from azure.batch import models

from azure_gpu.formats.task_file import Task, TaskFile
from azure_gpu_operations.azure import Arm, first_line
from azure_gpu_operations.batch.account import API_VERSION, BatchAccount, batch_account_of, last_lines
from azure_gpu_operations.batch.pool_cost import node_prices
from azure_gpu_operations.batch.pool_facts import PoolFacts, facts_of
from azure_gpu_operations.exit_codes import FAILED_RUN
from azure_gpu_operations.one_part import POOL
from azure_gpu_operations.run import carried, used_part
from azure_gpu_operations.run.on_batch import find_pool, outcome, plan as bodies
from azure_gpu_operations.run.on_batch.find_pool import quota_problems
from azure_gpu_operations.run.on_batch.follow import End, Follower, failed_workers, preparation_failed
from azure_gpu_operations.run.on_batch.placing import Brought, brought, fetch_files
from azure_gpu_operations.run.on_batch.request import BatchRequest
from azure_gpu_operations.run.protocol import Cost, Outcome, Output, RunError, Say
from azure_gpu_operations.run.service_run import REFUSED, ServiceRun
from azure_gpu_operations.run.target import Target, run_name
from azure_gpu_operations.stack_view import StackView

LAST_LINES = 15


@contextmanager
def plan(view: StackView, name: str, request: BatchRequest, output: Output) -> Iterator["BatchRun"]:
    """Provides image, files and secrets while the block runs."""
    with closing(Arm(view.connection)) as arm, closing(BatchAccount(arm, batch_account_of(view.pools[name]))) as account:
        pool = _pool(arm, account, view, name, request, output.say)
        job_id = run_name(request.target)
        with brought(arm, view, pool, request, job_id, output.say) as there:
            job = bodies.job_of(job_id, pool, request, there.placed)
            prepares = job.job_preparation_task is not None
            yield BatchRun(view.name, name, output, request, account, pool, there, name=job_id, job=job, prepares=prepares)


def find(arm: Arm, view: StackView, name: str, output: Output) -> "BatchRun | None":
    """The job of this name on any of the stack's pools. Its account stays open."""
    for place, pool_id in view.pools.items():
        account = BatchAccount(arm, batch_account_of(pool_id))
        job, pool = account.job(name), account.pool(pool_id.rsplit("/", 1)[-1])
        if job is None or pool is None or (job.pool_info is not None and job.pool_info.pool_id != pool.id):
            account.close()
            continue
        tasks = tuple(_task_of(task) for task in account.tasks(name))
        request = BatchRequest(Target(), TaskFile(tasks or (Task("", "", ""),)))
        prepares = job.job_preparation_task is not None
        pool, there = facts_of(pool), Brought(bodies.Placed())
        return BatchRun(view.name, place, output, request, account, pool, there, name=name, prepares=prepares, is_sent=True)
    return None


def is_under_way(arm: Arm, view: StackView, name: str) -> bool:
    """Whether a task of this job hasn't ended; Batch uploads output files before a task ends."""
    for pool_id in view.pools.values():
        with closing(BatchAccount(arm, batch_account_of(pool_id))) as account:
            if account.job(name) is not None:
                return any(task.state != models.BatchTaskState.COMPLETED for task in account.tasks(name))
    return False


def _task_of(task: models.BatchTask) -> Task:
    """The properties that are needed to follow the task."""
    several = task.multi_instance_settings
    depends = task.depends_on.task_ids if task.depends_on is not None else None
    return Task(
        task.id or "",
        task.command_line or "",
        "",
        nodes=(several.number_of_instances or 1) if several is not None else 1,
        depends_on=tuple(depends or ()),
    )


@dataclass
class BatchRun(ServiceRun[BatchRequest]):
    """One job, once everything that it needs is available. With secrets it can't be left, which are in the stack's storage only
    while this command is running."""

    account: BatchAccount
    pool: PoolFacts
    there: Brought
    prepares: bool = field(kw_only=True)
    job: models.BatchJobCreateOptions | None = field(kw_only=True, default=None)
    stopped = "is terminated and kept"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._end = End()
        self._found: outcome.Outcome | None = None
        pool, tasks = (self.place, self.pool.id), self.request.job.tasks
        self._follower = Follower(self.account, self.name, *pool, tasks, self.output, prepares=self.prepares)

    @property
    def kept_as(self) -> str:
        return self.name if self.request.collects else ""

    @property
    def can_be_left(self) -> bool:
        return self.is_sent and not self.request.target.secrets

    def _send(self) -> str:
        assert self.job is not None, "it was created earlier"
        self.account.create_job(self.job)
        several = len(self.request.job.tasks) > 1
        what = self.request.target.described if self.request.has_target else "commands" if several else "a command"
        return f"{what} on pool {self.place}"

    def _complete(self) -> None:
        """Creates the tasks. If the service rejects some of them, none runs."""
        tasks = self.request.job.tasks
        sent = [bodies.task_of(self.name, task, self.pool, self.request, self.there.placed) for task in tasks]
        try:
            refused = self.account.add_tasks(self.name, sent, self._added)
        except REFUSED:
            self._terminate("its tasks could not be sent")
            raise
        if refused:
            self._terminate("some of its tasks were refused")
            shown = "; ".join(f"{each.id}: {each.why}" for each in refused[: outcome.MOST_NAMED])
            more = len(refused) - outcome.MOST_NAMED
            rest = f"; and {more} more" if more > 0 else ""
            raise RunError(f"Batch rejected {len(refused)} of {len(tasks)} tasks, so the job was terminated: {shown}{rest}")
        self.account.end_when_done(self.name)
        self._ask_formula()

    def follow(self) -> Outcome:
        self._end = end = self._follower.follow()
        if end.is_gone:
            raise self.gone()
        if end.hopeless:
            self._show_preparation()
            return Outcome(FAILED_RUN, f"given up: {end.hopeless}")
        lines = self._follower.finish()
        tasks = self.request.job.tasks
        self._found = found = outcome.of_tasks(tasks, end.tasks, self.request.timeout_minutes)
        self._tell(found)
        self._fetch(end)
        if self.request.is_one and not lines and not found.failed:
            self.say("the task wrote no output")
        return Outcome(found.code, outcome.words(found, len(tasks)))

    def _cancel(self) -> None:
        self.account.terminate(self.name, "its user stopped it")
        self._follower.finish()

    def cost(self) -> Cost:
        prices = node_prices(self.pool.size, self.account.location, is_windows=self.pool.is_windows)
        use = outcome.use_of(self._end.tasks, self._beside(self._end.tasks), self._end.nodes, prices)
        return Cost(outcome.summary(use, datetime.now(UTC).date()), use.usd, use.seconds)

    def settle(self) -> None:
        if self._end.hopeless:
            if self._terminate("nothing of it could start"):
                self.say(f"the job {self.name} is terminated and kept; why: {self.explain()}")
            self.say(f"state of the pool: {self.explain(self.place)}")
        elif self._found is not None:
            self._remove_or_keep(self._found)

    def _ask_formula(self) -> None:
        """Evaluates the pool's formula now instead of at its interval."""
        found = self.account.pool(self.pool.id) if self.pool.formula else None
        if found is not None:
            self.account.evaluate_now(found)

    def _added(self, count: int) -> None:
        total = len(self.request.job.tasks)
        if total > 1:
            self.say(f"sent {count} of {total} tasks")

    def _terminate(self, reason: str) -> bool:
        """Returns False, after a message, if the job may still be running."""
        return self.did(lambda: self.account.terminate(self.name, reason))

    def _tell(self, found: outcome.Outcome) -> None:
        """Shows which tasks failed, and of many tasks the last lines of the first failed one."""
        for line in found.lines if not self.request.is_one else found.reasons:
            self.say(line)
        if found.failed and self.request.is_one and self.request.most_nodes > 1:
            self._tell_workers(found.failed[0])
        if found.failed and not self.request.is_one:
            self._show_last(f"last lines of {found.failed[0]}:", self.account.task_file(self.name, found.failed[0], "stderr.txt"))

    def _tell_workers(self, task_id: str) -> None:
        """Shows failures of other workers, which may be the cause of the first one's."""
        for worker in failed_workers(self.account, self.pool.id, self.name, task_id)[: outcome.MOST_NAMED]:
            self.say(f"{worker.called} ended with exit code {worker.code}; its last lines:")
            for line in worker.lines:
                self.output.show_error(f"    {line}")

    def _show_preparation(self) -> None:
        failed = preparation_failed(self.account.preparations(self.name)) if self.prepares else None
        info = failed.job_preparation_task_execution_info if failed is not None else None
        if failed is not None and info is not None and info.task_root_directory:
            file = f"{info.task_root_directory}/stderr.txt"
            self._show_last("", self.account.node_file(self.pool.id, failed.node_id or "", file))

    def _show_last(self, title: str, content: bytes | None) -> None:
        lines = last_lines(content, LAST_LINES)
        if lines and title:
            self.say(title)
        for line in lines:
            self.output.show_error(f"    {line}")

    def _fetch(self, end: End) -> None:
        request, storage = self.request, self.there.placed.storage
        if request.into is None:
            if request.collects and storage is not None:
                self.say(f"the tasks' files are in {storage.url()}/{self.name}/")
            return
        folder = request.into.expanduser()
        blobs = self.there.blobs if request.collects else None
        read = partial(self.account.task_file, self.name)
        fetched = fetch_files([task.id for task in end.tasks], self.name, folder, read, blobs, apart=not request.is_one)
        self.say(carried.fetched(fetched, folder))

    def _beside(self, tasks: Sequence[models.BatchTask]) -> list[models.BatchSubtask]:
        """The other nodes of tasks on several nodes, for the time of their task; a task itself names only its first node."""
        several = {task.id.lower() for task in self.request.job.tasks if task.nodes > 1}
        return [
            outcome.held(each, task)
            for task in tasks
            if task.id.lower() in several
            for each in self.account.subtasks(self.name, task.id)
        ]

    def _remove_or_keep(self, found: outcome.Outcome) -> None:
        if found.failed or found.never_ran:
            if found.never_ran:
                self._terminate("all that can run of it has run")
            self.say(f"the job {self.name} is kept; why it failed: {self.explain()}")
            return
        try:
            self.account.delete_job(self.name)
        except REFUSED as error:
            self.say(f"the job {self.name} has ended and could not be removed: {first_line(error)}")
        else:
            self.say(f"the job {self.name} is removed")


def _pool(arm: Arm, account: BatchAccount, view: StackView, name: str, request: BatchRequest, say: Say) -> PoolFacts:
    found = account.pool(view.pools[name].rsplit("/", 1)[-1])
    if found is None:
        raise used_part.missing(POOL, view, name)
    pool = facts_of(found)
    used_part.accepted([*find_pool.check(view, name, pool, request), *quota_problems(pool, request, account.body)], say)
    used_part.accepted(used_part.expired(POOL, view, name, lambda: arm.get(view.pools[name], API_VERSION)), say)
    return pool
