"""What tests of container groups make on an embedded Azure: registries, images, groups."""

from typing import Any

from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure

REGISTRY = "2023-01-01-preview"
TASK_RUN = "2019-06-01-preview"
IDENTITY = "2023-01-31"
ROLE = "2022-04-01"
GROUP = "2024-05-01-preview"
ACR_PULL = "7f951dda-4ed3-4680-a7ca-43fe172d538d"


class Registry:
    """A registry in a resource group, with an identity that may pull from it."""

    def __init__(self, azure: EmbeddedAzure, group: str, name: str) -> None:
        self.azure = azure
        self.group = group
        self.id = f"{group}/providers/Microsoft.ContainerRegistry/registries/{name}"
        body = {"location": "westeurope", "sku": {"name": "Basic"}}
        self.server = azure.put(self.id, body, REGISTRY).raise_for_status().json()["properties"]["loginServer"]
        identity = f"{group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/puller"
        made = azure.put(identity, {"location": "westeurope"}, IDENTITY).raise_for_status().json()
        self.identity, self.principal = made["id"], made["properties"]["principalId"]

    def allow_pull(self, role: str = ACR_PULL) -> None:
        definition = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/{role}"
        path = f"{self.id}/providers/Microsoft.Authorization/roleAssignments/11111111-1111-1111-1111-111111111111"
        body = {
            "properties": {"roleDefinitionId": definition, "principalId": self.principal, "principalType": "ServicePrincipal"}
        }
        self.azure.put(path, body, ROLE).raise_for_status()

    def build(self, workload: str, image: str, run: str = "build-one", **request: Any) -> dict[str, Any]:
        """Runs a build and returns the operation's status document."""
        body = {"properties": {"runRequest": {**self.request(workload, image), **request}}}
        return self.azure.finished(self.azure.put(f"{self.id}/taskRuns/{run}", body, TASK_RUN))

    def request(self, workload: str, image: str) -> dict[str, Any]:
        return {
            "type": "DockerBuildRequest",
            "dockerFilePath": "Dockerfile",
            "imageNames": [image],
            "isPushEnabled": True,
            "platform": {"os": "Linux", "architecture": "amd64"},
            "sourceLocation": f"{self.azure.url}/checkout.git#HEAD:workloads/{workload}",
            "arguments": [],
        }


def container(
    image: str, *command: str, name: str = "main", gpu: dict[str, Any] | None = None, **properties: Any
) -> dict[str, Any]:
    """A container in ARM's form."""
    requests: dict[str, Any] = {"cpu": 1, "memoryInGB": 1.5}
    argv = {"command": ["python", "main.py", *command]} if command else {}
    resources = {"requests": requests | ({"gpu": gpu} if gpu else {})}
    return {"name": name, "properties": {"image": image, "resources": resources, **argv, **properties}}


def group_state(found: dict[str, Any]) -> str:
    return found["properties"]["instanceView"]["state"]


def container_view(found: dict[str, Any], index: int = 0) -> dict[str, Any]:
    return found["properties"]["containers"][index]["properties"]["instanceView"]


def mounted(name: str, path: str) -> list[dict[str, Any]]:
    return [{"name": name, "mountPath": path}]


def file_volume(account: str, key: str, share: str = "results") -> dict[str, Any]:
    return {"name": "share", "azureFile": {"shareName": share, "storageAccountName": account, "storageAccountKey": key}}


def public(*ports: int, label: str = "", **more: Any) -> dict[str, Any]:
    """A public address."""
    named = {"dnsNameLabel": label} if label else {}
    return {"type": "Public", "ports": [{"port": port, "protocol": "TCP"} for port in ports], **named, **more}


class Groups:
    """Container groups in a resource group: of a registry's image whose program does what its arguments say, or of others."""

    def __init__(self, azure: EmbeddedAzure, registry: Registry | None, group: str) -> None:
        self.azure, self._registry, self.group = azure, registry, group
        self.image = f"{registry.server}/hello:1" if registry else ""

    @property
    def registry(self) -> Registry:
        assert self._registry is not None
        return self._registry

    def container(self, *command: str, **given: Any) -> dict[str, Any]:
        return container(self.image, *command, **given)

    def shell(self, line: str, name: str = "main", **given: Any) -> dict[str, Any]:
        """A container that runs a line of the shell."""
        return container(self.image, name=name, **{"command": ["/bin/sh", "-c", line], **given})

    def init(self, line: str, name: str = "first", **given: Any) -> dict[str, Any]:
        return {"name": name, "properties": {"image": self.image, "command": ["/bin/sh", "-c", line], **given}}

    def body(self, *containers: dict[str, Any], **properties: Any) -> dict[str, Any]:
        """A container group in ARM's form; its registry's identity pulls."""
        body: dict[str, Any] = {
            "location": "westeurope",
            "properties": {"osType": "Linux", "restartPolicy": "Never", "containers": list(containers), **properties},
        }
        if self._registry is not None:
            body["identity"] = {"type": "UserAssigned", "userAssignedIdentities": {self.registry.identity: {}}}
            body["properties"]["imageRegistryCredentials"] = [
                {"server": self.registry.server, "identity": self.registry.identity}
            ]
        return body

    def path(self, name: str) -> str:
        return f"{self.group}/providers/Microsoft.ContainerInstance/containerGroups/{name}"

    def create(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """Creates or updates a group and returns it as it is when the operation has ended."""
        return self.azure.made(self.path(name), body, GROUP)

    def refusal(self, body: dict[str, Any], name: str = "one") -> tuple[int, dict[str, Any]]:
        answer = self.azure.put(self.path(name), body, GROUP)
        assert answer.status_code >= 400, answer.text
        return answer.status_code, answer.json()["error"]

    def show(self, name: str) -> dict[str, Any]:
        return self.azure.get(self.path(name), GROUP).raise_for_status().json()

    def wait_for(self, name: str, state: str) -> dict[str, Any]:
        return self.azure.until(lambda: group_state(found := self.show(name)) == state and found, f"{name} is {state}")

    def pid(self, name: str) -> int:
        """The process id that the container says."""
        log = self.azure.until(lambda: "pid " in (log := self.logs(name)) and log, "the container says its process id")
        return int(next(line.split()[1] for line in log.splitlines() if line.startswith("pid ")))

    def logs(self, name: str, container_name: str = "main", **query: str) -> str:
        path = f"{self.path(name)}/containers/{container_name}/logs"
        return self.azure.get(path, GROUP, **query).raise_for_status().json()["content"]
