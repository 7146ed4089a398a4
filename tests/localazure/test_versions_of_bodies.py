"""Bodies at the version that they are sent in: what it lacks, what only another one has, and what no version has."""

from collections.abc import Iterator

import pytest

from localazure.shapes.versions import presence
from tests.support.managed_clusters import CLUSTER, GROUP, ArmHarness, cluster
from tests.support.tables import of_table

LOGS = f"{GROUP}/providers/Microsoft.OperationalInsights/workspaces"
REGISTRY = f"{GROUP}/providers/Microsoft.ContainerRegistry/registries/newer"


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


def test_an_early_version_of_aks_reads_past_what_came_later_and_does_not_require_it(arm: ArmHarness) -> None:
    mesh = {"mode": "Istio", "istio": {"components": {"egressGateways": [{"enabled": True}]}}}  # which have names since 2025
    body = cluster(bogus=1, aiToolchainOperatorProfile={"enabled": True}, serviceMeshProfile=mesh)
    arm.succeeded(arm.put(CLUSTER.replace("/gpu", "/early"), body, "2023-10-01"))
    found = arm.get(CLUSTER.replace("/gpu", "/early")).json()["properties"]
    assert "bogus" not in found
    assert "aiToolchainOperatorProfile" not in found
    assert found["serviceMeshProfile"]["istio"]["components"] == mesh["istio"]["components"]


def test_a_patch_at_an_early_version_leaves_what_came_later(arm: ArmHarness) -> None:
    path = CLUSTER.replace("/gpu", "/patched")
    arm.succeeded(arm.put(path, cluster(aiToolchainOperatorProfile={"enabled": True})))
    assert arm.request("PATCH", path, {"tags": {"a": "b"}}, "2024-02-01").status_code == 200
    assert arm.get(path).json()["properties"]["aiToolchainOperatorProfile"] == {"enabled": True}
    assert "aiToolchainOperatorProfile" not in arm.get(path, "2024-02-01").json()["properties"]


@of_table("name", "member", "version", "found")
def test_members_come_and_go_with_versions(name: str, member: str, version: str, found: str) -> None:
    assert presence(name, member, version) == found
