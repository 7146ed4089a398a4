"""Client of one Batch account: jobs, tasks, pools and nodes, with the stack's login and without account keys.

Returns azure-batch models, None for missing ones. Refusals of the service are raised as a one-line AzureError, connection errors
as azure-core's.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from azure.batch import BatchClient, models
from azure.batch.models import CreateTasksError
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceModifiedError, ResourceNotFoundError

from azure_gpu_operations.azure import Arm, AzureError, refused_as
from azure_gpu_operations.closed import Transport

API_VERSION = "2024-07-01"  # of the account in ARM
OPERATOR_ROLE = "Azure Batch Data Contributor"  # built-in: pools, jobs and tasks of an account
_NEVER = 3600  # seconds; otherwise the client polls operations that we don't wait for
_OF_TASKS = ["id", "state", "executionInfo", "nodeInfo", "dependsOn", "multiInstanceSettings"]

Answer = TypeVar("Answer")


class Counts(NamedTuple):
    """The tasks of a job."""

    active: int = 0  # waiting
    running: int = 0  # or being prepared on a node
    succeeded: int = 0
    failed: int = 0

    @property
    def over(self) -> int:
        return self.succeeded + self.failed


class TaskRefused(NamedTuple):
    """A task that the service rejected."""

    id: str
    why: str


class BatchAccount:
    """One account. AzureError if it doesn't exist."""

    def __init__(self, arm: Arm, account_id: str) -> None:
        body = arm.get(account_id, API_VERSION)
        if body is None:
            raise AzureError(
                f"the Batch account {account_id.rsplit('/', 1)[-1]} doesn't exist; it was deleted outside the stack", 404
            )
        self.id = account_id
        self.name = str(body["name"])
        self.location = str(body.get("location") or "")
        self.body = body
        # Missing files are normal here, and the client logs a page for each.
        logging.getLogger("azure.batch").setLevel(logging.CRITICAL)
        self._client = BatchClient(
            endpoint=f"https://{body['properties']['accountEndpoint']}",
            credential=arm.login.credential,
            credential_scopes=[arm.login.batch_scope],
            transport=Transport(arm, body, f"the Batch account {self.name}", OPERATOR_ROLE),
        )

    def close(self) -> None:
        self._client.close()

    # Pools and nodes

    def pool(self, pool_id: str) -> models.BatchPool | None:
        return _call_or_none(lambda: self._client.get_pool(pool_id))

    def nodes(self, pool_id: str) -> list[models.BatchNode]:
        """Empty if the pool doesn't exist."""
        return _call_or_none(lambda: list(self._client.list_nodes(pool_id))) or []

    def evaluate_now(self, pool: models.BatchPool) -> bool:
        """Evaluates the pool's formula now instead of at its next interval. False if the service declines: it accepts this only
        every 30 seconds."""
        again = models.BatchPoolEnableAutoScaleOptions(auto_scale_formula=pool.auto_scale_formula)
        try:
            self._client.enable_pool_auto_scale(pool.id, again)
        except HttpResponseError:
            return False
        return True

    def stop_resize(self, pool_id: str) -> None:
        with refused_as(why, f"stop the resize of the pool {pool_id}"):
            self._client.begin_stop_pool_resize(pool_id, polling_interval=_NEVER)

    def empty(self, pool: models.BatchPool) -> None:
        """Starts removing all nodes, each when its tasks have ended. Switches autoscaling off, which would add them again."""
        to_none = models.BatchPoolResizeOptions(
            target_dedicated_nodes=0,
            target_low_priority_nodes=0,
            node_deallocation_option=models.BatchNodeDeallocationOption.TASK_COMPLETION,
        )
        with refused_as(why, f"drain the pool {pool.id}"):
            if pool.enable_auto_scale:
                self._client.disable_pool_auto_scale(pool.id)
            self._client.begin_resize_pool(pool.id, to_none, polling_interval=_NEVER)

    # Jobs

    def job(self, job_id: str) -> models.BatchJob | None:
        return _call_or_none(lambda: self._client.get_job(job_id))

    def jobs_on(self, pool_id: str) -> list[models.BatchJob]:
        """Active jobs of the pool."""
        with refused_as(why, "list jobs"):
            jobs = list(self._client.list_jobs(filter="state eq 'active'"))
        return [job for job in jobs if job.pool_info and (job.pool_info.pool_id or "").lower() == pool_id.lower()]

    def create_job(self, job: models.BatchJobCreateOptions) -> None:
        with refused_as(why, f"create the job {job.id}"):
            self._client.create_job(job)

    def end_when_done(self, job_id: str) -> None:
        """Makes the job end with its last task."""
        mode = models.BatchAllTasksCompleteMode.TERMINATE_JOB
        change = models.BatchJobUpdateOptions(all_tasks_complete_mode=mode)
        with refused_as(why, f"change the job {job_id}"):
            self._client.update_job(job_id, change)

    def terminate(self, job_id: str, reason: str) -> None:
        """Terminates the job and its tasks. A job that has already ended is fine."""
        options: Any = {"terminateReason": reason}  # azure-batch 15.1 has a class for it but doesn't export it
        over = (ResourceNotFoundError, ResourceExistsError, ResourceModifiedError)  # gone, or ended by itself in the meantime
        with suppress(*over), refused_as(why, f"end the job {job_id}", *over):
            self._client.begin_terminate_job(job_id, options, polling_interval=_NEVER)

    def delete_job(self, job_id: str) -> None:
        gone = (ResourceNotFoundError, ResourceExistsError)
        with suppress(*gone), refused_as(why, f"remove the job {job_id}", *gone):
            self._client.begin_delete_job(job_id, polling_interval=_NEVER)

    def preparations(self, job_id: str) -> list[models.BatchJobPreparationAndReleaseTaskStatus]:
        """Status of the job's preparation on each node; empty for a job without one."""
        try:
            return list(self._client.list_job_preparation_and_release_task_status(job_id))
        except (ResourceNotFoundError, ResourceExistsError):
            return []

    # Tasks

    def add_tasks(
        self, job_id: str, tasks: Sequence[models.BatchTaskCreateOptions], added: Callable[[int], None]
    ) -> list[TaskRefused]:
        """Adds tasks in requests of the maximum size; `added` gets the running count. Returns the rejected ones."""
        refused: list[TaskRefused] = []
        done = 0
        for start in range(0, len(tasks), COLLECTION):
            part = list(tasks[start : start + COLLECTION])
            refused += self._add(job_id, part)
            done += len(part)
            added(done - len(refused))
        return refused

    def _add(self, job_id: str, part: list[models.BatchTaskCreateOptions]) -> list[TaskRefused]:
        # The client retries failed tasks, splits requests that are too large, and starts at the end of the list.
        try:
            self._client.create_tasks(job_id, part[::-1])
        except CreateTasksError as error:
            if error.errors:
                first = error.errors[0]
                text = why(first, "take the tasks") if isinstance(first, HttpResponseError) else str(first)
                raise AzureError(text) from error
            return [TaskRefused(each.task_id, _task_error(each)) for each in error.failure_tasks]
        return []

    def counts(self, job_id: str) -> Counts | None:
        found = _call_or_none(lambda: self._client.get_job_task_counts(job_id))
        if found is None:
            return None
        tasks = found.task_counts
        return Counts(tasks.active, tasks.running, tasks.succeeded, tasks.failed)

    def task(self, job_id: str, task_id: str) -> models.BatchTask | None:
        return _call_or_none(lambda: self._client.get_task(job_id, task_id))

    def tasks(self, job_id: str, condition: str = "") -> list[models.BatchTask]:
        """Without command lines. Empty if the job doesn't exist."""
        listed = _call_or_none(lambda: list(self._client.list_tasks(job_id, filter=condition or None, select=_OF_TASKS)))
        return listed or []

    def whole_tasks(self, job_id: str, most: int) -> list[models.BatchTask]:
        """The first tasks, with all their properties."""
        return list(islice(_call_or_none(lambda: self._client.list_tasks(job_id)) or (), most))

    def subtasks(self, job_id: str, task_id: str) -> list[models.BatchSubtask]:
        """Subtasks of a multi-instance task."""
        return _call_or_none(lambda: list(self._client.list_subtasks(job_id, task_id))) or []

    # Files

    def read_from(self, job_id: str, task_id: str, path: str, start: int) -> bytes | None:
        """The next bytes of a file that a task is writing, empty at its end; None while the file, or a node with it, doesn't
        exist."""
        found = _file_or_none(lambda: self._client.get_task_file_properties(job_id, task_id, path))
        if found is None:
            return None
        size = int(found.content_length)
        return self.task_file(job_id, task_id, path, start, min(size, start + _PART)) if size > start else b""

    def task_file(self, job_id: str, task_id: str, path: str, start: int = 0, end: int | None = None) -> bytes | None:
        """Bytes `start` to `end` (exclusive)."""
        byte_range = f"bytes={start}-{'' if end is None else end - 1}" if start or end is not None else None
        return _file_or_none(lambda: b"".join(self._client.download_task_file(job_id, task_id, path, ocp_range=byte_range)))

    def node_file(self, pool_id: str, node_id: str, path: str) -> bytes | None:
        return _file_or_none(lambda: b"".join(self._client.download_node_file(pool_id, node_id, path)))


_PART = 4 * 1024 * 1024  # bytes of a file at once
COLLECTION = 100  # tasks per request, the maximum of BatchTaskGroup in azure-batch 15.1


def batch_account_of(pool_id: str) -> str:
    """The ARM id of a pool's account."""
    return pool_id.rsplit("/", 2)[0]


def why(error: HttpResponseError, what: str) -> str:
    """A refusal in one line, with the required role if it is missing."""
    text = _error_text(error)
    if error.status_code == 403:
        return f"this login may not {what}; it needs the role {OPERATOR_ROLE} on the Batch account ({text})"
    return f"Batch refused to {what}: {text}"


def minutes(amount: timedelta | None) -> float | None:
    """None for no limit, which the service represents as the maximum time."""
    return None if amount is None or amount.days > 36500 else amount.total_seconds() / 60


def moment_of(info: Any) -> tuple[datetime | None, datetime | None]:
    """When a task began and ended, from its execution information."""
    return (info.start_time, info.end_time) if info is not None else (None, None)


def last_lines(content: bytes | None, most: int) -> tuple[str, ...]:
    return tuple((content or b"").decode("utf-8", errors="replace").splitlines()[-most:])


def pairs(values: Iterable[models.NameValuePair] | None) -> Iterator[str]:
    """The details of an error, as `name: value`."""
    for each in values or ():
        yield f"{each.name}: {each.value}" if each.name else str(each.value)


def _call_or_none(ask: Callable[[], Answer]) -> Answer | None:
    try:
        return ask()
    except ResourceNotFoundError:
        return None


def _file_or_none(ask: Callable[[], Answer]) -> Answer | None:
    """None on 404; on 409, while the task has no node; and on 416, if the range starts at the end of the file."""
    try:
        return ask()
    except (ResourceNotFoundError, ResourceExistsError):
        return None
    except HttpResponseError as error:
        if error.status_code in (409, 410, 416):
            return None
        raise


def _task_error(result: models.BatchTaskCreateResult) -> str:
    error = result.error
    if error is None:
        return "the service gives no reason"
    text = (error.message.value or "").splitlines() if error.message else []
    details = [f"{each.key}: {each.value}" for each in error.error_values or ()]
    return "; ".join(part for part in (f"{error.code}: {text[0] if text else ''}".rstrip(": "), *details) if part)


def _error_text(error: HttpResponseError) -> str:
    """The service's own code and message, without the request's id and time."""
    known = error.error
    if known is not None and getattr(known, "code", None):
        message = str(getattr(known, "message", "") or "").splitlines()
        details = [f"{each.code}: {each.message}" for each in getattr(known, "details", None) or () if each.code]
        return "; ".join([f"{known.code}: {message[0] if message else ''}".rstrip(": "), *details])
    return str(error.message or error).strip().splitlines()[0][:500]
