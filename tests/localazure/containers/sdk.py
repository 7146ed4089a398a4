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


def group_body(registry: Registry | None, *containers: dict[str, Any], **properties: Any) -> dict[str, Any]:
    """A container group in ARM's form; its registry's identity pulls."""
    body: dict[str, Any] = {
        "location": "westeurope",
        "properties": {"osType": "Linux", "restartPolicy": "Never", "containers": list(containers), **properties},
    }
    if registry is not None:
        body["identity"] = {"type": "UserAssigned", "userAssignedIdentities": {registry.identity: {}}}
        body["properties"]["imageRegistryCredentials"] = [{"server": registry.server, "identity": registry.identity}]
    return body


def group_path(group: str, name: str) -> str:
    return f"{group}/providers/Microsoft.ContainerInstance/containerGroups/{name}"


def create(azure: EmbeddedAzure, group: str, name: str, body: dict[str, Any]) -> dict[str, Any]:
    """Creates or updates a group and returns it as it is when the operation has ended."""
    answer = azure.put(group_path(group, name), body, GROUP)
    assert answer.status_code in (200, 201), answer.text
    ended = azure.finished(answer)
    assert ended["status"] == "Succeeded", ended
    return show(azure, group, name)


def show(azure: EmbeddedAzure, group: str, name: str) -> dict[str, Any]:
    return azure.get(group_path(group, name), GROUP).raise_for_status().json()


def group_state(found: dict[str, Any]) -> str:
    return found["properties"]["instanceView"]["state"]


def container_view(found: dict[str, Any], index: int = 0) -> dict[str, Any]:
    return found["properties"]["containers"][index]["properties"]["instanceView"]


def wait_for(azure: EmbeddedAzure, group: str, name: str, state: str) -> dict[str, Any]:
    return azure.until(lambda: group_state(found := show(azure, group, name)) == state and found, f"{name} is {state}")


def logs(azure: EmbeddedAzure, group: str, name: str, container_name: str = "main", **query: str) -> str:
    path = f"{group_path(group, name)}/containers/{container_name}/logs"
    return azure.get(path, GROUP, **query).raise_for_status().json()["content"]


def pid_in(log: str) -> int:
    return int(next(line.split()[1] for line in log.splitlines() if line.startswith("pid ")))


def wait_for_pid(azure: EmbeddedAzure, group: str, name: str) -> int:
    return pid_in(azure.until(lambda: "pid " in (log := logs(azure, group, name)) and log, "the container says its process id"))


def refusal(azure: EmbeddedAzure, group: str, body: dict[str, Any], name: str = "one") -> tuple[int, dict[str, Any]]:
    answer = azure.put(group_path(group, name), body, GROUP)
    assert answer.status_code >= 400, answer.text
    return answer.status_code, answer.json()["error"]


def with_requests(body: dict[str, Any], **requests: Any) -> dict[str, Any]:
    """The same body, its first container asking for something else."""
    body["properties"]["containers"][0]["properties"]["resources"]["requests"] |= requests
    return body


def gpu_group(sku: str, count: int = 1, as_of: str = "2019-06-01", **properties: Any) -> dict[str, Any]:
    """A group with one of the article\'s images, judged at `as_of`."""
    body = group_body(None, container("k8s.gcr.io/cuda-vector-add:v0.1", gpu={"count": count, "sku": sku}), **properties)
    return {**body, "tags": {"as-of": as_of}}


def shell(image: str, line: str, name: str = "main", **properties: Any) -> dict[str, Any]:
    """A container that runs a line of the shell."""
    return container(image, name=name, **{"command": ["/bin/sh", "-c", line], **properties})


def init(image: str, line: str, name: str = "first", **properties: Any) -> dict[str, Any]:
    """An init container that runs a line of the shell."""
    return {"name": name, "properties": {"image": image, "command": ["/bin/sh", "-c", line], **properties}}


def mounted(name: str, path: str) -> list[dict[str, Any]]:
    return [{"name": name, "mountPath": path}]


def file_volume(account: str, key: str, share: str = "results") -> dict[str, Any]:
    return {"name": "share", "azureFile": {"shareName": share, "storageAccountName": account, "storageAccountKey": key}}


def public(*ports: int, label: str = "", **more: Any) -> dict[str, Any]:
    """A public address."""
    named = {"dnsNameLabel": label} if label else {}
    return {"type": "Public", "ports": [{"port": port, "protocol": "TCP"} for port in ports], **named, **more}


class Groups:
    """Container groups in a resource group, of a registry's image whose program does what its arguments say."""

    def __init__(self, azure: EmbeddedAzure, registry: Registry, group: str) -> None:
        self.azure, self.registry, self.group = azure, registry, group
        self.image = f"{registry.server}/hello:1"

    def container(self, *command: str, **given: Any) -> dict[str, Any]:
        return container(self.image, *command, **given)

    def shell(self, line: str, name: str = "main", **given: Any) -> dict[str, Any]:
        return shell(self.image, line, name, **given)

    def init(self, line: str, name: str = "first", **given: Any) -> dict[str, Any]:
        return init(self.image, line, name, **given)

    def body(self, *containers: dict[str, Any], **properties: Any) -> dict[str, Any]:
        return group_body(self.registry, *containers, **properties)

    def path(self, name: str) -> str:
        return group_path(self.group, name)

    def create(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        return create(self.azure, self.group, name, body)

    def refusal(self, body: dict[str, Any], name: str = "one") -> tuple[int, dict[str, Any]]:
        return refusal(self.azure, self.group, body, name)

    def show(self, name: str) -> dict[str, Any]:
        return show(self.azure, self.group, name)

    def wait_for(self, name: str, state: str) -> dict[str, Any]:
        return wait_for(self.azure, self.group, name, state)

    def wait_for_pid(self, name: str) -> int:
        return wait_for_pid(self.azure, self.group, name)

    def logs(self, name: str, container_name: str = "main", **query: str) -> str:
        return logs(self.azure, self.group, name, container_name, **query)
