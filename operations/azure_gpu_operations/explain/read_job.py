"""Reads a Container Apps job and its last execution, or the execution of an id, as facts."""

import re
from datetime import UTC, datetime

import requests

from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.explain import activity_log
from azure_gpu_operations.explain.facts import Container, Facts, Kind
from azure_gpu_operations.job_bodies import RUNNING, WAITING, Execution, Job
from azure_gpu_operations.job_client import Jobs
from azure_gpu_operations.run.log_lines import LogStream

LAST_LINES = 15
_SAYS_NOTHING = ("Error", "Completed")  # beside an exit code
_EXECUTION = re.compile(r"(?P<job>.+/jobs/[^/]+)/executions/(?P<name>[^/]+)", re.IGNORECASE)


def read(arm: Arm, name: str, resource_id: str) -> Facts:
    named = _EXECUTION.fullmatch(resource_id)
    job_id, execution_name = (named["job"], named["name"]) if named else (resource_id, "")
    refusals = activity_log.of_resource(arm, job_id)
    jobs = Jobs(arm)
    job = jobs.get(job_id)
    if job is None:
        return Facts(name, Kind.JOB, job_id, exists=False, refusals=refusals)
    execution = jobs.execution(job, execution_name) if execution_name else next(iter(jobs.executions(job)), None)
    if execution is None:
        return Facts(name, Kind.JOB, job_id, provisioning=_provisioning(job), refusals=refusals, changed=job.changed)
    detailed = jobs.execution(job, execution.name) or execution  # the list may leave the details out
    return of_execution(name, job, detailed, _log(jobs, job, detailed), datetime.now(UTC))._replace(refusals=refusals)


def of_execution(name: str, job: Job, execution: Execution, log: tuple[str, ...], now: datetime) -> Facts:
    """Facts from the job and the execution. Pure."""
    replica, log = _replica(execution, log)
    seen = {each.name: each for each in execution.containers if each.replica == replica}
    containers: list[Container] = []
    for index, body in enumerate(job.containers):
        status = seen.get(str(body["name"]))
        detail = status.information if status and status.information not in _SAYS_NOTHING else ""
        containers.append(
            Container(
                name=str(body["name"]),
                image=execution.images.get(str(body["name"]), str(body.get("image") or "")),
                state=status.status if status else "",
                exit_code=status.code if status else None,
                detail=detail,
                log=log if index == 0 else (),
                began=execution.started if status and (status.code is not None or log) else None,
                memory=str((body.get("resources") or {}).get("memory") or ""),
            )
        )
    return Facts(
        name=name,
        kind=Kind.JOB,
        id=job.id,
        state=execution.status,
        provisioning=_provisioning(job),
        containers=tuple(containers),
        execution=execution.name,
        accepted=execution.started,
        message=": ".join(part for part in (execution.reason, execution.message) if part),
        timeout_seconds=job.timeout_seconds,
        ran_seconds=execution.seconds(now),
        changed=job.changed,
    )


def _replica(execution: Execution, log: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Which of several replicas, side by side or tried again, tells most: the last that failed or, while the execution runs, that
    waits; else the last. And the log, if it may be that replica's."""
    replicas = list(dict.fromkeys(each.replica for each in execution.containers))
    telling = {"Failed": {each.replica for each in execution.containers if each.code}}
    telling["Running"] = {each.replica for each in execution.containers if each.status == WAITING}
    found = [each for each in replicas if each in telling.get(execution.status, ())] or replicas
    others_run = any(each.status == RUNNING for each in execution.containers if each.replica not in found)
    return (found[-1] if found else ""), () if others_run else log


def _provisioning(job: Job) -> str:
    return str(job.properties.get("provisioningState") or "")


def _log(jobs: Jobs, job: Job, execution: Execution) -> tuple[str, ...]:
    """Its last lines; some minutes after the end they are only in the log workspace."""
    try:
        return tuple(LogStream(jobs, job, execution.name).read(follow=False))[-LAST_LINES:]
    except (requests.RequestException, AzureError, OSError):
        return ()
