"""Whatever a client sends as a body, the answer is ARM's refusal or success, never an error of the server's own."""

import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given, strategies as st

from azure_gpu.formats import azure_types
from azure_gpu.formats.azure_types import AzureType
from localazure.arm.kind import merged
from localazure.kubernetes import control_plane
from localazure.shapes import default_api_version, to_arm
from localazure.weather.parts import PARTS
from localazure.wiring import without_backends
from tests.localazure.any_body import is_answer, json_of, many
from tests.support.batch_bodies import fixed, pool
from tests.support.embedded import EmbeddedAzure
from tests.support.managed_clusters import CLUSTERS, cluster
from tests.support.shapes import sdk_inputs_of

NAMES = (
    "containers osType image resources requests gpu name properties identity type tags sku agentPoolProfiles count vmSize mode "
    "minCount maxCount enableAutoScaling nodeTaints nodeLabels spotMaxPrice gpuProfile upgradeSettings powerState "
    "ipConfigurations"
)
JSON = json_of(NAMES.split())
BODIES = st.fixed_dictionaries(
    {"location": st.just("westeurope") | JSON},
    optional={"properties": JSON, "sku": JSON, "kind": JSON, "tags": JSON, "identity": JSON, "zones": JSON},
)
IMAGE = {"osType": "Linux", "osState": "Generalized", "identifier": {"publisher": "p", "offer": "o", "sku": "s"}}
LABS = {"location": "westeurope"}
CLUSTER = (azure_types.MANAGED_CLUSTER, cluster())
# What has to be there before a child: by the child's type, the types above it with their bodies.
ABOVE: dict[AzureType, list[tuple[AzureType, dict[str, Any]]]] = {
    azure_types.TASK_RUN: [(azure_types.REGISTRY, {"location": "westeurope", "sku": {"name": "Basic"}})],
    azure_types.BLOB_CONTAINER: [
        (azure_types.STORAGE_ACCOUNT, {"location": "westeurope", "kind": "StorageV2", "sku": {"name": "Standard_LRS"}})
    ],
    azure_types.AGENT_POOL: [CLUSTER],
    azure_types.MAINTENANCE_CONFIGURATION: [CLUSTER],
    azure_types.FEDERATED_IDENTITY_CREDENTIAL: [(azure_types.USER_ASSIGNED_IDENTITY, LABS)],
    azure_types.BATCH_POOL: [(azure_types.BATCH_ACCOUNT, LABS)],
    azure_types.BATCH_APPLICATION: [(azure_types.BATCH_ACCOUNT, LABS)],
    azure_types.BATCH_APPLICATION_PACKAGE: [
        (azure_types.BATCH_ACCOUNT, LABS),
        (azure_types.BATCH_APPLICATION, {}),
    ],
    azure_types.GALLERY_IMAGE: [(azure_types.GALLERY, LABS)],
    azure_types.GALLERY_IMAGE_VERSION: [
        (azure_types.GALLERY, LABS),
        (azure_types.GALLERY_IMAGE, {"location": "westeurope", "properties": IMAGE}),
    ],
}
SNAPSHOT = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/lab/providers/Microsoft.Compute/snapshots/gpu"
# Laid over a body of the right shape, so that the service's rules get to its other parts.
RIGHT: dict[AzureType, dict[str, Any]] = {
    azure_types.BATCH_POOL: pool(scaleSettings=fixed(0)),
    azure_types.MANAGED_CLUSTER: cluster(),
    azure_types.AGENT_POOL: {"properties": {"count": 1, "mode": "User", "type": "VirtualMachineScaleSets", "osType": "Linux"}},
    azure_types.FEDERATED_IDENTITY_CREDENTIAL: {"properties": {"issuer": "https://a"}},
    azure_types.GALLERY_IMAGE_VERSION: {"properties": {"storageProfile": {"source": {"id": SNAPSHOT}}}},
}


def path_of(azure: EmbeddedAzure, group: str, azure_type: AzureType, above: str) -> str:
    """The path of a new resource below parents that are there. `above` names those."""
    names = {name: above for name in azure_type.path_parameters[:-1]}
    own = "1.0.0" if azure_type == azure_types.GALLERY_IMAGE_VERSION else uuid.uuid4().hex[:20]
    scopes = {
        "resourceGroupName": group.rsplit("/", 1)[1],
        "scope": group,
        "resourceUri": group,
        "roleAssignmentName": str(uuid.uuid4()),
    }
    subscription = group.split("/")[2]
    for parent, body in ABOVE.get(azure_type, []):
        parent_path = parent.id_of(subscription, {**names, parent.name_parameter: above, **scopes})
        if azure.get(parent_path, default_api_version(parent)).status_code == 404:
            answer = azure.put(parent_path, body, default_api_version(parent))
            assert answer.is_success, answer.text
            finished(azure, answer)
    return azure_type.id_of(subscription, {**names, azure_type.name_parameter: own, **scopes})


@pytest.fixture(autouse=True, scope="module")
def in_rough_weather_without_clusters(azure: EmbeddedAzure) -> Iterator[None]:
    """With ports for a control plane, which never listens there, and the authority that its address would be signed by; without
    the parts of the weather that refuse all bodies."""
    parts = [part.name for part in PARTS.values() if part.rough and part.name not in ("throttling", "unregistered-insights")]
    for part in parts:
        azure.command("fault", "weather", part)
    authority = azure.state / "ca" / "ca.pem"
    authority.parent.mkdir(exist_ok=True)
    authority.touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(control_plane, "is_free", lambda *_: True)
        yield
    azure.command("fault", "clear")


def finished(azure: EmbeddedAzure, answer: httpx.Response) -> None:
    if "azure-asyncoperation" in answer.headers:
        assert (azure.finished(answer).get("error") or {}).get("code") != "InternalServerError", answer.text


def answered(azure: EmbeddedAzure, azure_type: AzureType, path: str, body: dict[str, Any]) -> None:
    for method in ("PUT", "PATCH", "PUT"):
        answer = azure.client.request(method, path, params={"api-version": default_api_version(azure_type)}, json=body)
        is_answer(answer)
        finished(azure, answer)
    assert azure.get(path, default_api_version(azure_type)).status_code in (200, 404)


@pytest.mark.parametrize("kind", without_backends(), ids=lambda kind: kind.arm_type)
@many(40, quick=3)
@given(body=BODIES)
def test_no_body_upsets_the_server(azure: EmbeddedAzure, group: str, kind: Any, body: dict[str, Any]) -> None:
    answered(azure, kind.azure_type, path_of(azure, group, kind.azure_type, f"above{group[-8:]}"), body)


@pytest.mark.parametrize(
    "azure_type",
    [
        azure_types.BATCH_ACCOUNT,
        azure_types.BATCH_POOL,
        azure_types.BATCH_APPLICATION,
        azure_types.GALLERY,
        azure_types.GALLERY_IMAGE,
        azure_types.GALLERY_IMAGE_VERSION,
        azure_types.MANAGED_CLUSTER,
        azure_types.AGENT_POOL,
        azure_types.MAINTENANCE_CONFIGURATION,
        azure_types.FEDERATED_IDENTITY_CREDENTIAL,
    ],
    ids=lambda each: each.arm_type,
)
@many(40, quick=6)
@given(data=st.data())
def test_no_body_of_the_right_shape_upsets_it_either(
    azure: EmbeddedAzure, group: str, azure_type: AzureType, data: st.DataObject
) -> None:
    """What is of the right shape gets past ARM's own checks, to the rules of the service."""
    inputs = data.draw(sdk_inputs_of(azure_type))
    body = to_arm(azure_type, {**inputs, "location": "westeurope"} if "location" in inputs else inputs)
    right = RIGHT.get(azure_type, {})
    body = merged(body, right) if data.draw(st.booleans()) else merged(right, body)
    answered(azure, azure_type, path_of(azure, group, azure_type, f"above{group[-8:]}"), body)


@many(40)
@given(body=JSON | st.dictionaries(st.sampled_from(["value", "format"]), JSON, max_size=2))
def test_no_body_of_an_action_upsets_it(azure: EmbeddedAzure, group: str, body: Any) -> None:
    path = path_of(azure, group, azure_types.AGENT_POOL, f"above{group[-8:]}").rsplit("/agentPools/", 1)[0]
    is_answer(azure.post(f"{path}/listClusterUserCredential", CLUSTERS, body))
