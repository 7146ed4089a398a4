"""Which images the node agents of clusters may have: by the kubelet identity's roles, by pull secrets, and not at all."""

import asyncio
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from starlette.applications import Starlette

from localazure.arm.store import Resource, Store
from localazure.containers.images import Images
from localazure.kubernetes import image_access
from localazure.kubernetes.agent import process_spec
from localazure.services import Services
from tests.localazure.parts import arm_id, services_in

GROUP = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rg"
CLUSTER = f"{GROUP}/providers/Microsoft.ContainerService/managedClusters/aks"
REGISTRY = f"{GROUP}/providers/Microsoft.ContainerRegistry/registries/acr"
ACR_PULL = "7f951dda-4ed3-4680-a7ca-43fe172d538d"
KUBELET = "11111111-0000-0000-0000-000000000000"
IMAGE = "acr.azurecr.local/app:1"


class Clusters:
    """The one cluster, and its agent's token."""

    def agent_key(self, token: str) -> str | None:
        return CLUSTER.lower() if token == "agent's" else None


@pytest.fixture
def services(tmp_path: Path) -> Services:
    """A cluster, a registry with one image, and nobody who may pull it."""
    store = Store(tmp_path / "azure.sqlite")
    made = services_in(tmp_path, store=store, images=Images(tmp_path / "cache", store))
    identity = {"identityProfile": {"kubeletidentity": {"objectId": KUBELET}}}
    _put(store, CLUSTER, service={"properties": identity})
    _put(store, REGISTRY, {"adminUserEnabled": True}, private={"passwords": {"password": "p4ss"}})
    (tmp_path / "Dockerfile").write_text('FROM python:3.12\nCMD ["python3"]\n')
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "Dockerfile").write_text('FROM scratch\nCOPY Dockerfile /app/\nCMD ["true"]\n')
    asyncio.run(made.images.build(tmp_path / "source", "Dockerfile", {}, [IMAGE], tmp_path / "log"))
    return made


def _put(store: Store, text: str, properties: dict[str, Any] | None = None, **more: Any) -> None:
    store.put(Resource(id=arm_id(text), body={"location": "westeurope", "properties": properties or {}}, **more))


def _grant(services: Services, principal: str, role: str, scope: str) -> None:
    definition = f"{scope}/providers/Microsoft.Authorization/roleDefinitions/{role}"
    name = f"{scope}/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-000000000001"
    _put(services.store, name, {"principalId": principal, "roleDefinitionId": definition})


def pulled(services: Services, image: str = IMAGE, *credentials: dict[str, str]) -> dict[str, Any]:
    return asyncio.run(image_access.record(image, list(credentials), CLUSTER.lower(), services))


def test_the_kubelet_identity_pulls_with_a_role_that_allows_it(services: Services) -> None:
    with pytest.raises(
        image_access.RefusedError, match=r"failed to authorize: failed to fetch anonymous token: .* 401 Unauthorized"
    ):
        pulled(services)
    _grant(services, KUBELET, ACR_PULL, REGISTRY)
    record = pulled(services)
    assert record["cmd"] == ["true"]
    assert (process_spec.image_of(record).root / "app" / "Dockerfile").exists()


def test_a_pull_secret_of_the_admin_user_pulls_too_and_a_wrong_one_doesnt(services: Services) -> None:
    right = {"server": "acr.azurecr.local", "username": "acr", "password": "p4ss"}
    assert pulled(services, IMAGE, right)["cmd"] == ["true"]
    for wrong in ({**right, "password": "no"}, {**right, "server": "other.azurecr.local"}):
        with pytest.raises(image_access.RefusedError, match="401 Unauthorized"):
            pulled(services, IMAGE, wrong)


def test_what_isnt_there_is_said_as_a_container_runtime_says_it(services: Services) -> None:
    _grant(services, KUBELET, ACR_PULL, GROUP)
    with pytest.raises(image_access.RefusedError) as absent:
        pulled(services, "acr.azurecr.local/app:2")
    image = '"acr.azurecr.local/app:2"'
    assert str(absent.value) == (
        f"failed to pull and unpack image {image}: failed to resolve reference {image}: acr.azurecr.local/app:2: not found"
    )
    with pytest.raises(image_access.RefusedError, match=r"the embedded Azure reaches no registry docker\.io"):
        pulled(services, "nginx:1.27")
    with pytest.raises(image_access.RefusedError, match="invalid reference format"):
        pulled(services, "Not A Name")


def test_nobody_but_a_clusters_agent_is_answered(services: Services) -> None:
    async def asked(token: str) -> tuple[int, str]:
        transport = httpx.ASGITransport(Starlette(routes=image_access.routes(services, cast(Any, Clusters()))))
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with httpx.AsyncClient(transport=transport, base_url="https://localhost:1") as client:
            answer = await client.post("/kubernetes/images", json={"image": IMAGE, "credentials": []}, headers=headers)
        return answer.status_code, answer.json()["message"]

    assert asyncio.run(asked(""))[0] == 401
    assert asyncio.run(asked("another's"))[0] == 401
    status, message = asyncio.run(asked("agent's"))
    assert (status, "401 Unauthorized" in message) == (400, True)
