"""A run on a stack's pool, from what is asked for to the exit code: sends the job and its tasks, follows them, fetches what they
leave, sums up.

In: a stack's view, the pool's name in it, a `Wanted`. Out: an exit code; what a task writes on standard output and error, all
else on standard error. Loaded when a run begins: Azure's clients take longer to load than a command line to be refused.

A job that went well is removed. One that failed, was ended or was left running stays, so that `explain` can tell why.

Secrets: a task's variables can be read by everybody who may read the job, so a secret is none of them. It is written into a blob
of the stack's storage account, whose readers need a role on it; the node fetches it with the pool's identity into the task's
folder, and the shell that starts the program reads that file and removes it first. The blob goes when the run ends.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import requests
from azure.batch import models
from azure.core.exceptions import AzureError as AzureCoreError

from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.formats import dates, tags
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.azure import Arm, AzureError, first_line
from azure_gpu_operations.batch.account import API_VERSION, BatchAccount, batch_account_of, last_lines
from azure_gpu_operations.batch.pool_cost import node_prices
from azure_gpu_operations.batch.pool_facts import PoolFacts, facts_of
from azure_gpu_operations.run import names
from azure_gpu_operations.run.command import FAILED_RUN, INTERRUPTED
from azure_gpu_operations.run.ended import EndedFromOutsideError
from azure_gpu_operations.run.errors import RunError, WrongRunError
from azure_gpu_operations.run.on_batch import fetching, find_pool, outcome, plan, waiting
from azure_gpu_operations.run.on_batch.follow import End, Follower
from azure_gpu_operations.run.on_batch.placing import Brought, brought
from azure_gpu_operations.run.on_batch.stopping import DETACH, TERMINATE, Choice, choice
from azure_gpu_operations.run.on_batch.wanted import Wanted
from azure_gpu_operations.stack_view import StackView

LAST_LINES = 15

Say = Callable[[str], None]


def run(
    view: StackView,
    name: str,
    wanted: Wanted,
    *,
    detach: bool,
    show: Say,
    show_error: Say,
    say: Say,
    choose: Callable[[], Choice] = choice,
) -> int:
    """The exit code of what ran: of the first task that failed."""
    _make_folder(wanted.into)
    with closing(Arm(view.connection)) as arm, closing(BatchAccount(arm, batch_account_of(view.pools[name]))) as account:
        pool = _pool(arm, account, view, name, wanted, say)
        job_id = names.of_run(wanted.target)
        with brought(arm, view, pool, wanted, job_id, say) as there:
            session = _Session(account, view, name, pool, wanted, there, job_id, show, show_error, say)
            try:
                session.send()
                if detach:
                    say(f"it runs on; what became of it: {session.explain}")
                    return 0
                end = session.follower.follow()
            except EndedFromOutsideError:
                return session.interrupted(TERMINATE)
            except KeyboardInterrupt:
                return session.interrupted(choose() if session.is_sent else TERMINATE)
            return session.sum_up(end)


def _make_folder(into: Path | None) -> None:
    """Before anything costs: files that can't be fetched afterwards are lost."""
    if into is None:
        return
    try:
        into.expanduser().mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        fix = "name a folder that you may write to"
        raise WrongRunError([Problem("--into", f"the folder can't be made: {reason}", str(into), fix=fix)]) from error


def _pool(arm: Arm, account: BatchAccount, view: StackView, name: str, wanted: Wanted, say: Say) -> PoolFacts:
    found = account.pool(view.pools[name].rsplit("/", 1)[-1])
    if found is None:
        fix = f"run `pulumi up --stack {view.name}`, which makes it again after `pulumi refresh`"
        message = "the stack has this pool and Azure hasn't: somebody has deleted it"
        raise WrongRunError([Problem("--pool", message, name, fix=fix)])
    pool = facts_of(found)
    problems = find_pool.check(view, name, pool, wanted)
    if errors(problems):
        raise WrongRunError(problems)
    today = datetime.now(UTC).date()
    if find_pool.check_end(view, name, today):
        said = ((arm.get(view.pools[name], API_VERSION) or {}).get("tags") or {}).get(tags.AS_OF, "")
        problems += find_pool.check_end(view, name, dates.parse_day(said) or today)
    for warning in problems:
        say(f"warning: {warning}")
    return pool


class _Session:
    """One job, once everything that it needs is in its place."""

    def __init__(
        self,
        account: BatchAccount,
        view: StackView,
        name: str,
        pool: PoolFacts,
        wanted: Wanted,
        there: Brought,
        job_id: str,
        show: Say,
        show_error: Say,
        say: Say,
    ) -> None:
        self._account, self._view, self._name, self._pool = account, view, name, pool
        self._wanted, self._there, self._job = wanted, there, job_id
        self._show_error, self._say = show_error, say
        self._options = plan.job_of(job_id, pool, wanted, there.placed)
        self.explain = f"{COMMAND} explain {job_id} --stack {view.name}"
        self.is_sent = False
        self.follower = Follower(
            account,
            job_id,
            name,
            pool.id,
            wanted.job.tasks,
            prepares=self._options.job_preparation_task is not None,
            show=show,
            show_error=show_error,
            say=say,
        )

    def send(self) -> None:
        """The job with its tasks. Where the service doesn't take all of them, none runs."""
        tasks = self._wanted.job.tasks
        sent = [plan.task_of(self._job, task, self._pool, self._wanted, self._there.placed) for task in tasks]
        self._account.create_job(self._options)
        what = self._wanted.target.described if self._wanted.has_target else "commands" if len(tasks) > 1 else "a command"
        self._say(f"started {what} on pool {self._name}: job {self._job}")
        try:
            refused = self._account.add_tasks(self._job, sent, self._added)
        except (AzureError, AzureCoreError, requests.RequestException):
            self._terminate("its tasks could not be sent")
            raise
        if refused:
            self._terminate("some of its tasks were refused")
            shown = "; ".join(f"{each.id}: {each.why}" for each in refused[: outcome.MOST_NAMED])
            more = len(refused) - outcome.MOST_NAMED
            rest = f"; and {more} more" if more > 0 else ""
            raise RunError(f"Batch refused {len(refused)} of {len(tasks)} tasks, so the job was ended: {shown}{rest}")
        self._account.end_when_done(self._job)
        self.is_sent = True
        self._ask_formula()

    def _ask_formula(self) -> None:
        """A pool under a formula looks at once, and not at the end of its interval."""
        found = self._account.pool(self._pool.id) if self._pool.formula else None
        if found is not None:
            self._account.evaluate_now(found)

    def _added(self, count: int) -> None:
        total = len(self._wanted.job.tasks)
        if total > 1:
            self._say(f"sent {count} of {total} tasks")

    def _terminate(self, reason: str) -> bool:
        """Whoever has it ended is owed to hear that it costs nothing any more, or that it may."""
        try:
            self._account.terminate(self._job, reason)
        except (KeyboardInterrupt, AzureError, AzureCoreError, requests.RequestException) as error:
            told = f" ({first_line(error)})" if str(error) else ""
            self._say(f"the job {self._job} may still run and cost{told}; see: {COMMAND} running")
            return False
        return True

    def interrupted(self, chosen: Choice) -> int:
        if chosen == DETACH:
            self._say(f"the job {self._job} runs on; what became of it: {self.explain}")
            return INTERRUPTED
        if not self._terminate("its user stopped it"):
            return INTERRUPTED
        self.follower.finish()
        self._say(f"{self._name}: stopped at your word; the job {self._job} is ended and kept")
        return INTERRUPTED

    def sum_up(self, end: End) -> int:
        if end.is_gone:
            raise RunError(f"the job {self._job} isn't there any more: somebody has deleted it")
        if end.hopeless:
            self._give_up(end.hopeless)
            return FAILED_RUN
        lines = self.follower.finish()
        found = outcome.of_tasks(self._wanted.job.tasks, end.tasks, self._wanted.timeout_minutes)
        self._tell(found)
        self._fetch(end)
        if self._wanted.is_one and not lines and not found.failed:
            self._say("the task wrote nothing")
        self._say(f"{self._name}: {outcome.words(found, len(self._wanted.job.tasks))}; {self._cost(end)}")
        self._remove_or_keep(found)
        return found.code

    def _tell(self, found: outcome.Outcome) -> None:
        """Which tasks failed, and the last lines of the first of many; those of a single one have been shown."""
        for line in found.lines if not self._wanted.is_one else found.reasons:
            self._say(line)
        if found.failed and not self._wanted.is_one:
            lines = last_lines(self._account.task_file(self._job, found.failed[0], "stderr.txt"), LAST_LINES)
            if lines:
                self._say(f"last lines of {found.failed[0]}:")
            for line in lines:
                self._show_error(f"    {line}")

    def _give_up(self, reason: str) -> None:
        self._say(f"given up: {reason}")
        failed = waiting.preparation_failed(self._account.preparations(self._job)) if self._options.job_preparation_task else None
        info = failed.job_preparation_task_execution_info if failed is not None else None
        if failed is not None and info is not None and info.task_root_directory:
            file = f"{info.task_root_directory}/stderr.txt"
            for line in last_lines(self._account.node_file(self._pool.id, failed.node_id or "", file), LAST_LINES):
                self._show_error(f"    {line}")
        if self._terminate("nothing of it could start"):
            self._say(f"the job {self._job} is ended and kept; why: {self.explain}")
        self._say(f"how the pool is: {COMMAND} explain {self._name} --stack {self._view.name}")

    def _fetch(self, end: End) -> None:
        wanted, storage = self._wanted, self._there.placed.storage
        if wanted.into is None:
            if wanted.collects and storage is not None:
                self._say(f"what the tasks left is in {storage.url()}/{self._job}/")
            return
        folder = wanted.into.expanduser()
        blobs = self._there.blobs if wanted.collects else None
        read = partial(self._account.task_file, self._job)
        fetched = fetching.fetch([task.id for task in end.tasks], self._job, folder, read, blobs, apart=not wanted.is_one)
        self._say(f"fetched {fetched} {'file' if fetched == 1 else 'files'} into {folder}")

    def _cost(self, end: End) -> str:
        prices = node_prices(self._pool.size, self._account.location, is_windows=self._pool.is_windows)
        use = outcome.use_of(end.tasks, self._beside(end.tasks), end.nodes, prices)
        return outcome.summary(use, datetime.now(UTC).date())

    def _beside(self, tasks: Sequence[models.BatchTask]) -> list[models.BatchSubtask]:
        """The nodes of tasks that ran on several: a task itself names its first alone."""
        several = {task.id.lower() for task in self._wanted.job.tasks if task.nodes > 1}
        return [each for task in tasks if task.id.lower() in several for each in self._account.subtasks(self._job, task.id)]

    def _remove_or_keep(self, found: outcome.Outcome) -> None:
        if found.failed or found.never_ran:
            if found.never_ran:
                self._terminate("all that can run of it has run")
            self._say(f"the job {self._job} is kept; why it failed: {self.explain}")
            return
        try:
            self._account.delete_job(self._job)
        except (AzureError, AzureCoreError, requests.RequestException) as error:
            self._say(f"the job {self._job} is over and could not be removed: {first_line(error)}")
        else:
            self._say(f"the job {self._job} is removed")
