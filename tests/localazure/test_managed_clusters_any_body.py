"""No body that a client may send of a cluster, a pool or what belongs to them is met with an error of the server's own."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st

from azure_gpu.formats import azure_types
from azure_gpu.formats.azure_types import AzureType
from localazure.arm.kind import merged
from localazure.shapes import to_arm
from tests.localazure.any_body import NUMBERS, is_answer, many
from tests.support.managed_clusters import CLUSTER, GROUP, SYSTEM, ArmHarness, cluster, pool
from tests.support.shapes import sdk_inputs_of

IDENTITY = f"{GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/train"
# Laid over a body of the right shape, so that the rules get to its other parts.
RIGHT: dict[AzureType, dict[str, Any]] = {
    azure_types.MANAGED_CLUSTER: cluster(),
    azure_types.AGENT_POOL: {"properties": {"count": 1, "mode": "User", "type": "VirtualMachineScaleSets", "osType": "Linux"}},
    azure_types.MAINTENANCE_CONFIGURATION: {},
    azure_types.FEDERATED_IDENTITY_CREDENTIAL: {"properties": {"issuer": "https://a"}},
}
ODD = st.none() | st.booleans() | NUMBERS | st.text(max_size=5) | st.just([]) | st.just({})
NAMES = (
    "name count vmSize mode minCount maxCount enableAutoScaling orchestratorVersion osType osSKU nodeTaints nodeLabels "
    "spotMaxPrice scaleSetPriority gpuProfile upgradeSettings powerState tags"
)


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArmHarness]:
    found = ArmHarness(tmp_path_factory.mktemp("arm"))
    found.succeeded(found.put(CLUSTER, cluster()))
    assert found.put(IDENTITY, {"location": "westeurope"}, "2023-01-31").is_success
    yield found
    found.close()


def path_of(azure_type: AzureType) -> str:
    name = f"p{uuid.uuid4().hex[:10]}"
    return {
        azure_types.MANAGED_CLUSTER: f"{GROUP}/providers/Microsoft.ContainerService/managedClusters/{name}",
        azure_types.AGENT_POOL: f"{CLUSTER}/agentPools/{name}",
        azure_types.MAINTENANCE_CONFIGURATION: f"{CLUSTER}/maintenanceConfigurations/default",
        azure_types.FEDERATED_IDENTITY_CREDENTIAL: f"{IDENTITY}/federatedIdentityCredentials/{name}",
    }[azure_type]


def answered(arm: ArmHarness, azure_type: AzureType, body: dict[str, Any]) -> None:
    path = path_of(azure_type)
    version = "2023-01-31" if azure_type == azure_types.FEDERATED_IDENTITY_CREDENTIAL else "2025-09-01"
    for method in ("PUT", "PUT", "PATCH"):
        answer = arm.request(method, path, body, version)
        is_answer(answer)
        if "azure-asyncoperation" in answer.headers:
            assert arm.ended(answer)["status"] == "Succeeded"
        shown = arm.get(path, version)
        assert shown.status_code in (200, 404), shown.text
    answer = arm.delete(path, version)
    if answer.status_code == 202:
        arm.succeeded(answer)


@pytest.mark.parametrize("azure_type", RIGHT, ids=lambda each: each.arm_type)
@many(60)
@given(data=st.data())
def test_no_body_of_the_right_shape_upsets_the_server(arm: ArmHarness, azure_type: AzureType, data: st.DataObject) -> None:
    inputs = data.draw(sdk_inputs_of(azure_type))
    body = to_arm(azure_type, {**inputs, "location": "westeurope"} if "location" in inputs else inputs)
    body = merged(body, RIGHT[azure_type]) if data.draw(st.booleans()) else merged(RIGHT[azure_type], body)
    answered(arm, azure_type, body)


@many(60)
@given(
    changed=st.dictionaries(
        st.sampled_from(NAMES.split()), ODD | st.just("Spot") | st.just("1.35") | st.just(["a=b:NoSchedule"]), max_size=4
    )
)
def test_no_odd_value_of_a_pool_upsets_it(arm: ArmHarness, changed: dict[str, Any]) -> None:
    answered(arm, azure_types.AGENT_POOL, pool(**changed))
    answered(arm, azure_types.MANAGED_CLUSTER, cluster(agentPoolProfiles=[{**SYSTEM, **changed}]))


@many(60)
@given(body=ODD | st.dictionaries(st.sampled_from(["machineNames", "format"]), ODD | st.lists(ODD, max_size=2), max_size=2))
def test_no_body_of_an_action_upsets_it(arm: ArmHarness, body: Any) -> None:
    for action in ("listClusterUserCredential", "agentPools/system/deleteMachines", "accessProfiles/clusterUser/listCredential"):
        is_answer(arm.post(f"{CLUSTER}/{action}", body))
