"""What has no effect here is kept and shown as it was sent."""

from collections.abc import Iterator
from typing import Any

import pytest

from localazure.arm.kind import merged
from tests.support.managed_clusters import CLUSTER, GROUP, ArmHarness, cluster, pool, refusal

SUBNET = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/net/subnets/apps"


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArmHarness]:
    found = ArmHarness(tmp_path_factory.mktemp("arm"))
    found.succeeded(found.put(CLUSTER, cluster()))
    yield found
    found.close()


def shown(arm: ArmHarness, path: str, body: dict[str, Any], version: str) -> dict[str, Any]:
    answer = arm.put(path, body, version)
    assert answer.is_success, answer.text
    return arm.get(path, version).json()["properties"]


@pytest.mark.parametrize(
    "properties",
    [
        {"addonProfiles": {"omsagent": {"enabled": True, "config": {"useAADAuth": "true"}}}},
        {"httpProxyConfig": {"httpProxy": "http://proxy.example:3128", "noProxy": ["localhost"]}},
        {"ingressProfile": {"webAppRouting": {"enabled": True}}},
        {"serviceMeshProfile": {"mode": "Istio", "istio": {"revisions": ["asm-1-27"]}}},
        {"workloadAutoScalerProfile": {"keda": {"enabled": True}}},
        {"azureMonitorProfile": {"metrics": {"enabled": True}}},
        {"securityProfile": {"imageCleaner": {"enabled": True, "intervalHours": 48}}},
    ],
    ids=lambda each: next(iter(each)),
)
def test_of_a_cluster(arm: ArmHarness, properties: dict[str, Any]) -> None:
    path = CLUSTER.replace("/gpu", f"/{next(iter(properties)).lower()}")
    found = shown(arm, path, cluster(**properties), "2025-09-01")
    assert merged(found, properties) == found


@pytest.mark.parametrize(
    ("name", "properties"),
    [
        ("kubelet", {"kubeletConfig": {"cpuManagerPolicy": "static", "containerLogMaxFiles": 5}}),
        ("linux", {"linuxOSConfig": {"sysctls": {"vmMaxMapCount": 262144}, "swapFileSizeMB": 1500}}),
        ("capacity", {"capacityReservationGroupID": f"{GROUP}/providers/Microsoft.Compute/capacityReservationGroups/c"}),
        ("host", {"hostGroupID": f"{GROUP}/providers/Microsoft.Compute/hostGroups/h"}),
    ],
)
def test_of_a_pool(arm: ArmHarness, name: str, properties: dict[str, Any]) -> None:
    found = shown(arm, f"{CLUSTER}/agentPools/{name}", pool(**properties), "2025-09-01")
    assert merged(found, properties) == found


@pytest.mark.parametrize(
    "properties",
    [
        {"vnetConfiguration": {"infrastructureSubnetId": SUBNET, "internal": True}},
        {"zoneRedundant": True},
        {"customDomainConfiguration": {"dnsSuffix": "example.org"}},
    ],
    ids=lambda each: next(iter(each)),
)
def test_of_an_environment(arm: ArmHarness, properties: dict[str, Any]) -> None:
    path = f"{GROUP}/providers/Microsoft.App/managedEnvironments/{next(iter(properties)).lower()}"
    found = shown(arm, path, {"location": "westeurope", "properties": properties}, "2025-02-02-preview")
    assert merged(found, properties) == found


def test_of_an_environment_without_its_secrets(arm: ArmHarness) -> None:
    secret = {"appInsightsConfiguration": {"connectionString": "k1"}, "daprAIInstrumentationKey": "k2"}
    path = f"{GROUP}/providers/Microsoft.App/managedEnvironments/insights"
    found = shown(arm, path, {"location": "westeurope", "properties": secret}, "2025-02-02-preview")
    assert "k1" not in str(found)
    assert "k2" not in str(found)


@pytest.mark.parametrize(
    "properties",
    [
        {"keyVaultReference": {"id": f"{GROUP}/providers/Microsoft.KeyVault/vaults/v", "url": "https://v.vault.azure.net/"}},
        {"encryption": {"keySource": "Microsoft.KeyVault", "keyVaultProperties": {"keyIdentifier": "https://v/keys/k"}}},
    ],
    ids=lambda each: next(iter(each)),
)
def test_of_a_batch_account(arm: ArmHarness, properties: dict[str, Any]) -> None:
    path = f"{GROUP}/providers/Microsoft.Batch/batchAccounts/{next(iter(properties)).lower()}"
    found = shown(arm, path, {"location": "westeurope", "properties": properties}, "2024-07-01")
    assert merged(found, properties) == found


def test_of_a_gallery(arm: ArmHarness) -> None:
    properties = {"sharingProfile": {"permissions": "Groups"}, "softDeletePolicy": {"isSoftDeleteEnabled": True}}
    path = f"{GROUP}/providers/Microsoft.Compute/galleries/shared"
    found = shown(arm, path, {"location": "westeurope", "properties": properties}, "2024-03-03")
    assert merged(found, properties) == found


def test_a_diagnostic_setting_goes_to_a_storage_account_or_nowhere(arm: ArmHarness) -> None:
    path = f"{CLUSTER}/providers/Microsoft.Insights/diagnosticSettings"
    logs = [{"category": "kube-apiserver", "enabled": True}]
    sink = {"storageAccountId": f"{GROUP}/providers/Microsoft.Storage/storageAccounts/logs"}
    assert shown(arm, f"{path}/one", {"properties": {**sink, "logs": logs}}, "2021-05-01-preview")["logs"][0]["enabled"] is True
    same = refusal(arm.put(f"{path}/two", {"properties": {**sink, "logs": logs}}, "2021-05-01-preview"))
    assert same[:2] == (409, "Conflict")
    assert "storageAccounts/logs' is already used" in same[2]
    assert refusal(arm.put(f"{path}/none", {"properties": {"logs": logs}}, "2021-05-01-preview"))[:2] == (400, "BadRequest")
