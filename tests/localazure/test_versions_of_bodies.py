"""Bodies at the version that they are sent in: what it lacks, what only another one has, and what no version has."""

from collections.abc import Iterator
from typing import Any

import pytest

from localazure.shapes.versions import presence
from tests.support.managed_clusters import CLUSTER, GROUP, ArmHarness, cluster, refusal

LOGS = f"{GROUP}/providers/Microsoft.OperationalInsights/workspaces"
REGISTRY = f"{GROUP}/providers/Microsoft.ContainerRegistry/registries/newer"
NETWORK = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/net"
ENVIRONMENT = f"{GROUP}/providers/Microsoft.App/managedEnvironments/env"
MACHINE = f"{GROUP}/providers/Microsoft.Compute/virtualMachines/vm"
BATCH = f"{GROUP}/providers/Microsoft.Batch/batchAccounts/batch"
SPACE = {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}}


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArmHarness]:
    found = ArmHarness(tmp_path_factory.mktemp("arm"))
    yield found
    found.close()


def test_most_services_drop_what_they_do_not_know(arm: ArmHarness) -> None:
    body = {"location": "westeurope", "properties": {"bogus": {"a": 1}, "features": {"immediatePurgeDataOn30Days": True}}}
    answer = arm.put(f"{LOGS}/drops", body, "2023-09-01")
    assert answer.is_success, answer.text
    found = arm.get(f"{LOGS}/drops", "2023-09-01").json()["properties"]
    assert "bogus" not in found
    assert found["features"]["immediatePurgeDataOn30Days"] is True


def test_what_the_service_sets_is_read_past(arm: ArmHarness) -> None:
    body = {"location": "westeurope", "properties": {"provisioningState": "Failed", "customerId": "mine"}}
    assert arm.put(f"{LOGS}/readpast", body, "2023-09-01").is_success
    found = arm.get(f"{LOGS}/readpast", "2023-09-01").json()["properties"]
    assert found["provisioningState"] == "Succeeded"
    assert found["customerId"] != "mine"


def test_a_version_that_is_newer_than_the_shape_keeps_what_the_shape_lacks(arm: ArmHarness) -> None:
    body = {"location": "westeurope", "sku": {"name": "Premium"}, "properties": {"later": True}}
    assert arm.put(REGISTRY, body, "2026-09-01-preview").is_success
    assert arm.get(REGISTRY, "2026-09-01-preview").json()["properties"]["later"] is True


@pytest.mark.parametrize(
    ("path", "body", "version", "code", "words"),
    [
        # Azure/azure-sdk-for-net issue 3487
        (
            f"{LOGS}/envelope",
            {"bogus": 1},
            "2023-09-01",
            "InvalidRequestContent",
            "'bogus' on object of type 'ResourceDefinition'",
        ),
        # Azure/azure-cli issue 16205
        (NETWORK, {"properties": {**SPACE, "bogus": 1}}, "2024-05-01", "InvalidRequestFormat", "Cannot parse the request."),
        # Azure/azure-cli issue 17904
        (
            MACHINE,
            {"properties": {"bogus": {}}},
            "2024-11-01",
            "BadRequest",
            "Could not find member 'bogus' on object of type 'Properties'",
        ),
        # hashicorp/terraform-provider-azurerm issue 25820
        (
            ENVIRONMENT,
            {"properties": {"bogus": 1}},
            "2025-01-01",
            "InvalidRequestContent",
            "Unknown properties bogus in Microsoft.ContainerApps",
        ),
        # Azure/azure-resource-manager-schemas issue 2737
        (
            f"{BATCH}/pools/pool",
            {"properties": {"vmSize": "standard_d2s_v3", "identity": {}}},
            "2024-07-01",
            "InvalidRequestContent",
            "Could not find member 'identity' on object of type 'PoolProperties'. Path 'properties.identity'",
        ),
        # Azure/AKS issue 4060
        (CLUSTER, cluster(bogus=1), "2025-09-01", "UnmarshalError", 'json: unknown field "bogus"'),
        (CLUSTER, cluster(aiToolchainOperatorProfile={"enabled": True}), "2024-02-01", "UnmarshalError", "aiToolchainOperator"),
    ],
    ids=["envelope", "network", "compute", "apps", "batch", "aks", "aks-version"],
)
def test_some_refuse_it_in_words_of_their_own(
    arm: ArmHarness, path: str, body: dict[str, Any], version: str, code: str, words: str
) -> None:
    where = {"location": "westeurope"}
    if path.startswith(BATCH):
        arm.put(BATCH, where, "2024-07-01")
        where = {}
    status, found, message = refusal(arm.put(path, {**where, **body}, version))
    assert (status, found) == (400, code)
    assert words in message


def test_an_early_version_of_aks_reads_past_what_came_later(arm: ArmHarness) -> None:
    body = cluster(bogus=1, aiToolchainOperatorProfile={"enabled": True})
    arm.succeeded(arm.put(CLUSTER.replace("/gpu", "/early"), body, "2023-10-01"))
    found = arm.get(CLUSTER.replace("/gpu", "/early")).json()["properties"]
    assert "bogus" not in found
    assert "aiToolchainOperatorProfile" not in found


def test_a_patch_at_an_early_version_leaves_what_came_later(arm: ArmHarness) -> None:
    path = CLUSTER.replace("/gpu", "/patched")
    arm.succeeded(arm.put(path, cluster(aiToolchainOperatorProfile={"enabled": True})))
    assert arm.request("PATCH", path, {"tags": {"a": "b"}}, "2024-02-01").status_code == 200
    assert arm.get(path).json()["properties"]["aiToolchainOperatorProfile"] == {"enabled": True}
    assert "aiToolchainOperatorProfile" not in arm.get(path, "2024-02-01").json()["properties"]


@pytest.mark.parametrize(
    ("name", "member", "version", "found"),
    [
        ("containerinstance:ContainerGroup.properties", "networkProfile", "2019-12-01", "there"),
        ("containerinstance:ContainerGroup.properties", "networkProfile", "2021-10-01", "missing"),
        ("containerinstance:ContainerGroup.properties", "priority", "2021-10-01", "missing"),
        ("containerservice:ManagedClusterAgentPoolProfile", "gpuProfile", "2025-03-01", "there"),
        ("containerservice:ManagedClusterAgentPoolProfile", "gpuProfile", "2024-09-01", "missing"),
        ("containerservice:ManagedClusterAgentPoolProfile", "gpuProfile", "2023-09-02-preview", "there"),
        ("containerservice:ManagedClusterAgentPoolProfile", "enableCustomCATrust", "2025-09-01", "missing"),
        ("containerservice:ManagedClusterAgentPoolProfile", "count", "2020-09-01", "unknown"),
    ],
)
def test_members_come_and_go_with_versions(name: str, member: str, version: str, found: str) -> None:
    assert presence(name, member, version) == found
