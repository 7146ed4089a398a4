"""Jobs as tests make them, over HTTP as the provider sends it."""

import uuid
from typing import Any

import httpx

from tests.localazure.conftest import new_group
from tests.localazure.containers.sdk import Registry
from tests.support.embedded import EmbeddedAzure

VERSION = "2025-02-02-preview"  # the provider's
GPU = {"name": "gpu-t4", "workloadProfileType": "Consumption-GPU-NC8as-T4"}
CONSUMPTION = {"name": "Consumption", "workloadProfileType": "Consumption"}


def new_apps(azure: EmbeddedAzure, registry: Registry) -> "Apps":
    """An environment in a resource group of its own."""
    made = Apps(azure, new_group(azure), f"env-{uuid.uuid4().hex[:8]}", registry, f"{registry.server}/hello:1")
    made.create_environment()
    return made


class Apps:
    """A managed environment in a resource group, and the registry that its jobs pull from."""

    def __init__(self, azure: EmbeddedAzure, group: str, environment: str, registry: Registry, image: str) -> None:
        self.azure = azure
        self.group = group
        self.group_name = group.rsplit("/", 1)[1]
        self.registry = registry
        self.image = image
        self.environment = f"{group}/providers/Microsoft.App/managedEnvironments/{environment}"

    def create_environment(self) -> None:
        body = {"location": "westeurope", "properties": {"workloadProfiles": [CONSUMPTION, GPU]}}
        self.azure.made(self.environment, body, VERSION)

    def job_path(self, name: str) -> str:
        return f"{self.group}/providers/Microsoft.App/jobs/{name}"

    def body(self, *arguments: str, container: dict[str, Any] | None = None, **configuration: Any) -> dict[str, Any]:
        """A manual job on the consumption profile, pulling as the registry's identity."""
        first = {
            "name": "main",
            "image": self.image,
            "resources": {"cpu": 0.5, "memory": "1Gi"},
            **({"args": list(arguments)} if arguments else {}),
            **(container or {}),
        }
        return {
            "location": "westeurope",
            "identity": {"type": "UserAssigned", "userAssignedIdentities": {self.registry.identity: {}}},
            "properties": {
                "environmentId": self.environment,
                "configuration": {
                    "triggerType": "Manual",
                    "replicaTimeout": 300,
                    "registries": [{"server": self.registry.server, "identity": self.registry.identity}],
                    **configuration,
                },
                "template": {"containers": [first]},
            },
        }

    def create(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        return self.azure.made(self.job_path(name), body, VERSION)

    def start(self, name: str, template: dict[str, Any] | None = None) -> str:
        answer = self.azure.post(f"{self.job_path(name)}/start", VERSION, template)
        assert answer.status_code == 200, answer.text
        return answer.json()["name"]

    def execution(self, name: str, execution: str) -> dict[str, Any]:
        return self.azure.get(f"{self.job_path(name)}/executions/{execution}", VERSION).raise_for_status().json()["properties"]

    def ended(self, name: str, execution: str) -> dict[str, Any]:
        return self.azure.until(
            lambda: (found := self.execution(name, execution))["status"] != "Running" and found, f"the execution {execution} ends"
        )

    def run(self, name: str, body: dict[str, Any], template: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """A new job's first execution to its end: its name, and what it shows."""
        self.create(name, body)
        execution = self.start(name, template)
        return execution, self.ended(name, execution)

    def stream(self, name: str, execution: str) -> str:
        """The address of its first container's log."""
        return self.replicas(name, execution)[0]["containers"][0]["logStreamEndpoint"]

    def printed(self, name: str, execution: str) -> list[str]:
        return lines(self.log(name, self.stream(name, execution)).text)

    def replicas(self, name: str, execution: str) -> list[dict[str, Any]]:
        path = f"{self.job_path(name)}/executions/{execution}/replicas"
        return self.azure.get(path, "2025-01-01").raise_for_status().json()["value"]

    def running_replica(self, name: str, execution: str) -> dict[str, Any]:
        def running() -> dict[str, Any] | None:
            found = [one for one in self.replicas(name, execution) if one["containers"][0]["runningState"] == "Running"]
            return found[0] if found else None

        return self.azure.until(running, f"a replica of {execution} runs")

    def token(self, name: str) -> str:
        return self.azure.post(f"{self.job_path(name)}/getAuthToken", VERSION).raise_for_status().json()["properties"]["token"]

    def log(self, name: str, endpoint: str, token: str | None = None, **query: str) -> httpx.Response:
        """One reading of a log stream."""
        with self.azure.http(headers={"Authorization": f"Bearer {token or self.token(name)}"}) as client:
            return client.get(endpoint, params={"output": "text", "tailLines": "300", **query})


def lines(text: str) -> list[str]:
    """What the container printed: each line without its time and stream."""
    return [line.split(" ", 3)[3] for line in text.splitlines()]


def containers(execution: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for replica in execution["detailedStatus"]["replicas"] for one in replica["containers"]]
