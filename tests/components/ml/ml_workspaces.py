"""Workspaces for tests, with the clusters and virtual machines that they attach, none of which is declared."""

from typing import Any

from azure_gpu.shared.attachable import ClusterOfWorkspace, VmOfWorkspace

T4 = "Standard_NC4as_T4_v3"
END = "2026-12-31"
CLUSTERS: dict[str, ClusterOfWorkspace] = {
    "shared": {
        "id": "/id/of/shared",
        "name": "shared-in-azure",
        "resource_group_name": "group",
        "path": "clusters.shared",
        "existing": False,
        "namespace": "gpu-jobs",
        "local_accounts": True,
        "open_to_everybody": True,
        "nodes": 3,
        "vcpus": 12,
        "gpus": {"t4": 1},
        "taints": {"t4": ["ml.azure.com/amlarc=true:NoSchedule"]},
    }
}
VMS: dict[str, VmOfWorkspace] = {
    "workshop": {
        "id": "/id/of/workshop",
        "address": "10.0.0.4",
        "size": T4,
        "location": "westeurope",
        "os_type": "Linux",
        "ubuntu": True,
        "admin_user": "gpu",
        "open_to_service": True,
    }
}
CUDA = "mcr.microsoft.com/azureml/openmpi5.0-cuda12.4-ubuntu22.04"
ZONES = [
    f"/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/privateDnsZones/{zone}"
    for zone in ("privatelink.api.azureml.ms", "privatelink.notebooks.azure.net")
]
EVERYTHING: dict[str, Any] = {
    "network": "private",
    "private_endpoint": {"subnet_id": "/id/of/subnet", "private_dns_zones": ZONES},
    "managed_network": "approved_outbound",
    "outbound_rules": {
        "packages": {"fqdn": "pypi.org"},
        "monitor": {"service_tag": "AzureMonitor", "ports": "443, 8080-8089"},
        "data": {"resource_id": "/id/of/storage", "subresource": "blob"},
    },
    "firewall": "standard",
    "key_vault": {"purge_protection": False, "retention_days": 30},
    "high_business_impact": True,
    "friendly_name": "vision",
    "description": "for tests",
    "computes": {
        "t4": {
            "size": T4,
            "min_nodes": 1,
            "max_nodes": 3,
            "idle_minutes": 10,
            "description": "training",
            "tags": {"cost": "42"},
            "expires_after": END,
        },
        "shared": {
            "cluster": "shared",
            "instance_types": {
                "gpu": {"cpu": "2", "memory": "8Gi", "gpus": 1, "node_selector": {"azure-gpu/pool": "t4"}},
                "small": {},
            },
            "default_instance_type": "small",
            "extension": {"host_name": "ml.example.com", "certificate": "certificate", "key": "key-of-certificate"},
        },
        "workshop": {"vm": "workshop", "private_key": "key-of-machine"},
    },
    "models": {
        "mnist-1": {"model_name": "mnist", "version": "1", "path": "mnist/1"},
        "mnist-2": {"model_name": "mnist", "version": "2", "path": "mnist/2", "type": "mlflow", "tags": {"better": "yes"}},
        "theirs": {"version": "1", "uri": "https://theirs.blob.core.windows.net/models/resnet"},
    },
    "environments": {
        "scoring": {"workload": "scoring"},
        "train": {"version": "3", "image": CUDA, "conda_file": "workloads/scoring/conda.yml"},
        "triton": {"version": "1", "image": "nvcr.io/nvidia/tritonserver:24.12-py3", "routes": {"port": 8000, "scoring": "/"}},
    },
    "code": {"answers": {"version": "1", "uri": "https://theirs.blob.core.windows.net/code/answers"}},
    "tags": {"of": "workspace"},
}
