"""What follows from the end of a task: retries, exit conditions, and how the end is recorded. Pure.

Sources: the documentation of azure-batch 15.1's models (ExitConditions, ExitOptions, BatchTaskConstraints,
BatchTaskExecutionInfo) and Microsoft Learn, azure/batch/batch-task-fail-event.
"""

from typing import Literal

from localazure.arm.store import Body
from localazure.batch.model import Outcome

UNLIMITED = "P10675199DT2H48M5.4775807S"  # how the service writes that there is no limit
USER_ERROR = "usererror"
_ACTIONS: dict[str, Body] = {
    # What is done where a task's exit conditions don't say: documentation of ExitOptions.
    "success": {"jobAction": "none", "dependencyAction": "satisfy"},
    "failure": {"jobAction": "terminate", "dependencyAction": "block"},
}
ENDED: Body = {"category": USER_ERROR, "code": "TaskEnded", "message": "Task was ended by user request"}


def result_of(outcome: Outcome) -> Literal["success", "failure"]:
    return "success" if outcome.exit_code == 0 and outcome.failure is None else "failure"


def tried_again(body: Body, record: Body, outcome: Outcome) -> bool:
    """Whether a task that ended so is run once more: only an exit code other than 0 is a reason."""
    if not outcome.retried or outcome.exit_code in (None, 0):
        return False
    most = (body.get("constraints") or {}).get("maxTaskRetryCount") or 0
    return most == -1 or record["execution"]["retryCount"] < most


def exit_options(body: Body, outcome: Outcome) -> Body:
    """jobAction and dependencyAction of a task that ended so."""
    conditions = body.get("exitConditions") or {}
    given = _condition(conditions, outcome)
    if given is None and result_of(outcome) == "failure":
        given = conditions.get("default")
    return _ACTIONS[result_of(outcome)] | {name: each.lower() for name, each in (given or {}).items() if each}


def _condition(conditions: Body, outcome: Outcome) -> Body | None:
    """What a task says about just this end. An exit code comes before an error of the upload after it."""
    if outcome.exit_code is None:
        return conditions.get("preProcessingError")
    for each in conditions.get("exitCodes") or []:
        if each["code"] == outcome.exit_code:
            return each.get("exitOptions")
    for each in conditions.get("exitCodeRanges") or []:
        if each["start"] <= outcome.exit_code <= each["end"]:
            return each.get("exitOptions")
    if outcome.failure is not None and outcome.exit_code == 0:
        return conditions.get("fileUploadError")
    return None


def execution_of(previous: Body, outcome: Outcome) -> Body:
    """executionInfo of a task that has completed."""
    execution = {
        "startTime": outcome.started_at or None,
        "endTime": outcome.ended_at,
        "exitCode": outcome.exit_code,
        "containerInfo": outcome.container,
        "failureInfo": _failure(outcome.failure) if outcome.failure else None,
        "result": result_of(outcome),
        **counters(previous),
    }
    return {name: value for name, value in execution.items() if value is not None}


def counters(execution: Body) -> Body:
    """What of executionInfo outlives a run."""
    names = ("retryCount", "lastRetryTime", "requeueCount", "lastRequeueTime")
    return {name: execution[name] for name in names if name in execution}


def _failure(failure: Body) -> Body:
    return failure | {"category": str(failure.get("category", USER_ERROR)).lower()}
