"""`explain` on the embedded Azure, where each failure is planted: the real requests, states, events and logs, to the cause."""

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from azure_gpu_operations.__main__ import main
from tests.localazure.apps.conftest import job_name, running_apps, running_azure, running_registry
from tests.localazure.apps.sdk import Apps
from tests.localazure.conftest import new_group
from tests.localazure.containers.sdk import (
    GROUP,
    Registry,
    container,
    create,
    group_body,
    group_path,
    show,
    wait_for,
    with_requests,
)
from tests.support.embedded import EmbeddedAzure, ServedAzure, until

__all__ = ["job_name", "running_apps", "running_azure", "running_registry"]
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("connected")]

Explain = Callable[[str], dict[str, Any]]


@pytest.fixture
def azure(running_azure: ServedAzure) -> ServedAzure:
    return running_azure


@pytest.fixture
def registry(running_registry: Registry) -> Registry:
    return running_registry


@pytest.fixture
def apps(running_apps: Apps) -> Apps:
    return running_apps


@pytest.fixture
def hello_reference(registry: Registry) -> str:
    return f"{registry.server}/hello:1"


@pytest.fixture
def explain(capsys: pytest.CaptureFixture[str]) -> Explain:
    """What `explain ID --json` says."""

    def run(resource_id: str) -> dict[str, Any]:
        capsys.readouterr()
        code = main(["explain", resource_id, "--json"])
        told = json.loads(capsys.readouterr().out)
        assert code == (3 if told["cause"] == "UNKNOWN" else 1), told
        return told

    return run


@pytest.fixture
def group(azure: EmbeddedAzure) -> str:
    return new_group(azure)


def refused(azure: EmbeddedAzure, group: str, body: dict[str, Any]) -> str:
    """Asks for a group that is refused; its id."""
    answer = azure.put(group_path(group, "one"), body, GROUP)
    assert answer.status_code >= 400, answer.text
    return group_path(group, "one")


def failed(azure: EmbeddedAzure, group: str, body: dict[str, Any], state: str = "Failed") -> str:
    create(azure, group, "one", body)
    return wait_for(azure, group, "one", state)["id"]


# Container groups


def test_an_image_that_is_not_there(azure: EmbeddedAzure, registry: Registry, group: str, explain: Explain) -> None:
    image = f"{registry.server}/nosuch:1"
    told = explain(refused(azure, group, group_body(registry, container(image))))
    assert told["cause"] == "IMAGE_NOT_FOUND"
    assert image in told["what"]
    assert "InaccessibleImage" in told["evidence"][0]


def test_no_right_to_pull(azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str, explain: Explain) -> None:
    other = Registry(azure, group, f"reg{uuid.uuid4().hex[:10]}")
    body = group_body(other, container(hello_reference))
    body["properties"]["imageRegistryCredentials"] = [{"server": registry.server, "identity": other.identity}]
    told = explain(refused(azure, group, body))
    assert told["cause"] == "NO_RIGHT_TO_PULL"
    assert "AcrPull" in told["fix"]


def test_no_capacity(azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str, explain: Explain) -> None:
    assert azure.command("fault", "capacity", "westeurope").returncode == 0
    assert explain(refused(azure, group, group_body(registry, container(hello_reference))))["cause"] == "NO_CAPACITY"


def test_a_quota(azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str, explain: Explain) -> None:
    assert azure.command("fault", "quota", "aci", "norwayeast", "StandardCores", "0").returncode == 0
    body = {**group_body(registry, container(hello_reference)), "location": "norwayeast"}
    told = explain(refused(azure, group, body))
    assert told["cause"] == "QUOTA"
    assert "StandardCores" in told["what"]


def test_a_gpu_of_the_past(azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str, explain: Explain) -> None:
    told = explain(refused(azure, group, group_body(registry, container(hello_reference, gpu={"count": 1, "sku": "V100"}))))
    assert told["cause"] == "RETIRED_GPU"
    assert "2025-07-14" in told["what"]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc, which this system lacks")
def test_out_of_memory(azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str, explain: Explain) -> None:
    take = "print('loading', flush=True); held = bytearray(b'x') * 300_000_000; import time; time.sleep(600)"
    body = with_requests(group_body(registry, container(hello_reference, command=["python", "-c", take])), memoryInGB=0.1)
    told = explain(failed(azure, group, body))
    assert told["cause"] == "OUT_OF_MEMORY"
    assert "0.1 GB" in told["what"]
    assert told["last_lines"] == ["loading"]


def test_a_crash_loop(azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str, explain: Explain) -> None:
    one = container(hello_reference, "say", "no data", "exit", "3")
    create(azure, group, "one", group_body(registry, one, restartPolicy="Always"))
    path = group_path(group, "one")
    until(lambda: "CrashLoopBackOff" in json.dumps(show(azure, group, "one")), "it is started again")
    told = explain(path)
    assert told["cause"] == "CRASH_LOOP"
    assert "exit code 3" in told["what"]


def test_a_command_that_is_not_there(
    azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str, explain: Explain
) -> None:
    told = explain(failed(azure, group, group_body(registry, container(hello_reference, command=["nosuch"]))))
    assert told["cause"] == "COMMAND_NOT_FOUND"
    assert told["last_lines"] == ["exec nosuch: No such file or directory"]


def test_a_programs_own_error(
    azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str, explain: Explain
) -> None:
    told = explain(
        failed(azure, group, group_body(registry, container(hello_reference, "say", "no labels in data", "exit", "4")))
    )
    assert told["cause"] == "PROGRAM_ERROR"
    assert "exit code 4" in told["what"]
    assert told["last_lines"] == ["no labels in data"]


def test_a_probe(azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str, explain: Explain) -> None:
    probe = {"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 1}
    one = container(hello_reference, "wait", livenessProbe=probe)
    create(azure, group, "one", group_body(registry, one, restartPolicy="Always"))
    until(lambda: "failed liveness probe" in json.dumps(show(azure, group, "one")), "the probe has ended it")
    told = explain(group_path(group, "one"))
    assert told["cause"] == "PROBE"
    assert told["container"] == "main"


def test_a_volume(azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str, explain: Explain) -> None:
    repository = {"repository": f"{azure.url}/checkout.git", "revision": "no-such-commit"}
    mounts = [{"name": "code", "mountPath": "/code"}]
    body = group_body(
        registry, container(hello_reference, volumeMounts=mounts), volumes=[{"name": "code", "gitRepo": repository}]
    )
    answer = azure.put(group_path(group, "one"), body, GROUP)
    assert answer.status_code in (200, 201), answer.text
    assert azure.finished(answer)["status"] == "Failed"
    assert explain(group_path(group, "one"))["cause"] == "VOLUME"


# Jobs


def execution_of(apps: Apps, name: str, body: dict[str, Any]) -> str:
    """The id of an execution that has ended."""
    apps.create(name, body)
    execution = apps.start(name)
    apps.ended(name, execution)
    return f"{apps.job_path(name)}/executions/{execution}"


def test_a_jobs_own_error(apps: Apps, job_name: str, explain: Explain) -> None:
    told = explain(execution_of(apps, job_name, apps.body("say", "no data", "exit", "5")))
    assert (told["cause"], told["last_lines"]) == ("PROGRAM_ERROR", ["no data"])
    assert "exit code 5" in told["what"]


def test_a_job_that_takes_too_long(apps: Apps, job_name: str, explain: Explain) -> None:
    told = explain(execution_of(apps, job_name, apps.body("say", "still at it", "wait", replicaTimeout=1)))
    assert told["cause"] == "TIMEOUT"
    assert told["last_lines"] == ["still at it"]


def test_a_command_of_a_job_that_is_not_there(apps: Apps, job_name: str, explain: Explain) -> None:
    told = explain(execution_of(apps, job_name, apps.body(container={"command": ["nosuch"]})))
    assert told["cause"] == "COMMAND_NOT_FOUND"


def test_an_image_of_a_job_that_is_not_there(apps: Apps, job_name: str, explain: Explain) -> None:
    apps.refused(apps.body(container={"image": f"{apps.registry.server}/nosuch:1"}), job_name)
    assert explain(apps.job_path(job_name))["cause"] == "IMAGE_NOT_FOUND"


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (("quota", "apps", "westeurope", "SubscriptionConsumptionT4Gpus", "0"), "QUOTA"),
        (("capacity", "westeurope"), "NO_CAPACITY"),
    ],
)
def test_a_job_that_waits_for_a_gpu(apps: Apps, job_name: str, explain: Explain, fault: tuple[str, ...], cause: str) -> None:
    assert apps.azure.command("fault", *fault).returncode == 0
    body = apps.body("say", "x", container={"resources": {"gpu": 1, "cpu": 1, "memory": "2Gi"}})
    body["properties"]["workloadProfileName"] = "gpu-t4"
    apps.create(job_name, body)
    execution = apps.start(job_name)
    waits = lambda: "additionalInformation" in json.dumps(apps.execution(job_name, execution))  # noqa: E731
    until(waits, "the replica waits")
    assert explain(f"{apps.job_path(job_name)}/executions/{execution}")["cause"] == cause


def test_what_was_never_asked_for_is_not_there(explain: Explain, group: str) -> None:
    assert explain(group_path(group, "nobody"))["cause"] == "NOT_THERE"


def test_an_id_of_something_else_is_refused(capsys: pytest.CaptureFixture[str], group: str) -> None:
    assert main(["explain", f"{group}/providers/Microsoft.Storage/storageAccounts/x"]) == 2
    assert "isn't the id of a container group, a job, an execution, a pool or a cluster" in capsys.readouterr().err
    assert main(["explain", "train"]) == 2
    assert "is a name and requires --stack" in capsys.readouterr().err
