"""What the components declare, as ARM requests, against Microsoft's own types: the real provider would send what ARM takes."""

from typing import Any

import pytest

from components.container_group import ContainerGroup
from components.foundation import Foundation
from components.job_environment import JobEnvironment
from components.job_environment_args import GpuModel
from components.serverless_gpu_job import ServerlessGpuJob
from formats import azure_types
from formats.azure_types import AzureType
from localazure.shapes import default_api_version, to_arm
from tests.components.recording import Registration, declare
from tests.components.settings_of import STACK_ARGS
from tests.components.test_foundation import EVERYTHING
from tests.oracle.arm_types import FOLDER, MISSING_REASON, arm_problems

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=MISSING_REASON)
GROUP: dict[str, Any] = {
    "command": ["python", "-c", "print(1)"],
    "environment": {"A": "1"},
    "secret_environment": {"B": "2"},
    "gpu": {"count": 1, "sku": "V100"},
    "as_of": "2019-06-01",
    "expires_after": "2019-06-30",
    "tags": {"cost": "42"},
}
CONTAINER: dict[str, Any] = {
    "image": "python:3.11",
    "ports": [80, 53],
    "mounts": {"scratch": {"path": "/scratch"}, "files": {"path": "/files", "read_only": True}},
    "liveness": {"command": ["check"], "initial_delay_seconds": 1, "period_seconds": 2, "failure_threshold": 3},
    "readiness": {"http": {"port": 80, "path": "/", "scheme": "https"}, "success_threshold": 1, "timeout_seconds": 5},
}
SEVERAL: dict[str, Any] = {
    "containers": {"web": CONTAINER, "sidecar": {"image": "python:3.11"}},
    "init_containers": {"set-up": {"image": "python:3.11", "secret_environment": {"B": "2"}, "command": ["true"]}},
    "volumes": {
        "scratch": {"empty_dir": True},
        "files": {"secret": {"key": "secret"}},
        "share": {"azure_file": {"share": "data", "account": "someonesdata", "key": "secret", "read_only": True}},
        "code": {"git_repo": {"repository": "https://github.com/someone/site", "directory": ".", "revision": "0123abc"}},
    },
    "network": "public",
    "ports": [{"port": 80}, {"port": 53, "protocol": "UDP"}],
    "dns_label": "front-end",
    "dns_label_scope": "Noreuse",
    "registries": [{"server": "ghcr.io", "username": "someone", "password": "secret"}],
    "zones": ["1"],
    "sku": "Dedicated",
    "priority": "Regular",
}
PRIVATE: dict[str, Any] = {
    "image": "python:3.11",
    "network": "private",
    "subnet_id": "/some/subnet",
    "ports": [{"port": 80}],
    "dns_config": {"name_servers": ["10.0.0.10"], "search_domains": "example.org", "options": "ndots:2"},
}
JOB: dict[str, Any] = {
    "workload": "vector_add",
    "command": ["python"],
    "args": ["-c", "print(1)"],
    "environment": {"A": "1"},
    "secret_environment": {"B": "2"},
    "memory_in_gib": 27.5,
    "as_of": "2026-11-21",
    "expires_after": "2026-12-31",
    "tags": {"cost": "42"},
}
EVENT: dict[str, Any] = {
    "rules": {
        "queue": {"type": "azure-queue", "metadata": {"queueName": "work"}, "use_identity": True},
        "bus": {"type": "azure-servicebus", "secrets": {"connection": "secret"}},
    },
    "polling_interval_seconds": 60,
    "min_executions": 1,
    "max_executions": 4,
}


@pytest.fixture(scope="module")
def declared() -> list[Registration]:
    """Every resource that the components can declare, with everything that it can hold."""

    def build() -> None:
        foundation = Foundation("foundation", {**EVERYTHING, "read_log_key": True})
        stands_on = {"stack": STACK_ARGS, **foundation.surroundings}
        ContainerGroup("train", {**GROUP, **stands_on, "workload": "mnist"})
        ContainerGroup("several", {**stands_on, **SEVERAL})
        ContainerGroup("in-a-network", {**stands_on, **PRIVATE})
        environment = {"create": True, "location": "westeurope", "gpus": [GpuModel.T4]}
        runs_in = JobEnvironment("jobs", {**stands_on, **environment}).surroundings
        ServerlessGpuJob("by-hand", {**stands_on, **runs_in, **JOB})
        ServerlessGpuJob("nightly", {**stands_on, **runs_in, **JOB, "schedule": "0 2 * * *"})
        ServerlessGpuJob("on-events", {**stands_on, **runs_in, **JOB, "event": EVENT})

    return declare(build).registrations


@pytest.mark.parametrize("azure_type", azure_types.ALL, ids=lambda azure_type: azure_type.token)
def test_arm_takes_what_is_declared(azure_type: AzureType, declared: list[Registration]) -> None:
    version = default_api_version(azure_type)
    of_type = [registration for registration in declared if registration.type == azure_type.token]
    assert of_type, "the components declare none of these"
    for registration in of_type:
        assert arm_problems(azure_type.arm_type, version, to_arm(azure_type, registration.inputs)) == []
