"""A GPU that can't be had: without quota or capacity a replica waits, says why, and runs as soon as there is room."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.localazure.apps.sdk import Apps, containers
from tests.support.embedded import EmbeddedAzure


@pytest.fixture
def fault(running_azure: EmbeddedAzure) -> Iterator[Any]:
    def add(*words: str) -> None:
        done = running_azure.command("fault", *words)
        assert done.returncode == 0, done.stderr

    yield add
    add("clear")


def gpu_job(apps: Apps, *arguments: str, **configuration: Any) -> dict[str, Any]:
    body = apps.body(*arguments, container={"resources": {"gpu": 1, "cpu": 1, "memory": "2Gi"}}, **configuration)
    body["properties"]["workloadProfileName"] = "gpu-t4"
    return body


def reason(apps: Apps, job_name: str, execution: str) -> str:
    """Why the execution's first container waits, once it is told."""

    def told() -> str:
        found = containers(apps.execution(job_name, execution))
        return found[0].get("additionalInformation", "") if found else ""

    return apps.azure.until(told, "the replica waits")


def test_a_replica_waits_for_a_gpu_and_says_why(apps: Apps, job_name: str, fault: Any) -> None:
    fault("capacity", "westeurope")
    apps.create(job_name, gpu_job(apps, "say", "x"))
    execution = apps.start(job_name)
    assert reason(apps, job_name, execution).startswith("There is no capacity for the workload profile Consumption-GPU-NC8as-T4")
    assert apps.execution(job_name, execution)["status"] == "Running"
    assert containers(apps.execution(job_name, execution))[0]["status"] == "Waiting"
    fault("clear")
    assert apps.ended(job_name, execution)["status"] == "Succeeded"


def test_the_quota_counts_the_replicas_that_run(apps: Apps, job_name: str, fault: Any) -> None:
    fault("quota", "apps", "westeurope", "SubscriptionConsumptionT4Gpus", "1")
    apps.create(job_name, gpu_job(apps, "wait"))
    first = apps.start(job_name)
    apps.running_replica(job_name, first)
    second = apps.start(job_name)
    assert reason(apps, job_name, second)
    apps.azure.post(f"{apps.job_path(job_name)}/executions/{first}/stop", "2025-01-01").raise_for_status()
    apps.running_replica(job_name, second)
    apps.azure.post(f"{apps.job_path(job_name)}/stop", "2025-01-01").raise_for_status()


def test_a_container_that_uses_more_memory_than_it_asked_for_is_ended(apps: Apps, job_name: str) -> None:
    program = "x = b'x' * (700 * 1024 * 1024); import time; time.sleep(60)"
    container = {"command": ["python", "-c", program], "resources": {"cpu": 0.25, "memory": "0.5Gi"}}
    apps.create(job_name, apps.body(container=container))
    ended = apps.ended(job_name, apps.start(job_name))
    assert (ended["status"], containers(ended)[0]["code"]) == ("Failed", 137)
    assert containers(ended)[0]["additionalInformation"] == "OOMKilled"
