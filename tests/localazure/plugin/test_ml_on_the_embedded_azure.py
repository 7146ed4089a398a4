"""Azure Machine Learning's resources as the engine sees them: made, read again, changed, taken away."""

from collections.abc import Callable
from typing import Any

import pytest

from localazure.plugin.wire import from_struct
from tests.localazure.plugin.conftest import Engine, live
from tests.support.embedded import EmbeddedAzure
from tests.support.ml_resources import T4, put_insights, put_storage, put_vault, put_workspace

_ML = "azure-native:machinelearningservices"
WORKSPACE, COMPUTE, MODEL, ENVIRONMENT = f"{_ML}:Workspace", f"{_ML}:Compute", f"{_ML}:ModelVersion", f"{_ML}:EnvironmentVersion"
DATASTORE = f"{_ML}:Datastore"
VAULT = "azure-native:keyvault:Vault"
INSIGHTS = "azure-native:applicationinsights:Component"
DEPLOYMENT = "azure-native:resources:Deployment"
CLUSTER = {"computeType": "AmlCompute", "properties": {"vmSize": T4, "scaleSettings": {"minNodeCount": 0, "maxNodeCount": 2}}}


Made = Callable[[EmbeddedAzure, str], tuple[dict[str, Any], dict[str, Any]]]


def vault(azure: EmbeddedAzure, group: str) -> tuple[dict[str, Any], dict[str, Any]]:
    properties = {"tenantId": azure.tenant_id, "sku": {"family": "A", "name": "standard"}, "enableRbacAuthorization": True}
    return {"properties": properties, "vaultName": f"v{group[-10:]}"}, {
        "properties": {**properties, "enabledForDeployment": True}
    }


def insights(azure: EmbeddedAzure, group: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"kind": "web", "applicationType": "web", "retentionInDays": 30}, {"retentionInDays": 60}


def workspace(azure: EmbeddedAzure, group: str) -> tuple[dict[str, Any], dict[str, Any]]:
    inputs = {
        "identity": {"type": "SystemAssigned"},
        "storageAccount": put_storage(azure, group),
        "keyVault": put_vault(azure, group),
        "applicationInsights": put_insights(azure, group),
        "systemDatastoresAuthMode": "Identity",
        "managedNetwork": {"isolationMode": "AllowInternetOutbound", "outboundRules": {"x": _RULE}},
    }
    return inputs, {"description": "of the team", "tags": {"team": "b"}}


_RULE = {"type": "ServiceTag", "destination": {"serviceTag": "Storage", "protocol": "TCP", "portRanges": "443"}}


def compute(azure: EmbeddedAzure, group: str) -> tuple[dict[str, Any], dict[str, Any]]:
    name = put_workspace(azure, group).rsplit("/", 1)[1]
    wider = {**CLUSTER, "properties": {**CLUSTER["properties"], "scaleSettings": {"minNodeCount": 0, "maxNodeCount": 4}}}
    return {"workspaceName": name, "computeName": "gpu", "properties": CLUSTER}, {"properties": wider}


def model(azure: EmbeddedAzure, group: str) -> tuple[dict[str, Any], dict[str, Any]]:
    found = put_workspace(azure, group)
    account = found_account(azure, found)
    properties = {"modelUri": f"https://{account}.blob.core.windows.net/models/mnist", "modelType": "custom_model"}
    inputs = {"workspaceName": found.rsplit("/", 1)[1], "name": "mnist", "version": "1", "properties": properties}
    return inputs, {"properties": {**properties, "tags": {"a": "b"}}}


def environment(azure: EmbeddedAzure, group: str) -> tuple[dict[str, Any], dict[str, Any]]:
    name = put_workspace(azure, group).rsplit("/", 1)[1]
    routes = {kind: {"path": "/", "port": 5001} for kind in ("livenessRoute", "readinessRoute", "scoringRoute")}
    properties = {"image": "mcr.microsoft.com/azureml/minimal:1", "inferenceConfig": routes, "osType": "Linux"}
    inputs = {"workspaceName": name, "name": "scoring", "version": "1", "properties": properties}
    return inputs, {"properties": {**properties, "description": "as it was"}}


def datastore(azure: EmbeddedAzure, group: str) -> tuple[dict[str, Any], dict[str, Any]]:
    found = put_workspace(azure, group)
    account = found_account(azure, found)
    storage = f"{group}/providers/Microsoft.Storage/storageAccounts/{account}"
    made = azure.put(f"{storage}/blobServices/default/containers/models", {"properties": {}}, "2024-01-01")
    assert made.status_code in (200, 201), made.text
    properties = {
        "datastoreType": "AzureBlob",
        "accountName": account,
        "containerName": "models",
        "credentials": {"credentialsType": "None"},
    }
    inputs = {"workspaceName": found.rsplit("/", 1)[1], "name": "models", "properties": properties}
    return inputs, {"properties": {**properties, "description": "of the stack"}}


def found_account(azure: EmbeddedAzure, workspace_id: str) -> str:
    return azure.get(workspace_id, "2025-12-01").json()["properties"]["storageAccount"].rsplit("/", 1)[1]


CASES: list[tuple[str, Made]] = [
    (VAULT, vault),
    (INSIGHTS, insights),
    (WORKSPACE, workspace),
    (COMPUTE, compute),
    (MODEL, model),
    (ENVIRONMENT, environment),
    (DATASTORE, datastore),
]


@pytest.mark.parametrize(("token", "made"), CASES, ids=[case[0] for case in CASES])
def test_a_resource_of_machine_learning_lives_without_false_differences(
    engine: Engine, azure: EmbeddedAzure, group: str, token: str, made: Made
) -> None:
    inputs, edit = made(azure, group)
    live(engine, token, {**inputs, "resourceGroupName": group.rsplit("/", 1)[1]}, edit)


def template(name: str, **properties: Any) -> dict[str, Any]:
    """One storage account, as a template."""
    return {
        "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
        "contentVersion": "1.0.0.0",
        "resources": [
            {
                "type": "Microsoft.Storage/storageAccounts",
                "apiVersion": "2024-01-01",
                "name": name,
                "location": "westeurope",
                "kind": "StorageV2",
                "sku": {"name": "Standard_LRS"},
                "properties": properties,
            }
        ],
    }


def test_a_template_deployment_is_a_resource_that_leaves_what_it_made(engine: Engine, azure: EmbeddedAzure, group: str) -> None:
    name = f"st{group[-12:].replace('-', '0')}"
    inputs = {
        "resourceGroupName": group.rsplit("/", 1)[1],
        "deploymentName": "traffic",
        "properties": {"mode": "Incremental", "template": template(name, allowBlobPublicAccess=False)},
    }
    edit = {"properties": {"mode": "Incremental", "template": template(name, allowBlobPublicAccess=True)}}
    checked, failures = engine.check(DEPLOYMENT, inputs, name="thing")
    assert failures == []
    created = engine.create(DEPLOYMENT, checked)
    outputs = from_struct(created.properties)
    assert outputs["properties"]["provisioningState"] == "Succeeded"
    assert "template" not in outputs["properties"], "it is never answered"
    read = engine.read(DEPLOYMENT, created.id, checked, outputs)
    assert from_struct(read.inputs) == checked, "a refresh finds no change"
    edited, _ = engine.check(DEPLOYMENT, edit | {key: inputs[key] for key in inputs if key not in edit}, olds=checked)
    found = engine.diff(DEPLOYMENT, checked, edited, outputs)
    assert list(found.detailedDiff) == ["properties.template.resources[0].properties.allowBlobPublicAccess"]
    assert not found.replaces
    engine.update(DEPLOYMENT, created.id, outputs, edited)
    account = f"{group}/providers/Microsoft.Storage/storageAccounts/{name}"
    assert azure.get(account, "2024-01-01").json()["properties"]["allowBlobPublicAccess"] is True
    engine.delete(DEPLOYMENT, created.id)
    assert engine.read(DEPLOYMENT, created.id).id == ""
    assert azure.get(account, "2024-01-01").status_code == 200
