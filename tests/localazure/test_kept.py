"""What has no effect here is kept and shown as it was sent; of clusters and pools, see `cluster_lives.yaml`."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from localazure.arm.kind import merged
from tests.support.managed_clusters import CLUSTER, GROUP, ArmHarness, cluster

LOGS = [{"category": "kube-apiserver", "enabled": True, "retentionPolicy": {"enabled": False, "days": 0}}]
SUBNET = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/net/subnets/apps"


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArmHarness]:
    found = ArmHarness(tmp_path_factory.mktemp("arm"))
    found.succeeded(found.put(CLUSTER, cluster()))
    yield found
    found.close()


def somewhere(**properties: Any) -> dict[str, Any]:
    return {"location": "westeurope", "properties": properties}


def of_another(**properties: Any) -> dict[str, Any]:
    return {"properties": properties}


def shown(arm: ArmHarness, path: str, body: dict[str, Any], version: str) -> dict[str, Any]:
    answer = arm.put(path, body, version)
    assert answer.is_success, answer.text
    return arm.get(path, version).json()["properties"]


# Where a resource of each kind lies, its version, and its body.
KINDS: dict[str, tuple[str, str, Callable[..., dict[str, Any]]]] = {
    "setting": (f"{CLUSTER}/providers/Microsoft.Insights/diagnosticSettings", "2021-05-01-preview", of_another),
    "environment": (f"{GROUP}/providers/Microsoft.App/managedEnvironments", "2025-02-02-preview", somewhere),
    "account": (f"{GROUP}/providers/Microsoft.Batch/batchAccounts", "2024-07-01", somewhere),
    "gallery": (f"{GROUP}/providers/Microsoft.Compute/galleries", "2024-03-03", somewhere),
}


@pytest.mark.parametrize(
    ("kind", "name", "properties"),
    [
        ("setting", "logs", {"storageAccountId": f"{GROUP}/providers/Microsoft.Storage/storageAccounts/logs", "logs": LOGS}),
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
