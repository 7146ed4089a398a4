"""A workspace of Azure Machine Learning on an embedded server, with all that it depends on, for tests of what lies in it."""

import uuid
from typing import Any

import httpx

from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure

ML = "2025-12-01"
VAULTS = "2024-11-01"
INSIGHTS = "2020-02-02"
STORAGE = "2024-01-01"
IDENTITIES = "2023-01-31"
REGION = "westeurope"
T4 = "Standard_NC4as_T4_v3"


def new_name(prefix: str = "t") -> str:
    return f"{prefix}{uuid.uuid4().hex[:12]}"


def done(azure: EmbeddedAzure, answer: httpx.Response) -> dict[str, Any]:
    """The resource that a PUT made, once its operation has succeeded."""
    assert answer.is_success, answer.text
    if "azure-asyncoperation" in answer.headers or answer.status_code == 202:
        ended = azure.finished(answer)
        assert ended["status"] == "Succeeded", ended
    version = answer.request.url.params["api-version"]
    return azure.get(answer.request.url.path, version).json()


def refused(answer: httpx.Response) -> tuple[int, str, str]:
    """Status, code and message of a refusal."""
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["message"]


def vault_body(azure: EmbeddedAzure, **properties: Any) -> dict[str, Any]:
    given = {"tenantId": azure.tenant_id, "sku": {"family": "A", "name": "standard"}, "enableRbacAuthorization": True}
    return {"location": REGION, "properties": {**given, **properties}}


def put_vault(azure: EmbeddedAzure, group: str, name: str = "", **properties: Any) -> str:
    path = f"{group}/providers/Microsoft.KeyVault/vaults/{name or new_name('kv')}"
    return done(azure, azure.put(path, vault_body(azure, **properties), VAULTS))["id"]


def put_insights(azure: EmbeddedAzure, group: str) -> str:
    path = f"{group}/providers/Microsoft.Insights/components/{new_name('ai')}"
    body = {"location": REGION, "kind": "web", "properties": {"Application_Type": "web"}}
    return done(azure, azure.put(path, body, INSIGHTS))["id"]


def put_storage(azure: EmbeddedAzure, group: str, name: str = "", **properties: Any) -> str:
    path = f"{group}/providers/Microsoft.Storage/storageAccounts/{name or new_name('st')}"
    body = {"location": REGION, "kind": "StorageV2", "sku": {"name": "Standard_LRS"}, "properties": properties}
    return done(azure, azure.put(path, body, STORAGE))["id"]


def put_identity(azure: EmbeddedAzure, group: str) -> dict[str, Any]:
    path = f"{group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{new_name('id')}"
    return done(azure, azure.put(path, {"location": REGION}, IDENTITIES))


def workspace_body(azure: EmbeddedAzure, group: str, **properties: Any) -> dict[str, Any]:
    """A body, with what it depends on made."""
    given = {
        "storageAccount": put_storage(azure, group),
        "keyVault": put_vault(azure, group),
        "applicationInsights": put_insights(azure, group),
        "systemDatastoresAuthMode": "Identity",
    }
    return {"location": REGION, "identity": {"type": "SystemAssigned"}, "properties": {**given, **properties}}


def put_workspace(azure: EmbeddedAzure, group: str, name: str = "", **properties: Any) -> str:
    path = f"{group}/providers/Microsoft.MachineLearningServices/workspaces/{name or new_name('ml')}"
    return done(azure, azure.put(path, workspace_body(azure, group, **properties), ML))["id"]


def give_role(azure: EmbeddedAzure, scope: str, role: str, principal: str) -> None:
    definition = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/{role}"
    path = f"{scope}/providers/Microsoft.Authorization/roleAssignments/{uuid.uuid4()}"
    body = {"properties": {"roleDefinitionId": definition, "principalId": principal, "principalType": "ServicePrincipal"}}
    assert azure.put(path, body, "2022-04-01").status_code == 201


def cluster_body(size: str = T4, **inner: Any) -> dict[str, Any]:
    """A compute cluster that has no node until it needs one."""
    settings = {"vmSize": size, "scaleSettings": {"minNodeCount": 0, "maxNodeCount": 1}, **inner}
    return {"location": REGION, "properties": {"computeType": "AmlCompute", "properties": settings}}


def upload(azure: EmbeddedAzure, account: str, container: str, blob: str, content: bytes = b"x") -> None:
    """A blob, written by the account's key holder's token. The container is made where it isn't there."""
    headers = {"authorization": f"Bearer {azure.token('https://storage.azure.com/.default')}", "x-ms-version": "2023-11-03"}
    with azure.http(headers=headers) as client:
        made = client.put(f"/blob/{account}/{container}", params={"restype": "container"})
        assert made.status_code in (201, 409), made.text
        sent = client.put(f"/blob/{account}/{container}/{blob}", content=content, headers={"x-ms-blob-type": "BlockBlob"})
        assert sent.status_code == 201, sent.text
