"""A GPU that can't be had: without quota or capacity a replica waits, says why, and runs as soon as there is room."""

from typing import Any

from tests.localazure.apps.sdk import Apps, containers


def test_a_replica_waits_for_a_gpu_and_says_why(apps: Apps, job_name: str) -> None:
    body = apps.body("say", "x", container={"resources": {"gpu": 1, "cpu": 1, "memory": "2Gi"}})
    body["properties"]["workloadProfileName"] = "gpu-t4"
    apps.create(job_name, body)
    apps.azure.fault("capacity", location="westeurope")
    try:
        execution = apps.start(job_name)

        def told() -> list[dict[str, Any]]:
            return [each for each in containers(apps.execution(job_name, execution)) if "additionalInformation" in each]

        waiting = apps.azure.until(told, "the replica says why it waits")[0]
        assert waiting["additionalInformation"].startswith("There is no capacity for the workload profile Consumption-GPU-NC8as")
        assert (apps.execution(job_name, execution)["status"], waiting["status"]) == ("Running", "Waiting")
    finally:
        apps.azure.clear_faults()
    assert apps.ended(job_name, execution)["status"] == "Succeeded"


def test_a_container_that_uses_more_memory_than_it_asked_for_is_ended(apps: Apps, job_name: str) -> None:
    program = "x = b'x' * (700 * 1024 * 1024); import time; time.sleep(60)"
    container = {"command": ["python", "-c", program], "resources": {"cpu": 0.25, "memory": "0.5Gi"}}
    _, ended = apps.run(job_name, apps.body(container=container))
    assert (ended["status"], containers(ended)[0]["code"]) == ("Failed", 137)
    assert containers(ended)[0]["additionalInformation"] == "OOMKilled"
