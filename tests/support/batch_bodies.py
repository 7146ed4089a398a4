"""Bodies of Batch resources as the provider sends them, and what has to stand before them."""

import uuid
from typing import Any

from tests.support.embedded import EmbeddedAzure

API = "2024-07-01"  # the provider's; 2024-02-01 is az's, 2025-06-01 azure-mgmt-batch's
STORAGE_API = "2024-01-01"
IDENTITY_API = "2024-11-30"
T4 = "Standard_NC4as_T4_v3"
HPC = {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2204", "version": "latest"}
AGENT = "batch.node.ubuntu 22.04"
PENDING = "$TargetDedicatedNodes = min(2, max(0, $PendingTasks.GetSample(1)));\n$NodeDeallocationOption = taskcompletion;"


def new_name(prefix: str = "mnist") -> str:
    return f"{prefix}{uuid.uuid4().hex[:12]}"


def put_account(azure: EmbeddedAzure, group: str, name: str = "", **body: Any) -> dict[str, Any]:
    path = f"{group}/providers/Microsoft.Batch/batchAccounts/{name or new_name()}"
    answer = azure.put(path, {"location": "westeurope", **body}, API)
    assert answer.status_code in (200, 202), answer.text
    if answer.status_code == 202:
        assert azure.finished(answer)["status"] == "Succeeded"
    return azure.get(path, API).json()


def put_identity(azure: EmbeddedAzure, group: str, name: str = "jobs") -> dict[str, Any]:
    path = f"{group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{name}"
    answer = azure.put(path, {"location": "westeurope"}, IDENTITY_API)
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


def put_storage(azure: EmbeddedAzure, group: str, **properties: Any) -> dict[str, Any]:
    path = f"{group}/providers/Microsoft.Storage/storageAccounts/{new_name('st')}"
    body = {"location": "westeurope", "kind": "StorageV2", "sku": {"name": "Standard_LRS"}, "properties": properties}
    return azure.made(path, body, STORAGE_API)


def pool(machine: dict[str, Any] | None = None, **properties: Any) -> dict[str, Any]:
    """A pool that scales to zero on a T4."""
    configuration = {"imageReference": dict(HPC), "nodeAgentSkuId": AGENT, **(machine or {})}
    given = {
        "vmSize": T4,
        "deploymentConfiguration": {"virtualMachineConfiguration": configuration},
        "scaleSettings": {"autoScale": {"formula": PENDING, "evaluationInterval": "PT5M"}},
        **properties,
    }
    return {"properties": {name: value for name, value in given.items() if value is not None}}


def fixed(dedicated: int, spot: int = 0, **more: Any) -> dict[str, Any]:
    return {"fixedScale": {"targetDedicatedNodes": dedicated, "targetLowPriorityNodes": spot, **more}}


def details(answer: Any) -> dict[str, str]:
    """The details of a refusal of Batch, by name; of several the first."""
    found: dict[str, str] = {}
    for each in answer.json()["error"]["details"]:
        found.setdefault(each["code"], each["message"])
    return found
