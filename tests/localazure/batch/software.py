"""What nodes get beyond this machine: an application with packages, a registry with an image, an identity that may pull it."""

import zipfile
from pathlib import Path
from typing import Any

from azure_gpu.catalog import roles
from localazure.arm.store import Resource
from tests.localazure.batch.world import ACCOUNT_ID, World
from tests.localazure.containers.conftest import write_workload
from tests.localazure.parts import arm_id

GROUP = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rg"
STORAGE_ID = f"{GROUP}/providers/Microsoft.Storage/storageAccounts/store"
REGISTRY_ID = f"{GROUP}/providers/Microsoft.ContainerRegistry/registries/reg"
IDENTITY_ID = f"{GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/nodes"
APPLICATION_ID = f"{ACCOUNT_ID}/applications/Tool-Kit"
LOGIN = "reg.azurecr.local"
IMAGE = f"{LOGIN}/tool:1"
IDENTITY = {"type": "UserAssigned", "userAssignedIdentities": {IDENTITY_ID: {}}}
BY_IDENTITY = {"registryServer": LOGIN, "identityReference": {"resourceId": IDENTITY_ID}}


def put(world: World, resource_id: str, body: dict[str, Any], **more: Any) -> None:
    world.store.put(Resource(id=arm_id(resource_id), body=body, **more))


# Application packages


def package(world: World, version: str, content: dict[str, str], *, active: bool = True) -> None:
    """A version of the application, uploaded."""
    put(world, ACCOUNT_ID, {"location": "westeurope", "properties": {"autoStorage": {"storageAccountId": STORAGE_ID}}})
    put(world, STORAGE_ID, {"location": "westeurope", "properties": {}})
    put(world, APPLICATION_ID, {"properties": {"defaultVersion": "1.0"}})
    lies = {"container": "app-tool", "name": version}
    state = {"properties": {"state": "Active" if active else "Pending"}}
    put(world, f"{APPLICATION_ID}/versions/{version}", {}, service=state, private={"blob": lies})
    with zipfile.ZipFile(world.container("app-tool") / version, "w") as file:
        for name, text in content.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o755 << 16
            file.writestr(entry, text)


# Containers

DOCKERFILE = """FROM debian:12
WORKDIR /app
ENV WHO=image
COPY tool.sh /app/
ENTRYPOINT ["/bin/sh", "/app/tool.sh"]
CMD ["usual"]
"""
TOOL = 'echo "tool $@"\necho "$WHO in $PWD, pool $AZ_BATCH_POOL_ID"\ntest -d "$AZ_BATCH_TASK_WORKING_DIR" && echo there\n'


async def registry(world: World, folder: Path, *, role: str = roles.ACR_PULL) -> None:
    """A registry with an image, and an identity that may pull from it."""
    put(world, REGISTRY_ID, {"properties": {"adminUserEnabled": True}}, private={"passwords": {"password": "secret"}})
    put(world, IDENTITY_ID, {}, service={"properties": {"principalId": "principal", "clientId": "client"}})
    if role:
        definition = f"{GROUP.rsplit('/', 2)[0]}/providers/Microsoft.Authorization/roleDefinitions/{role}"
        assignment = f"{REGISTRY_ID}/providers/Microsoft.Authorization/roleAssignments/{role}"
        put(world, assignment, {"properties": {"principalId": "principal", "roleDefinitionId": definition}})
    context = write_workload(folder / "tool", DOCKERFILE, tool__sh=TOOL)
    await world.services.images.build(context, "Dockerfile", {}, [IMAGE], folder / "build.log")
