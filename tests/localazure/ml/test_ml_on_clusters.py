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


@pytest.mark.parametrize(
    ("changed", "status", "message"),
    [
        ({"configurationSettings": {}}, 400, "Neither enableTraining nor enableInference is True"),
        (
            {"configurationSettings": {**SETTINGS, "inferenceRouterServiceType": "ingress"}},
            400,
            "takes loadBalancer, nodePort, clusterIP",
        ),
        ({"configurationSettings": {**SETTINGS, "allowInsecureConnections": "False"}}, 400, "the name in the certificate"),
        ({"scope": {"namespace": {"targetNamespace": "x"}}}, 400, "for a whole cluster"),
    ],
    ids=["nothing", "router", "certificate", "scope"],
)
def test_wrong_settings_are_refused(arm: ArmHarness, changed: dict[str, Any], status: int, message: str) -> None:
    found = refusal(arm.put(EXTENSION, extension(**changed), EXTENSIONS))
    assert found[0] == status
    assert message in found[2]


def test_other_extensions_are_kept_and_have_the_identity_of_aks(arm: ArmHarness) -> None:
    """Test_KubernetesConfiguration_Extension_20230501_CRUD (2026-03-20)."""
    flux = {"extensionType": "microsoft.flux", "scope": {"cluster": {"releaseNamespace": "kube-system"}}}
    path = EXTENSION.replace("azureml", "flux")
    answer = arm.put(path, {"identity": {"type": "SystemAssigned"}, "properties": flux}, EXTENSIONS)
    assert answer.status_code == 201
    assert {"azure-asyncoperation", "location"} <= set(answer.headers)
    assert answer.json()["properties"].get("currentVersion") is None
    arm.succeeded(answer)
    found = arm.get(path, EXTENSIONS).json()
    assert "identity" not in found
    assert found["properties"]["currentVersion"] == "1.19.5"
    assert found["properties"]["releaseTrain"] == "Stable"
    assert found["properties"]["aksAssignedIdentity"]["principalId"]
    assert found["systemData"]["createdBy"] is None


def test_a_highly_available_router_needs_three_nodes(arm: ArmHarness) -> None:
    small = CLUSTER.replace("/gpu", "/small")
    arm.succeeded(arm.put(small, cluster(dnsPrefix="small")))
    path = f"{small}/providers/Microsoft.KubernetesConfiguration/extensions/azureml"
    assert "needs 3 nodes, and the cluster has 1" in refusal(arm.put(path, extension(), EXTENSIONS))[2]
    single = {**SETTINGS, "inferenceRouterHA": "False"}
    arm.succeeded(arm.put(path, extension(configurationSettings=single), EXTENSIONS))
    assert refusal(arm.put(path.replace("azureml", "second"), extension(configurationSettings=single), EXTENSIONS))[0] == 409


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
    assert refusal(arm.put(COMPUTE, attached(namespace="other"), ML))[2] == (
        "'namespace' of a compute can't be changed once it is created."
    )
    arm.succeeded(arm.delete(COMPUTE, ML))
    assert arm.get(CLUSTER).status_code == 200, "the cluster stays"


@pytest.mark.parametrize(
    ("inner", "message"),
    [
        ({"instanceTypes": {"gpu": {"resources": {"requests": {"nvidia.com/gpu": "1"}}}}}, "under limits only"),
        ({"instanceTypes": {"gpu": {"resources": {"limits": {"nvidia.com/gpu": "half"}}}}}, "no number of GPUs"),
        ({"defaultInstanceType": "none"}, "'none' is none of the compute's instance types"),
    ],
    ids=["requests", "share", "default"],
)
def test_wrong_instance_types_are_refused(installed: ArmHarness, workspace: str, inner: dict[str, Any], message: str) -> None:
    found = refusal(installed.put(COMPUTE, attached(**inner), ML))
    assert found[:2] == (400, "BadRequest")
    assert message in found[2]


def test_a_cluster_without_the_extension_is_not_attached(arm: ArmHarness, workspace: str) -> None:
    assert refusal(arm.put(COMPUTE, attached(), ML))[2] == (
        "The extension Microsoft.AzureML.Kubernetes isn't installed on the cluster 'gpu'."
    )
    nowhere = {**attached()["properties"], "resourceId": f"{CLUSTER}x"}
    assert "was not found" in refusal(arm.put(COMPUTE, {"location": REGION, "properties": nowhere}, ML))[2]


def test_a_cluster_takes_its_extension_along(installed: ArmHarness) -> None:
    installed.succeeded(installed.delete(CLUSTER))
    assert refusal(installed.get(EXTENSION, EXTENSIONS))[0] == 404
