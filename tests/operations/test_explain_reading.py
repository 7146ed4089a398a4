"""Facts out of what Azure answers: groups, executions, and events of the activity log."""

import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from azure_gpu_operations.explain import activity_log, read_group, read_job
from azure_gpu_operations.explain.facts import Cause, Refusal
from azure_gpu_operations.explain.rules import explain
from azure_gpu_operations.job_bodies import execution_of, job_of

# The form of an event: Microsoft Learn, REST reference of Azure Monitor 2015-04-01, "Activity Logs - List".
EVENT: dict[str, Any] = {
    "resourceId": "/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerInstance/containerGroups/train",
    "operationName": {"value": "Microsoft.ContainerInstance/containerGroups/write", "localizedValue": "Create or update"},
    "status": {"value": "Failed", "localizedValue": "Failed"},
    "subStatus": {"value": "Conflict", "localizedValue": "Conflict (HTTP Status Code: 409)"},
    "eventTimestamp": "2026-11-21T20:00:00.1234567Z",
}


def event(message: str) -> dict[str, Any]:
    return {**EVENT, "properties": {"statusCode": "Conflict", "statusMessage": message}}


def test_a_failed_write_is_a_refusal_with_arms_code_and_every_message() -> None:
    error = {"code": "ServiceUnavailable", "message": "not available", "details": [{"code": "X", "message": "why"}]}
    found = activity_log.refusal_of(event(json.dumps({"status": "Failed", "error": error})))
    assert found == Refusal(
        "ServiceUnavailable",
        "not available; why",
        datetime(2026, 11, 21, 20, 0, 0, 123456, tzinfo=UTC),
        "Microsoft.ContainerInstance/containerGroups/write",
    )


def test_a_message_that_is_no_json_is_kept_as_it_is() -> None:
    found = activity_log.refusal_of(event("The service is busy."))
    assert (found.code, found.message) == ("Conflict", "The service is busy.")
    assert activity_log.refusal_of({}).message == ""


@pytest.mark.parametrize(
    ("operation", "minute", "left"),
    [("write", 5, 0), ("WRITE", 5, 0), ("delete", 5, 0), ("start/action", 5, 1), ("write", -5, 1)],
)
def test_what_succeeded_later_or_was_deleted_is_no_failure_any_more(operation: str, minute: int, left: int) -> None:
    name = {"value": f"Microsoft.ContainerInstance/containerGroups/{operation}"}
    at = (datetime(2026, 11, 21, 20, tzinfo=UTC) + timedelta(minutes=minute)).isoformat()
    done = {**EVENT, "resourceId": EVENT["resourceId"].upper(), "operationName": name, "eventTimestamp": at}
    events = [event("busy"), {**done, "status": {"value": "Succeeded"}}]
    arm: Any = SimpleNamespace(subscription_id="s", values=lambda *_, **__: events)
    assert len(activity_log.of_resource(arm, EVENT["resourceId"])) == left


def container(name: str, **view: Any) -> dict[str, Any]:
    requests = {"cpu": 1, "memoryInGB": 1.5}
    return {"name": name, "properties": {"image": "i:1", "resources": {"requests": requests}, "instanceView": view}}


def test_a_group_is_read_with_its_containers_states_and_events() -> None:
    state = {"state": "Waiting", "detailStatus": "CrashLoopBackOff: Back-off restarting failed"}
    before = {"state": "Terminated", "exitCode": 3, "detailStatus": "Error", "startTime": "2026-11-21T20:00:00Z"}
    events = [{"name": "BackOff", "message": "Back-off restarting failed container", "type": "Warning", "count": 2}]
    body = {
        "id": "/x",
        "name": "x",
        "properties": {
            "provisioningState": "Succeeded",
            "instanceView": {"state": "Running", "events": []},
            "initContainers": [container("prepare", currentState={"state": "Terminated", "exitCode": 0})],
            "containers": [container("main", currentState=state, previousState=before, restartCount=2, events=events)],
        },
    }
    facts = read_group.of_body("train", body, {"main": ("last",)})
    assert [(each.name, each.is_init) for each in facts.containers] == [("prepare", True), ("main", False)]
    main = facts.containers[1]
    assert (main.previous_exit_code, main.restarts, main.log, main.memory) == (3, 2, ("last",), "1.5 GB")
    assert main.details == ("CrashLoopBackOff: Back-off restarting failed", "BackOff: Back-off restarting failed container")
    assert explain(facts).cause is Cause.CRASH_LOOP


def test_an_execution_is_read_with_what_it_ran_and_how_long() -> None:
    job = job_of(
        {
            "id": "/x",
            "name": "x",
            "systemData": {"lastModifiedAt": "2026-11-21T19:58:41.006058"},  # as recorded: UTC, which it doesn't say
            "properties": {
                "configuration": {"replicaTimeout": 600},
                "template": {"containers": [{"name": "main", "image": "own:1", "resources": {"memory": "16Gi"}}]},
            },
        }
    )
    status = {"name": "main", "code": 3, "status": "Terminated", "additionalInformation": "ProcessExited"}
    execution = execution_of(
        {
            "name": "x-1",
            "properties": {
                "status": "Failed",
                "startTime": "2026-11-21T20:00:00Z",
                "endTime": "2026-11-21T20:01:00Z",
                "template": {"containers": [{"name": "main", "image": "given:2"}]},
                "detailedStatus": {"replicas": [{"name": "r", "containers": [status]}]},
            },
        }
    )
    facts = read_job.of_execution("train", job, execution, ("boom",), datetime.now(UTC))
    main = facts.containers[0]
    assert (main.image, main.exit_code, main.detail, main.memory) == ("given:2", 3, "ProcessExited", "16Gi")
    assert (facts.ran_seconds, facts.timeout_seconds, facts.execution) == (60, 600, "x-1")
    assert facts.changed == datetime(2026, 11, 21, 19, 58, 41, 6058, tzinfo=UTC)
    assert explain(facts).cause is Cause.PROGRAM_ERROR


def test_what_was_refused_before_an_execution_was_taken_does_not_hold_it() -> None:
    job = job_of({"id": "/x", "name": "x", "properties": {"template": {"containers": [{"name": "main", "image": "own:1"}]}}})
    status = {"name": "main", "status": "Waiting", "additionalInformation": "There is no capacity for the workload profile P"}
    detail = {"replicas": [{"name": "r", "containers": [status]}]}
    properties = {"status": "Running", "startTime": "2026-11-21T20:00:00Z", "detailedStatus": detail}
    waiting = execution_of({"name": "x-1", "properties": properties})
    facts = read_job.of_execution("train", job, waiting, (), datetime(2026, 11, 21, 20, 5, tzinfo=UTC))
    of_another = Refusal("InvalidParameterValueInContainerTemplate", "UNAUTHORIZED", datetime(2026, 11, 21, 19, tzinfo=UTC))
    assert explain(facts._replace(refusals=(of_another,))).cause is Cause.NO_CAPACITY


OK, WRONG = {"status": "Terminated", "code": 0}, {"status": "Terminated", "code": 3}
RUNS, WAITS = {"status": "Running"}, {"status": "Waiting", "additionalInformation": "ContainerCreating"}


@pytest.mark.parametrize(
    ("state", "replicas", "cause"),
    [
        ("Failed", [WRONG, OK], Cause.PROGRAM_ERROR),
        ("Failed", [OK, WRONG, OK], Cause.PROGRAM_ERROR),
        ("Failed", [OK, OK], Cause.WENT_ON),
        ("Succeeded", [WRONG, OK], Cause.HEALTHY),
        ("Running", [RUNS, WAITS], Cause.NO_CONTAINER),
        ("Running", [WAITS, RUNS], Cause.NO_CONTAINER),
        ("Running", [RUNS, RUNS], Cause.HEALTHY),
    ],
)
def test_of_several_replicas_the_one_that_tells_most_is_read(state: str, replicas: list[dict[str, Any]], cause: Cause) -> None:
    job = job_of({"id": "/x", "name": "x", "properties": {"template": {"containers": [{"name": "main", "image": "own:1"}]}}})
    detail = {"replicas": [{"name": f"r{i}", "containers": [{"name": "main", **one}]} for i, one in enumerate(replicas)]}
    times = {"startTime": "2026-11-21T20:00:00Z"} | ({} if state == "Running" else {"endTime": "2026-11-21T20:30:00Z"})
    execution = execution_of({"name": "x-1", "properties": {"status": state, "detailedStatus": detail, **times}})
    facts = read_job.of_execution("train", job, execution, ("step 1",), datetime(2026, 11, 21, 20, 30, tzinfo=UTC))
    assert explain(facts).cause is cause
