"""Azure Machine Learning on a cluster of AKS: the extension by its rules, and the cluster attached to a workspace.

With clusters that are only written down: what is asked here is ARM's.
"""

from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from localazure.kinds import ml_computes
from tests.support.managed_clusters import CLUSTER, GROUP, SYSTEM, ArmHarness, cluster, refusal
from tests.support.ml_resources import INSIGHTS, ML, REGION, STORAGE, VAULTS

EXTENSION = f"{CLUSTER}/providers/Microsoft.KubernetesConfiguration/extensions/azureml"
EXTENSIONS = "2023-05-01"
WORKSPACE = f"{GROUP}/providers/Microsoft.MachineLearningServices/workspaces/team"
COMPUTE = f"{WORKSPACE}/computes/shared"
SETTINGS = {
    "enableInference": "True",
    "enableTraining": "True",
    "inferenceRouterServiceType": "loadBalancer",
    "allowInsecureConnections": "True",
}
THREE = [{**SYSTEM, "count": 3}]
GPU = {"nodeSelector": {"accelerator": "nvidia"}, "resources": {"requests": {"cpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}}


class NoBlobs:
    """Stands for blob storage, of which nothing is asked here."""

    def endpoint(self, account: str) -> str:
        return f"https://localhost:1/blob/{account}/"

    async def drop_account(self, account: str) -> None: ...

    async def ensure_container(self, account: str, container: str) -> None: ...


def extension(**changed: Any) -> dict[str, Any]:
    given = {"extensionType": "Microsoft.AzureML.Kubernetes", "configurationSettings": SETTINGS, **changed}
    return {"properties": {name: value for name, value in given.items() if value is not None}}


def attached(**inner: Any) -> dict[str, Any]:
    return {"location": REGION, "properties": {"computeType": "Kubernetes", "resourceId": CLUSTER, "properties": inner}}


@pytest.fixture
def arm(tmp_path: Path) -> Iterator[ArmHarness]:
    found = ArmHarness(tmp_path, blobs=NoBlobs())
    found.succeeded(found.put(CLUSTER, cluster(agentPoolProfiles=THREE)))
    yield found
    found.close()


@pytest.fixture
def workspace(arm: ArmHarness) -> str:
    storage = f"{GROUP}/providers/Microsoft.Storage/storageAccounts/team"
    vault = f"{GROUP}/providers/Microsoft.KeyVault/vaults/team"
    insights = f"{GROUP}/providers/Microsoft.Insights/components/team"
    tenant = arm.services.settings.tenant_id
    secure = {"tenantId": tenant, "sku": {"family": "A", "name": "standard"}, "enableRbacAuthorization": True}
    for path, body, version in (
        (storage, {"kind": "StorageV2", "sku": {"name": "Standard_LRS"}}, STORAGE),
        (vault, {"properties": secure}, VAULTS),
        (insights, {"kind": "web", "properties": {"Application_Type": "web"}}, INSIGHTS),
    ):
        answer = arm.put(path, {"location": REGION, **body}, version)
        assert answer.is_success
        if answer.status_code == HTTPStatus.ACCEPTED:
            arm.succeeded(answer)
    depends = {"storageAccount": storage, "keyVault": vault, "applicationInsights": insights}
    body = {"location": REGION, "identity": {"type": "SystemAssigned"}, "properties": depends}
    arm.succeeded(arm.put(WORKSPACE, body, ML))
    return WORKSPACE


@pytest.fixture
def installed(arm: ArmHarness) -> ArmHarness:
    arm.succeeded(arm.put(EXTENSION, extension(), EXTENSIONS))
    return arm


def test_the_extension_is_there_with_its_settings_and_without_what_is_protected(arm: ArmHarness) -> None:
    secure = {name: value for name, value in SETTINGS.items() if name != "allowInsecureConnections"} | {
        "sslCname": "gpu.example.org"
    }
    protected = {"sslCertPemFile": "CERTIFICATE", "sslKeyPemFile": "KEY"}
    arm.succeeded(
        arm.put(EXTENSION, extension(configurationSettings=secure, configurationProtectedSettings=protected), EXTENSIONS)
    )
    answer = arm.get(EXTENSION, EXTENSIONS)
    found = answer.json()["properties"]
    assert (found["provisioningState"], found["scope"]) == ("Succeeded", {"cluster": {"releaseNamespace": "azureml"}})
    assert found["configurationSettings"] == secure
    assert found["configurationProtectedSettings"] == {"sslCertPemFile": "", "sslKeyPemFile": ""}
    assert "KEY" not in answer.text.replace("sslKeyPemFile", "")
    listed = arm.get(EXTENSION.rsplit("/", 1)[0], EXTENSIONS).json()["value"]
    assert [each["name"] for each in listed] == ["azureml"]


def test_a_cluster_is_attached_with_its_instance_types(installed: ArmHarness, workspace: str) -> None:
    arm = installed
    arm.succeeded(arm.put(COMPUTE, attached(namespace="ml", instanceTypes={"gpu": GPU}, defaultInstanceType="gpu"), ML))
    found = arm.get(COMPUTE, ML).json()["properties"]
    assert (found["isAttachedCompute"], found["resourceId"]) == (True, CLUSTER)
    inner = found["properties"]
    assert (inner["namespace"], inner["defaultInstanceType"]) == ("ml", "gpu")
    assert inner["instanceTypes"]["gpu"] == GPU
    assert set(inner["instanceTypes"]) == {"gpu", "defaultinstancetype"}
    stored = arm.store.get(COMPUTE)
    assert stored is not None
    of = ml_computes.cluster_of(stored, arm.services)
    assert of is not None
    assert of.id.text == CLUSTER
    arm.succeeded(arm.delete(COMPUTE, ML))
    assert arm.get(CLUSTER).status_code == 200, "the cluster stays"


def test_a_cluster_takes_its_extension_along(installed: ArmHarness) -> None:
    installed.succeeded(installed.delete(CLUSTER))
    assert refusal(installed.get(EXTENSION, EXTENSIONS))[0] == 404
