"""Jobs and executions as Azure answers them, and what an execution overrides."""

from datetime import UTC, datetime
from typing import Any

import pytest

from azure_gpu.formats.dates import instant
from azure_gpu_operations.job_bodies import Execution, execution_of, job_of, start_template

ID = "/subscriptions/s/resourceGroups/g/providers/Microsoft.App/jobs/trainer"


def job(*containers: dict[str, Any], **properties: Any) -> Any:
    template = {"containers": list(containers) or [container()]}
    return job_of({"id": ID, "name": "trainer", "location": "eastus", "properties": {"template": template, **properties}})


def container(**changed: Any) -> dict[str, Any]:
    return {
        "name": "main",
        "image": "old:1",
        "command": ["python"],
        "args": ["a.py"],
        "env": [{"name": "A", "value": "1"}, {"name": "KEY", "secretRef": "key"}],
        "resources": {"cpu": 4, "memory": "16Gi", "ephemeralStorage": "8Gi"},
        "probes": [],
        "volumeMounts": [{"volumeName": "v", "mountPath": "/v"}],
        **changed,
    }


def execution(status: str, *codes: int | None, replica: str = "r") -> Execution:
    containers = [{"name": f"c{index}", "code": code} for index, code in enumerate(codes)]
    detail = {"replicas": [{"name": replica, "containers": containers}]}
    return execution_of({"name": "e", "properties": {"status": status, "detailedStatus": detail}})


def start(asked: Any, **given: Any) -> Any:
    return start_template(asked, **{"image": "", "arguments": [], "environment": {}, "secret_refs": {}, **given})


def test_an_execution_that_changes_nothing_overrides_nothing() -> None:
    assert start(job()) is None


def test_an_override_says_everything_again_that_is_to_stay() -> None:
    template = start(job(container(), container(name="side")), arguments=["b.py"])
    assert template == {
        "containers": [
            {
                "name": "main",
                "image": "old:1",
                "command": ["python"],
                "args": ["b.py"],
                "env": [{"name": "A", "value": "1"}, {"name": "KEY", "secretRef": "key"}],
                "resources": {"cpu": 4, "memory": "16Gi"},
            },
            {
                "name": "side",
                "image": "old:1",
                "command": ["python"],
                "args": ["a.py"],
                "env": [{"name": "A", "value": "1"}, {"name": "KEY", "secretRef": "key"}],
                "resources": {"cpu": 4, "memory": "16Gi"},
            },
        ]
    }


def test_the_command_and_arguments_of_a_job_go_with_its_own_image() -> None:
    first = start(job(), image="new:2")["containers"][0]
    assert first["image"] == "new:2"
    assert "command" not in first
    assert "args" not in first
    assert start(job(), image="new:2", arguments=["--x"])["containers"][0]["args"] == ["--x"]


def test_variables_replace_those_of_the_same_name_and_secrets_are_only_referred_to() -> None:
    first = start(job(), environment={"A": "2"}, secret_refs={"TOKEN": "run-token"})["containers"][0]
    assert first["env"] == [
        {"name": "KEY", "secretRef": "key"},
        {"name": "A", "value": "2"},
        {"name": "TOKEN", "secretRef": "run-token"},
    ]


def test_init_containers_stay() -> None:
    template = {"containers": [container()], "initContainers": [{"name": "first", "image": "i"}]}
    found = start(job(template=template), image="new:2")
    assert found["initContainers"] == [{"name": "first", "image": "i"}]


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (execution("Succeeded", 0), 0),
        (execution("Succeeded"), 0),
        (execution("Failed", 7), 7),
        (execution("Failed", 0, 3), 3),
        (execution("Failed"), None),
        (execution("Failed", None), None),
        (execution("Running", 0), None),
        (execution("Stopped", 143), 143),
    ],
)
def test_the_exit_code_is_the_first_that_is_not_0(found: Execution, code: int | None) -> None:
    assert found.exit_code == code


def test_after_retries_the_last_replica_counts() -> None:
    replicas = [{"name": name, "containers": [{"name": "c", "code": code}]} for name, code in (("a", 1), ("b", 5))]
    found = execution_of({"name": "e", "properties": {"status": "Failed", "detailedStatus": {"replicas": replicas}}})
    assert found.exit_code == 5


@pytest.mark.parametrize(
    ("status", "over"),
    [
        *((each, True) for each in ("Succeeded", "Failed", "Stopped", "Degraded")),
        *((each, False) for each in ("Running", "Processing", "Unknown")),
    ],
)
def test_some_states_are_an_end(status: str, over: bool) -> None:
    assert execution(status).is_over is over


def test_an_execution_without_details_is_still_one() -> None:
    found = execution_of({"name": "e"})
    assert (found.status, found.containers, found.exit_code, found.seconds(datetime.now(UTC))) == ("Unknown", (), None, None)


@pytest.mark.parametrize("text", ["2023-02-13T20:37:30+00:00", "2023-02-13T20:37:30Z", "2023-02-13T20:37:30.000000+00:00"])
def test_instants_are_read_in_the_forms_that_azure_writes(text: str) -> None:
    assert instant(text) == datetime(2023, 2, 13, 20, 37, 30, tzinfo=UTC)


@pytest.mark.parametrize("text", [None, "", "yesterday"])
def test_what_is_no_instant_is_none(text: str | None) -> None:
    assert instant(text) is None


@pytest.mark.parametrize(
    ("containers", "described"),
    [
        ([], "Running"),
        ([{"status": "Running"}], "Running"),
        ([{"status": "Waiting"}], "Running, its container waits"),
        ([{"status": "Terminated", "code": 0}], "Running, its program has ended"),
        ([{"status": "Terminated", "code": 0}, {"status": "Running"}], "Running"),
    ],
)
def test_a_running_execution_is_described_by_its_containers_too(containers: list[dict[str, Any]], described: str) -> None:
    replicas = [{"name": "old", "containers": [{"status": "Terminated", "code": 1}]}, {"name": "new", "containers": containers}]
    detail = {"replicas": replicas if containers else []}
    assert execution_of({"name": "e", "properties": {"status": "Running", "detailedStatus": detail}}).described == described
