"""A run on a stack's pool: a Batch job with one task or many.

Imported when a run starts, because Azure's clients load slowly.

A successful job is removed. A failed, stopped or detached one is kept for `explain`.

Secrets aren't variables of the task, which all readers of the job can see. They are written to a blob of the stack's storage
account, which requires a role to read; the node downloads it with the pool's identity to the task's folder, and the shell that
starts the program reads and deletes that file first. The blob is deleted when the run ends.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import requests
from azure.batch import models
from azure.core.exceptions import AzureError as AzureCoreError

from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.formats import dates, tags
from azure_gpu.formats.task_file import Task, TaskFile
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.azure import Arm, AzureError, first_line
from azure_gpu_operations.batch.account import API_VERSION, BatchAccount, batch_account_of, last_lines
from azure_gpu_operations.batch.pool_cost import node_prices
from azure_gpu_operations.batch.pool_facts import PoolFacts, facts_of
from azure_gpu_operations.exit_codes import FAILED_RUN
from azure_gpu_operations.run import names
from azure_gpu_operations.run.errors import RunError, WrongRunError
from azure_gpu_operations.run.on_batch import fetching, find_pool, others, outcome, plan as bodies, quota, waiting
from azure_gpu_operations.run.on_batch.follow import End, Follower
from azure_gpu_operations.run.on_batch.placing import Brought, brought
from azure_gpu_operations.run.on_batch.request import BatchRequest
from azure_gpu_operations.run.protocol import Cost, Outcome, Output, Say
from azure_gpu_operations.run.target import Target
from azure_gpu_operations.stack_view import StackView

LAST_LINES = 15
_REFUSED = (AzureError, AzureCoreError, requests.RequestException)


@contextmanager
def plan(view: StackView, name: str, request: BatchRequest, output: Output) -> Iterator["BatchRun"]:
    """Provides image, files and secrets while the block runs."""
    _make_folder(request.into)
    with closing(Arm(view.connection)) as arm, closing(BatchAccount(arm, batch_account_of(view.pools[name]))) as account:
        pool = _pool(arm, account, view, name, request, output.say)
        job_id = names.of_run(request.target)
        with brought(arm, view, pool, request, job_id, output.say) as there:
            job = bodies.job_of(job_id, pool, request, there.placed)
            prepares = job.job_preparation_task is not None
            yield BatchRun(account, view.name, name, pool, request, there, job_id, output, job=job, prepares=prepares)


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
        return BatchRun(
            account, view.name, place, facts_of(pool), request, Brought(bodies.Placed()), name, output, prepares=prepares
        )
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


class BatchRun:
    """One job, once everything that it needs is available. `job` None: it was created earlier."""

    def __init__(
        self,
        account: BatchAccount,
        stack: str,
        place: str,
        pool: PoolFacts,
        request: BatchRequest,
        there: Brought,
        job_id: str,
        output: Output,
        *,
        prepares: bool,
        job: models.BatchJobCreateOptions | None = None,
    ) -> None:
        self._account, self._stack, self._pool = account, stack, pool
        self._request, self._there, self._output, self._say = request, there, output, output.say
        self._job, self._prepares = job, prepares
        self._is_sent = job is None
        self._end = End()
        self._found: outcome.Outcome | None = None
        self.place, self.name = place, job_id
        self._follower = Follower(
            account,
            job_id,
            place,
            pool.id,
            request.job.tasks,
            prepares=prepares,
            show=output.show,
            show_error=output.show_error,
            say=output.say,
        )

    @property
    def kept_as(self) -> str:
        return self.name if self._request.collects else ""

    @property
    def can_be_left(self) -> bool:
        return self._is_sent and not self._request.target.secrets

    def start(self) -> None:
        """Creates the job and its tasks. If the service rejects some of them, none runs."""
        tasks = self._request.job.tasks
        sent = [bodies.task_of(self.name, task, self._pool, self._request, self._there.placed) for task in tasks]
        assert self._job is not None, "it was created earlier"
        self._account.create_job(self._job)
        what = self._request.target.described if self._request.has_target else "commands" if len(tasks) > 1 else "a command"
        self._say(f"started {what} on pool {self.place}: job {self.name}")
        try:
            refused = self._account.add_tasks(self.name, sent, self._added)
        except _REFUSED:
            self._terminate("its tasks could not be sent")
            raise
        if refused:
            self._terminate("some of its tasks were refused")
            shown = "; ".join(f"{each.id}: {each.why}" for each in refused[: outcome.MOST_NAMED])
            more = len(refused) - outcome.MOST_NAMED
            rest = f"; and {more} more" if more > 0 else ""
            raise RunError(f"Batch rejected {len(refused)} of {len(tasks)} tasks, so the job was terminated: {shown}{rest}")
        self._account.end_when_done(self.name)
        self._is_sent = True
        self._ask_formula()

    def follow(self) -> Outcome:
        self._end = end = self._follower.follow()
        if end.is_gone:
            raise RunError(f"the job {self.name} doesn't exist any more; it was deleted outside the stack")
        if end.hopeless:
            self._show_preparation()
            return Outcome(FAILED_RUN, f"given up: {end.hopeless}")
        lines = self._follower.finish()
        tasks = self._request.job.tasks
        self._found = found = outcome.of_tasks(tasks, end.tasks, self._request.timeout_minutes)
        self._tell(found)
        self._fetch(end)
        if self._request.is_one and not lines and not found.failed:
            self._say("the task wrote no output")
        return Outcome(found.code, outcome.words(found, len(tasks)))

    def stop(self) -> bool:
        if not self._terminate("its user stopped it"):
            return False
        self._follower.finish()
        self._say(f"the job {self.name} is terminated and kept")
        return True

    def cost(self) -> Cost:
        prices = node_prices(self._pool.size, self._account.location, is_windows=self._pool.is_windows)
        use = outcome.use_of(self._end.tasks, self._beside(self._end.tasks), self._end.nodes, prices)
        return Cost(outcome.summary(use, datetime.now(UTC).date()), use.usd, use.seconds)

    def settle(self) -> None:
        if self._end.hopeless:
            if self._terminate("nothing of it could start"):
                self._say(f"the job {self.name} is terminated and kept; why: {self._explain(self.name)}")
            self._say(f"state of the pool: {self._explain(self.place)}")
        elif self._found is not None:
            self._remove_or_keep(self._found)

    def _explain(self, name: str) -> str:
        return f"{COMMAND} explain {name} --stack {self._stack}"

    def _ask_formula(self) -> None:
        """Evaluates the pool's formula now instead of at its interval."""
        found = self._account.pool(self._pool.id) if self._pool.formula else None
        if found is not None:
            self._account.evaluate_now(found)

    def _added(self, count: int) -> None:
        total = len(self._request.job.tasks)
        if total > 1:
            self._say(f"sent {count} of {total} tasks")

    def _terminate(self, reason: str) -> bool:
        """Returns False, after a message, if the job may still be running."""
        try:
            self._account.terminate(self.name, reason)
        except (KeyboardInterrupt, *_REFUSED) as error:
            reason = f" ({first_line(error)})" if str(error) else ""
            self._say(
                f"the job {self.name} may still be running and billed{reason}; see: {COMMAND} running --stack {self._stack}"
            )
            return False
        return True

    def _tell(self, found: outcome.Outcome) -> None:
        """Shows which tasks failed, and of many tasks the last lines of the first failed one."""
        for line in found.lines if not self._request.is_one else found.reasons:
            self._say(line)
        if found.failed and self._request.is_one and self._request.most_nodes > 1:
            self._tell_workers(found.failed[0])
        if found.failed and not self._request.is_one:
            self._show_last(
                f"last lines of {found.failed[0]}:", self._account.task_file(self.name, found.failed[0], "stderr.txt")
            )

    def _tell_workers(self, task_id: str) -> None:
        """Shows failures of other workers, which may be the cause of the first one's."""
        for worker in others.failed(self._account, self._pool.id, self.name, task_id)[: outcome.MOST_NAMED]:
            self._say(f"{worker.called} ended with exit code {worker.code}; its last lines:")
            for line in worker.lines:
                self._output.show_error(f"    {line}")

    def _show_preparation(self) -> None:
        failed = waiting.preparation_failed(self._account.preparations(self.name)) if self._prepares else None
        info = failed.job_preparation_task_execution_info if failed is not None else None
        if failed is not None and info is not None and info.task_root_directory:
            file = f"{info.task_root_directory}/stderr.txt"
            self._show_last("", self._account.node_file(self._pool.id, failed.node_id or "", file))

    def _show_last(self, title: str, content: bytes | None) -> None:
        lines = last_lines(content, LAST_LINES)
        if lines and title:
            self._say(title)
        for line in lines:
            self._output.show_error(f"    {line}")

    def _fetch(self, end: End) -> None:
        request, storage = self._request, self._there.placed.storage
        if request.into is None:
            if request.collects and storage is not None:
                self._say(f"the tasks' files are in {storage.url()}/{self.name}/")
            return
        folder = request.into.expanduser()
        blobs = self._there.blobs if request.collects else None
        read = partial(self._account.task_file, self.name)
        fetched = fetching.fetch([task.id for task in end.tasks], self.name, folder, read, blobs, apart=not request.is_one)
        self._say(f"fetched {fetched} {'file' if fetched == 1 else 'files'} into {folder}")

    def _beside(self, tasks: Sequence[models.BatchTask]) -> list[models.BatchSubtask]:
        """The other nodes of tasks on several nodes, for the time of their task; a task itself names only its first node."""
        several = {task.id.lower() for task in self._request.job.tasks if task.nodes > 1}
        return [
            outcome.held(each, task)
            for task in tasks
            if task.id.lower() in several
            for each in self._account.subtasks(self.name, task.id)
        ]

    def _remove_or_keep(self, found: outcome.Outcome) -> None:
        if found.failed or found.never_ran:
            if found.never_ran:
                self._terminate("all that can run of it has run")
            self._say(f"the job {self.name} is kept; why it failed: {self._explain(self.name)}")
            return
        try:
            self._account.delete_job(self.name)
        except _REFUSED as error:
            self._say(f"the job {self.name} has ended and could not be removed: {first_line(error)}")
        else:
            self._say(f"the job {self.name} is removed")


def _make_folder(into: Path | None) -> None:
    """Creates the folder before anything is billed, so that files can be downloaded at the end."""
    if into is None:
        return
    try:
        into.expanduser().mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        fix = "name a writable folder"
        raise WrongRunError([Problem("--into", f"the folder can't be created: {reason}", str(into), fix=fix)]) from error


def _pool(arm: Arm, account: BatchAccount, view: StackView, name: str, request: BatchRequest, say: Say) -> PoolFacts:
    found = account.pool(view.pools[name].rsplit("/", 1)[-1])
    if found is None:
        fix = f"run `pulumi refresh --stack {view.name}`, then `pulumi up` to create it again"
        message = "the pool is in the stack's state but not in Azure"
        raise WrongRunError([Problem("--pool", message, name, fix=fix)])
    pool = facts_of(found)
    problems = [*find_pool.check(view, name, pool, request), *quota.check(pool, request, account.body)]
    if errors(problems):
        raise WrongRunError(problems)
    today = datetime.now(UTC).date()
    if find_pool.check_end(view, name, today):
        as_of = ((arm.get(view.pools[name], API_VERSION) or {}).get("tags") or {}).get(tags.AS_OF, "")
        problems += find_pool.check_end(view, name, dates.parse_day(as_of) or today)
    for warning in problems:
        say(f"warning: {warning}")
    return pool
