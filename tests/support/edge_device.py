"""A cluster that is given by its kubeconfig, as a device at the edge is: one of the embedded Azure's, used by that alone."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure

_VERSION, _GROUPS = "2025-09-01", "2024-03-01"
_ONE = {"count": 1, "type": "VirtualMachineScaleSets"}
_AKS_ALONE = "CriticalAddonsOnly=true:NoSchedule"


@contextmanager
def device(azure: EmbeddedAzure, group_name: str) -> Iterator[str]:
    """Its administrator's kubeconfig. It has one node with GPUs, and nothing on it that serves them."""
    group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{group_name}"
    cluster = f"{group}/providers/Microsoft.ContainerService/managedClusters/device"
    azure.made(group, {"location": "eastus", "tags": {"as-of": "2026-11-21"}}, _GROUPS)
    body: dict[str, Any] = {
        "location": "eastus",
        "identity": {"type": "SystemAssigned"},
        "properties": {
            "dnsPrefix": "device",
            "agentPoolProfiles": [
                {**_ONE, "name": "system", "mode": "System", "vmSize": "Standard_D4s_v5", "nodeTaints": [_AKS_ALONE]},
                {**_ONE, "name": "t4", "mode": "User", "vmSize": "Standard_NC64as_T4_v3"},
            ],
        },
    }
    azure.made(cluster, body, _VERSION)
    answer = azure.post(f"{cluster}/listClusterAdminCredential", _VERSION).json()
    yield base64.b64decode(answer["kubeconfigs"][0]["value"]).decode()
    azure.finished(azure.delete(group, _GROUPS))
