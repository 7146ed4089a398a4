"""`explain` of virtual machines and of jobs of a workspace on the embedded Azure, where each failure is planted."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.localazure.conftest import new_group
from tests.support import ml_resources as ml
from tests.support.embedded import EmbeddedAzure, until
from tests.support.machines import PLAIN, SCHEDULES, Network, TestMachine

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("signed_in")]

Explain = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="module")
def network(azure: EmbeddedAzure) -> Network:
    return Network(azure, new_group(azure))


@pytest.fixture(scope="module")
def machine(network: Network) -> TestMachine:
    return network.machine()


def test_a_driver_that_the_machine_cannot_have(network: Network, explain: Explain) -> None:
    plain = {**PLAIN, "offer": "ubuntu-24_04-lts", "sku": "server"}
    machine = network.machine(image=plain)
    ended = machine.azure.finished(machine.extension("driver", "Microsoft.HpcCompute", "NvidiaGpuDriverLinux"))
    assert ended["status"] == "Failed", ended
    told = explain(machine.id)
    assert told["cause"] == "EXTENSION"
    assert "NVIDIA's driver failed" in told["what"]


def test_a_run_command_that_failed_and_then_a_machine_that_is_off(machine: TestMachine, explain: Explain) -> None:
    assert explain(machine.id)["cause"] == "HEALTHY"
    made = machine.command("train", "echo no labels >&2; exit 3")
    assert made.status_code in (200, 201), made.text
    machine.azure.finished(made)
    told = explain(machine.id)
    assert (told["cause"], told["last_lines"]) == ("RUN_COMMAND", ["no labels"])
    assert "train ended with exit code 3" in told["what"]

    machine.act("powerOff")
    assert explain(machine.id)["cause"] == "SHUT_DOWN"
    machine.act("deallocate")
    assert explain(machine.id)["cause"] == "DEALLOCATED"

    group = machine.id.split("/providers/")[0]
    path = f"{group}/providers/Microsoft.DevTestLab/schedules/shutdown-computevm-{machine.name}"
    daily = {
        "status": "Enabled",
        "taskType": "ComputeVmShutdownTask",
        "dailyRecurrence": {"time": "1900"},
        "timeZoneId": "UTC",
        "targetResourceId": machine.id,
        "notificationSettings": {"status": "Disabled"},
    }
    body = {"location": "westeurope", "properties": daily}
    assert machine.azure.put(path, body, SCHEDULES).status_code in (200, 201)
    told = explain(machine.id)
    assert told["cause"] == "OUT_OF_HOURS"
    assert "by its daily schedule at 19:00 (UTC)" in told["what"]


def test_a_job_that_failed(azure: EmbeddedAzure, explain: Explain) -> None:
    workspace = ml.put_workspace(azure, new_group(azure))
    cluster = ml.done(azure, azure.put(f"{workspace}/computes/{ml.new_name('c')[:12]}", ml.cluster_body(), ml.ML))["id"]
    image = {"properties": {"image": "python:3.11"}}
    environment = ml.done(azure, azure.put(f"{workspace}/environments/python/versions/1", image, ml.ML))["id"]
    assert explain(cluster)["cause"] == "HEALTHY"
    script = 'python -c "import torch"'
    given = {"jobType": "Command", "computeId": cluster, "environmentId": environment, "command": script}
    job = azure.put(f"{workspace}/jobs/{ml.new_name('job')}", {"properties": given}, ml.ML).json()["id"]
    until(lambda: azure.get(job, ml.ML).json()["properties"]["status"] == "Failed", "the job has failed")
    told = explain(job)
    assert told["cause"] == "MISSING_PACKAGE"
    assert "imports torch" in told["what"]
