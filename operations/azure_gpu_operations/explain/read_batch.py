"""Reads a Batch pool, or a Batch job with its pool."""

from collections.abc import Callable
from contextlib import closing

import requests
from azure.batch import models
from azure.core.exceptions import AzureError as AzureCoreError

from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.batch.account import BatchAccount, batch_account_of, last_lines, minutes, pairs
from azure_gpu_operations.batch.pool_facts import facts_of, word
from azure_gpu_operations.explain import activity_log
from azure_gpu_operations.explain.batch_rules import JobSeen, NodeSeen, PoolSeen, TaskSeen
from azure_gpu_operations.run.on_batch.follow import preparation_failed

LAST_LINES = 15
MOST_TASKS = 200  # of a job that are read whole, to find those that never start
START_TASK_ERRORS = "startup/stderr.txt"  # below a node's root folder


def read_pool(arm: Arm, name: str, pool_id: str) -> PoolSeen:
    refusals = activity_log.of_resource(arm, pool_id)
    try:
        account = BatchAccount(arm, batch_account_of(pool_id))
    except AzureError as error:
        if error.status != 404:
            raise
        return PoolSeen(name, pool_id, refusals=refusals)
    with closing(account):
        return of_pool(account, name, pool_id)._replace(refusals=refusals)


def of_pool(account: BatchAccount, name: str, pool_id: str) -> PoolSeen:
    pool = account.pool(pool_id.rsplit("/", 1)[-1])
    if pool is None:
        return PoolSeen(name, pool_id)
    run = pool.auto_scale_run
    error = run.error if run is not None else None
    return PoolSeen(
        name,
        pool_id,
        facts_of(pool),
        tuple(_node(account, pool.id, node) for node in account.nodes(pool.id)),
        formula_error=f"{error.code}: {error.message}" if error is not None else "",
    )


def read_job(account: BatchAccount, job_id: str, pool_names: dict[str, str]) -> JobSeen:
    """`pool_names`: the stack's names by the pools' ids in Batch, in lower case."""
    job = account.job(job_id)
    if job is None:
        return JobSeen(job_id, job_id, exists=False)
    counts = account.counts(job_id)
    ended = [(task, task.execution_info) for task in account.tasks(job_id, "executionInfo/result eq 'failure'")]
    known = [(task, info.end_time.timestamp() if info.end_time else 0.0) for task, info in ended if info is not None]
    failed = [task for task, _ in sorted(known, key=lambda each: each[1])]
    info = job.execution_info
    problem = info.scheduling_error if info is not None else None
    seen = JobSeen(
        job_id,
        job_id,
        state=word(job.state),
        reason=(info.termination_reason or "") if info is not None else "",
        scheduling_error=f"{problem.code}: {problem.message}" if problem is not None else "",
        active=counts.active if counts else 0,
        running=counts.running if counts else 0,
        succeeded=counts.succeeded if counts else 0,
        failed=counts.failed if counts else 0,
        failures=tuple(_failed(account, job_id, task) for task in failed[:1]),
        waiting=tuple(_waiting(task) for task in account.whole_tasks(job_id, MOST_TASKS) if word(task.state) == "active"),
        pool=_pool_of(account, job, pool_names),
    )
    return _with_preparation(account, job, seen)


def _with_preparation(account: BatchAccount, job: models.BatchJob, seen: JobSeen) -> JobSeen:
    found = preparation_failed(account.preparations(job.id)) if job.job_preparation_task else None
    info = found.job_preparation_task_execution_info if found is not None else None
    if found is None or info is None:
        return seen
    file = f"{info.task_root_directory}/stderr.txt" if info.task_root_directory else ""
    log = _log(lambda: account.node_file(found.pool_id or "", found.node_id or "", file)) if file else ()
    return seen._replace(preparation_node=found.node_id or "", preparation_exit_code=info.exit_code, preparation_log=log)


def _pool_of(account: BatchAccount, job: models.BatchJob, pool_names: dict[str, str]) -> PoolSeen | None:
    pool_id = (job.execution_info.pool_id if job.execution_info else None) or (job.pool_info.pool_id if job.pool_info else None)
    if not pool_id:
        return None
    return of_pool(account, pool_names.get(pool_id.lower(), pool_id), f"{account.id}/pools/{pool_id}")


def _node(account: BatchAccount, pool_id: str, node: models.BatchNode) -> NodeSeen:
    state = word(node.state)
    start = node.start_task_info
    failure = start.failure_info if start is not None else None
    log: tuple[str, ...] = ()
    if state == "starttaskfailed":
        log = _log(lambda: account.node_file(pool_id, node.id, START_TASK_ERRORS))
    return NodeSeen(
        node.id,
        state,
        is_spot=node.is_dedicated is False,
        errors=tuple(
            "; ".join([f"{each.code}: {each.message}".rstrip(": "), *pairs(each.error_details)]) for each in node.errors or ()
        ),
        start_exit_code=start.exit_code if start is not None else None,
        start_failure=_words(failure),
        log=log,
    )


def _failed(account: BatchAccount, job_id: str, listed: models.BatchTask) -> TaskSeen:
    """A failed task with its last lines of standard error, or else of standard output."""
    task = account.task(job_id, listed.id) or listed
    info = task.execution_info or listed.execution_info
    log = _log(lambda: account.task_file(job_id, task.id, "stderr.txt"))
    log = log or _log(lambda: account.task_file(job_id, task.id, "stdout.txt"))
    failure = info.failure_info if info is not None else None
    return _waiting(task)._replace(
        exit_code=info.exit_code if info is not None else None,
        code=(failure.code or "") if failure is not None else "",
        message=(failure.message or "").strip() if failure is not None else "",
        details=tuple(pairs(failure.details)) if failure is not None else (),
        began=info.start_time if info is not None else None,
        ended=info.end_time if info is not None else None,
        log=log,
    )


def _waiting(task: models.BatchTask) -> TaskSeen:
    settings, several = task.container_settings, task.multi_instance_settings
    limits = task.constraints
    return TaskSeen(
        task.id,
        word(task.state),
        image=settings.image_name if settings is not None else "",
        nodes=(several.number_of_instances or 1) if several is not None else 1,
        slots=task.required_slots or 1,
        depends_on=tuple(task.depends_on.task_ids or ()) if task.depends_on is not None else (),
        limit_minutes=minutes(limits.max_wall_clock_time) if limits is not None else None,
    )


def _words(failure: models.BatchTaskFailureInfo | None) -> str:
    if failure is None:
        return ""
    return "; ".join([f"{failure.code}: {(failure.message or '').strip()}".rstrip(": "), *pairs(failure.details)])


def _log(read: Callable[[], bytes | None]) -> tuple[str, ...]:
    """The last lines; none if the node is gone or doesn't answer."""
    try:
        return last_lines(read(), LAST_LINES)
    except (AzureError, AzureCoreError, requests.RequestException):
        return ()
