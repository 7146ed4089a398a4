"""Makes a run's image, script and secrets available to nodes, in the stack's registry and storage, and downloads files of tasks.

Scripts are stored by content, so that each is uploaded once. Secrets are deleted when the block ends. Standard output and error
are downloaded from the nodes, output files from the storage account; files of a node that no longer exists are skipped.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import requests
from azure.batch import models
from azure.core.exceptions import AzureError as AzureCoreError

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats.build_context import DOCKERFILE, Context
from azure_gpu.formats.task_file import Task, TaskFile
from azure_gpu.shared.polling import first_line
from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.batch.account import API_VERSION, BatchAccount, batch_account_of, last_lines
from azure_gpu_operations.batch.blobs import Blobs
from azure_gpu_operations.batch.pool_cost import node_prices
from azure_gpu_operations.batch.pool_facts import PoolFacts, facts_of
from azure_gpu_operations.exit_codes import FAILED_RUN
from azure_gpu_operations.one_part import POOL
from azure_gpu_operations.run import carried, used_part
from azure_gpu_operations.run.carried import CONTAINER
from azure_gpu_operations.run.on_batch import find_pool, outcome, plan as bodies
from azure_gpu_operations.run.on_batch.commands import secrets_file
from azure_gpu_operations.run.on_batch.find_pool import quota_problems
from azure_gpu_operations.run.on_batch.follow import End, Follower, failed_workers, preparation_failed
from azure_gpu_operations.run.on_batch.plan import Image, Placed, Storage
from azure_gpu_operations.run.on_batch.request import BatchRequest
from azure_gpu_operations.run.protocol import Cost, Outcome, Output, RunError, Say, WrongRunError
from azure_gpu_operations.run.service_run import REFUSED, ServiceRun
from azure_gpu_operations.run.target import Target, run_name
from azure_gpu_operations.run.used_part import registry_of
from azure_gpu_operations.stack_view import StackView


class Brought(NamedTuple):
    placed: Placed
    blobs: Blobs | None = None


@contextmanager
def brought(arm: Arm, view: StackView, pool: PoolFacts, request: BatchRequest, job_id: str, say: Say) -> Iterator[Brought]:
    """Provides image, files and secrets while the block runs."""
    image = _image(arm, view, pool, request, say) if pool.has_containers else None
    context = request.target.context
    script = context if context is not None and not pool.has_containers else None
    if not (script or request.collects or request.target.secrets or _names_storage(request)) or not view.storage:
        yield Brought(Placed(image=image))
        return
    with closing(Blobs(arm, view.storage)) as blobs:
        storage = Storage(blobs.endpoint, CONTAINER, pool.identities[0] if pool.identities else "")
        named = {each.container for task in request.job.tasks for each in task.outputs if each.container}
        for container in (CONTAINER, *sorted(named)):  # nodes upload into no container that isn't there
            blobs.make_container(container)
        files = _script_urls(blobs, storage, script) if script else {}
        secret = f"{job_id}/environment" if request.target.secrets else ""
        try:
            if secret:
                blobs.put(CONTAINER, secret, secrets_file(request.target.secrets.items()))
            url = f"{storage.url()}/{secret}" if secret else ""
            yield Brought(Placed(image=image, files=files, secrets_url=url, storage=storage), blobs)
        finally:
            if secret:
                _take_away(blobs, secret, say)


def _image(arm: Arm, view: StackView, pool: PoolFacts, request: BatchRequest, say: Say) -> Image | None:
    """The image of all tasks; None if each task has its own."""
    target = request.target
    if target.context is None:
        return _with_identity(target.image, pool) if target.image else None
    registry = registry_of(arm, view)
    if not _identity_for(registry.server, pool):
        raise WrongRunError([_no_identity(registry.server, pool)])
    return _with_identity(registry.build(target.context, say), pool)


def _with_identity(name: str, pool: PoolFacts) -> Image:
    """An image of one of the pool's registries is pulled with its identity, others without."""
    server = name.partition("/")[0].lower()
    known = any(each.server == server for each in pool.registries)
    ours = known or server.endswith((".azurecr.io", ".azurecr.cn", ".azurecr.us")) or ":" in server
    return Image(name, server, _identity_for(server, pool) if ours else "")


def _identity_for(server: str, pool: PoolFacts) -> str:
    """The pool's identity for this registry, else its first."""
    of_registry = [each.identity for each in pool.registries if each.server == server.lower() and each.identity]
    return next(iter((*of_registry, *pool.identities)), "")


def _no_identity(server: str, pool: PoolFacts) -> Problem:
    return Problem(
        path="--pool",
        message=f"the pool has no identity to pull from {server}",
        value=pool.id,
        fix="add `identity: create` to the stack's foundation and run `pulumi up`",
    )


def _script_urls(blobs: Blobs, storage: Storage, script: Context) -> dict[str, str]:
    """URLs of a script and its requirements, by their names on a node."""
    files: dict[str, str] = {}
    for path, content in script.files.items():
        if path == DOCKERFILE:
            continue
        blob = f"scripts/{script.tag}/{path}"
        blobs.put(CONTAINER, blob, content, again=False)
        files[path] = f"{storage.url()}/{blob}"
    return files


def _names_storage(request: BatchRequest) -> bool:
    return any(each.container or each.url for task in request.job.tasks for each in (*task.resource_files, *task.shared_files))


def _take_away(blobs: Blobs, secret: str, say: Say) -> None:
    try:
        blobs.delete(CONTAINER, secret)
    except (KeyboardInterrupt, AzureError, AzureCoreError, requests.RequestException) as error:
        say(f"the run's secrets are still in the storage account {blobs.name}; delete the blob {CONTAINER}/{secret} ({error})")


LOGS = ("stdout.txt", "stderr.txt")


def fetch_files(
    task_ids: Sequence[str],
    job_id: str,
    folder: Path,
    read: Callable[[str, str], bytes | None],
    blobs: Blobs | None,
    *,
    apart: bool,
) -> int:
    """Returns the number of files. `apart`: each task has a subfolder."""
    count = 0
    for task_id in task_ids:
        target = folder / task_id if apart else folder
        target.mkdir(parents=True, exist_ok=True)
        for name in LOGS:
            count += _log(target / name, task_id, name, read)
        if blobs is not None:
            count += sum(1 for _ in blobs.fetch(CONTAINER, f"{job_id}/{task_id}/", target))
    return count


def _log(file: Path, task_id: str, name: str, read: Callable[[str, str], bytes | None]) -> int:
    try:
        content = read(task_id, name)
    except (AzureError, AzureCoreError, requests.RequestException):
        return 0
    if content is None:
        return 0
    file.write_bytes(content)
    return 1


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
        with suppress(*REFUSED):  # it is stopped, and what it cost isn't known
            self._end = End(tuple(self.account.tasks(self.name)), self._follower.nodes)

    def cost(self) -> Cost:
        prices = node_prices(self.pool.size, self.account.location, is_windows=self.pool.is_windows)
        now = datetime.now(UTC)
        use = outcome.use_of(self._end.tasks, self._beside(self._end.tasks), self._end.nodes, prices, now)
        return Cost(outcome.summary(use, now.date()), use.usd, use.seconds)

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
