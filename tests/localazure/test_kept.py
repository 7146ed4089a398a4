"""What has no effect here is kept and shown as it was sent."""

from collections.abc import Callable, Iterator
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


def somewhere(**properties: Any) -> dict[str, Any]:
    return {"location": "westeurope", "properties": properties}


def shown(arm: ArmHarness, path: str, body: dict[str, Any], version: str) -> dict[str, Any]:
    answer = arm.put(path, body, version)
    assert answer.is_success, answer.text
    return arm.get(path, version).json()["properties"]


# Where a resource of each kind lies, its version, and its body.
KINDS: dict[str, tuple[str, str, Callable[..., dict[str, Any]]]] = {
    "cluster": (f"{GROUP}/providers/Microsoft.ContainerService/managedClusters", "2025-09-01", cluster),
    "pool": (f"{CLUSTER}/agentPools", "2025-09-01", pool),
    "environment": (f"{GROUP}/providers/Microsoft.App/managedEnvironments", "2025-02-02-preview", somewhere),
    "account": (f"{GROUP}/providers/Microsoft.Batch/batchAccounts", "2024-07-01", somewhere),
    "gallery": (f"{GROUP}/providers/Microsoft.Compute/galleries", "2024-03-03", somewhere),
}


@pytest.mark.parametrize(
    ("kind", "name", "properties"),
    [
        ("cluster", "insights", {"addonProfiles": {"omsagent": {"enabled": True, "config": {"useAADAuth": "true"}}}}),
        ("cluster", "proxy", {"httpProxyConfig": {"httpProxy": "http://proxy.example:3128", "noProxy": ["localhost"]}}),
        ("cluster", "ingress", {"ingressProfile": {"webAppRouting": {"enabled": True}}}),
        ("cluster", "mesh", {"serviceMeshProfile": {"mode": "Istio", "istio": {"revisions": ["asm-1-27"]}}}),
        ("cluster", "keda", {"workloadAutoScalerProfile": {"keda": {"enabled": True}}}),
        ("cluster", "monitor", {"azureMonitorProfile": {"metrics": {"enabled": True}}}),
        ("cluster", "cleaner", {"securityProfile": {"imageCleaner": {"enabled": True, "intervalHours": 48}}}),
        ("pool", "kubelet", {"kubeletConfig": {"cpuManagerPolicy": "static", "containerLogMaxFiles": 5}}),
        ("pool", "linux", {"linuxOSConfig": {"sysctls": {"vmMaxMapCount": 262144}, "swapFileSizeMB": 1500}}),
        ("pool", "capacity", {"capacityReservationGroupID": f"{GROUP}/providers/Microsoft.Compute/capacityReservationGroups/c"}),
        ("pool", "host", {"hostGroupID": f"{GROUP}/providers/Microsoft.Compute/hostGroups/h"}),
        ("environment", "network", {"vnetConfiguration": {"infrastructureSubnetId": SUBNET, "internal": True}}),
        ("environment", "zones", {"zoneRedundant": True}),
        ("environment", "domain", {"customDomainConfiguration": {"dnsSuffix": "example.org"}}),
        (
            "account",
            "vault",
            {"keyVaultReference": {"id": f"{GROUP}/providers/Microsoft.KeyVault/vaults/v", "url": "https://v/"}},
        ),
        (
            "account",
            "encryption",
            {"encryption": {"keySource": "Microsoft.KeyVault", "keyVaultProperties": {"keyIdentifier": "https://v/keys/k"}}},
        ),
        ("gallery", "shared", {"sharingProfile": {"permissions": "Groups"}, "softDeletePolicy": {"isSoftDeleteEnabled": True}}),
    ],
    ids=str,
)
def test_what_has_no_effect(arm: ArmHarness, kind: str, name: str, properties: dict[str, Any]) -> None:
    folder, version, body = KINDS[kind]
    found = shown(arm, f"{folder}/{name}", body(**properties), version)
    assert merged(found, properties) == found


def test_of_an_environment_without_its_secrets(arm: ArmHarness) -> None:
    secret = {"appInsightsConfiguration": {"connectionString": "k1"}, "daprAIInstrumentationKey": "k2"}
    path = f"{GROUP}/providers/Microsoft.App/managedEnvironments/insights"
    found = shown(arm, path, {"location": "westeurope", "properties": secret}, "2025-02-02-preview")
    assert "k1" not in str(found)
    assert "k2" not in str(found)


def test_a_diagnostic_setting_goes_to_a_storage_account_or_nowhere(arm: ArmHarness) -> None:
    path = f"{CLUSTER}/providers/Microsoft.Insights/diagnosticSettings"
    logs = [{"category": "kube-apiserver", "enabled": True}]
    sink = {"storageAccountId": f"{GROUP}/providers/Microsoft.Storage/storageAccounts/logs"}
    assert shown(arm, f"{path}/one", {"properties": {**sink, "logs": logs}}, "2021-05-01-preview")["logs"][0]["enabled"] is True
    same = refusal(arm.put(f"{path}/two", {"properties": {**sink, "logs": logs}}, "2021-05-01-preview"))
    assert same[:2] == (409, "Conflict")
    assert "storageAccounts/logs' is already used" in same[2]
    assert refusal(arm.put(f"{path}/none", {"properties": {"logs": logs}}, "2021-05-01-preview"))[:2] == (400, "BadRequest")
