"""What the components declare, as ARM requests, against Microsoft's own types: the real provider would send what ARM takes."""

from typing import Any

import pytest

from azure_gpu.aks.args import GpuClusterWiring
from azure_gpu.aks.cluster import GpuCluster
from azure_gpu.batch.account.account import BatchAccount
from azure_gpu.batch.account.args import BatchAccountWiring
from azure_gpu.batch.pool.args import BatchPoolWiring
from azure_gpu.batch.pool.pool import BatchPool
from azure_gpu.budget.args import BudgetWiring
from azure_gpu.budget.budget import Budget
from azure_gpu.container_apps.environment.args import GpuModel, JobEnvironmentSettings
from azure_gpu.container_apps.environment.environment import JobEnvironment
from azure_gpu.container_apps.job.args import ServerlessGpuJobWiring
from azure_gpu.container_apps.job.job import ServerlessGpuJob
from azure_gpu.container_instances.args import ContainerGroupWiring
from azure_gpu.container_instances.group import ContainerGroup
from azure_gpu.formats import azure_types
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.foundation.foundation import Foundation
from azure_gpu.ml.workspace.args import MlWorkspaceWiring
from azure_gpu.ml.workspace.workspace import MlWorkspace
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.wired import Wired
from localazure.shapes import default_api_version, to_arm
from tests.components import recorded_bodies
from tests.components.foundation.test_foundation import EVERYTHING
from tests.components.ml import ml_workspaces
from tests.components.recording import SUBSCRIPTION, Registration, declare, plain
from tests.components.settings_of import STACK_ARGS, args_of
from tests.oracle.arm_types import WITHOUT_TYPES, arm_problems

GROUP: dict[str, Any] = {
    "command": ["python", "-c", "print(1)"],
    "environment": {"A": "1"},
    "secret_environment": {"B": "2"},
    "gpu": {"count": 1, "sku": "V100"},
    "as_of": "2019-06-01",
    "expires_after": "2019-06-30",
    "tags": {"cost": "42"},
}
CONTAINER: dict[str, Any] = {
    "image": "python:3.11",
    "ports": [80, 53],
    "mounts": {"scratch": {"path": "/scratch"}, "files": {"path": "/files", "read_only": True}},
    "liveness": {"command": ["check"], "initial_delay_seconds": 1, "period_seconds": 2, "failure_threshold": 3},
    "readiness": {"http": {"port": 80, "path": "/", "scheme": "https"}, "success_threshold": 1, "timeout_seconds": 5},
}
SEVERAL: dict[str, Any] = {
    "containers": {"web": CONTAINER, "sidecar": {"image": "python:3.11"}},
    "init_containers": {"set-up": {"image": "python:3.11", "secret_environment": {"B": "2"}, "command": ["true"]}},
    "volumes": {
        "scratch": {"empty_dir": True},
        "files": {"secret": {"key": "secret"}},
        "share": {"azure_file": {"share": "data", "account": "someonesdata", "key": "secret", "read_only": True}},
        "code": {"git_repo": {"repository": "https://github.com/someone/site", "directory": ".", "revision": "0123abc"}},
    },
    "network": "public",
    "ports": [{"port": 80}, {"port": 53, "protocol": "UDP"}],
    "dns_label": "front-end",
    "dns_label_scope": "Noreuse",
    "registries": [{"server": "ghcr.io", "username": "someone", "password": "secret"}],
    "zones": ["1"],
    "sku": "Dedicated",
    "priority": "Regular",
}
PRIVATE: dict[str, Any] = {
    "image": "python:3.11",
    "network": "private",
    "subnet_id": "/some/subnet",
    "ports": [{"port": 80}],
    "dns_config": {"name_servers": ["10.0.0.10"], "search_domains": "example.org", "options": "ndots:2"},
}
JOB: dict[str, Any] = {
    "workload": "vector_add",
    "command": ["python"],
    "args": ["-c", "print(1)"],
    "environment": {"A": "1"},
    "secret_environment": {"B": "2"},
    "memory_in_gib": 27.5,
    "as_of": "2026-11-21",
    "expires_after": "2026-12-31",
    "tags": {"cost": "42"},
}
EVENT: dict[str, Any] = {
    "rules": {
        "queue": {"type": "azure-queue", "metadata": {"queueName": "work"}, "use_identity": True},
        "bus": {"type": "azure-servicebus", "secrets": {"connection": "secret"}},
    },
    "polling_interval_seconds": 60,
    "min_executions": 1,
    "max_executions": 4,
}


BUDGET: dict[str, Any] = {
    "monthly_usd": 500,
    "emails": ["a@example.com"],
    "contact_roles": ["Owner"],
    "action_groups": [f"/subscriptions/{SUBSCRIPTION}/resourceGroups/a/providers/Microsoft.Insights/actionGroups/b"],
    "resource_groups": ["nodes"],
}
ACCOUNT: dict[str, Any] = {"applications": {"tool": {"default_version": "1"}}}
POOL: dict[str, Any] = {
    "size": "Standard_NC4as_T4_v3",
    "dedicated_nodes": 1,
    "spot_nodes": 1,
    "start_task": {
        "command": "/bin/true",
        "environment": {"A": "1"},
        "secret_environment": {"B": "2"},
        "resource_files": [
            {"url": "https://example.org/a", "path": "a", "mode": "0755"},
            {"container_url": "https://a.blob.core.windows.net/b", "prefix": "c", "use_identity": True},
            {"auto_storage_container": "files"},
        ],
    },
    "packages": {"tool": "1"},
    "containers": {"images": ["python:3.11"], "workloads": ["mnist"]},
    "mounts": {
        "blobs": {"azure_blob": {"container": "files", "account": "data", "options": "-o ro"}},
        "files": {
            "azure_file": {"url": "https://data.file.core.windows.net/s", "account": "data", "key": "secret", "options": "-o ro"}
        },
        "nfs": {"nfs": {"source": "a:/b", "options": "ro"}},
    },
    "subnet_id": "/subscriptions/a/resourceGroups/b/providers/Microsoft.Network/virtualNetworks/c/subnets/d",
    "public_addresses": False,
    "explicit_outbound": True,
    "metadata": {"a": "b"},
    "tags": {"cost": "42"},
    "as_of": "2026-11-21",
    "expires_after": "2026-12-31",
    "replace": "drain-first",
}
MPI_POOL: dict[str, Any] = {
    "size": "Standard_HB120rs_v3",
    "mpi": "hpcx",
    "autoscale": {"max_nodes": 2, "nodes_per_task": 2},
    "expires_after": "2026-12-31",
}


SUBNET = "/subscriptions/a/resourceGroups/b/providers/Microsoft.Network/virtualNetworks/c/subnets/d"
CLUSTER: dict[str, Any] = {
    "kubernetes_version": "1.35",
    "tier": "standard",
    "system_pool": {"nodes": 1, "max_nodes": 3, "zones": ["1", "2"], "max_surge": "33%", "dedicated": True},
    "gpu_pools": {
        "t4": {
            "size": "Standard_NC4as_T4_v3",
            "spot": {"max_price": 0.25, "eviction": "deallocate"},
            "labels": {"team": "vision"},
            "zones": ["1"],
            "os_disk_gb": 128,
            "max_pods": 50,
        },
        "mig": {
            "size": "Standard_NC24ads_A100_v4",
            "os_sku": "AzureLinux",
            "max_surge": "1",
            "drain_minutes": 60,
            "sharing": {"strategy": "mig", "profile": "MIG1g"},
        },
        "own": {"size": "Standard_NC4as_T4_v3", "driver": "none"},
    },
    "access": {"network": "restricted", "authorized_ranges": ["203.0.113.0/24"], "local_accounts": True},
    "subnet_id": SUBNET,
    "network_policy": "azure",
    "idle_minutes": 5,
    "maintenance": {"upgrades": "patch", "day": "Friday"},
    "as_of": "2026-11-21",
    "expires_after": "2026-12-31",
}
PRIVATE_CLUSTER: dict[str, Any] = {
    "long_term_support": True,
    "tier": "premium",
    "access": {"network": "private", "private_dns_zone": "none", "reachable": True},
    "subnet_id": SUBNET,
    "outbound": "userDefinedRouting",
    "expires_after": "2026-12-31",
}


@pytest.fixture(scope="module")
def declared() -> list[Registration]:
    """Every resource that the components can declare, with everything that it can hold."""

    def build() -> None:
        foundation = Foundation("foundation", Wired(EVERYTHING))
        stands_on: OfStack = {"stack": STACK_ARGS, **foundation.dependencies}
        Budget("budget", Wired(args_of(BudgetWiring, stands_on, BUDGET)))
        ContainerGroup("train", Wired(args_of(ContainerGroupWiring, GROUP, stands_on, {"workload": "mnist"})))
        ContainerGroup("several", Wired(args_of(ContainerGroupWiring, stands_on, SEVERAL)))
        ContainerGroup("in-a-network", Wired(args_of(ContainerGroupWiring, stands_on, PRIVATE)))
        environment: JobEnvironmentSettings = {"create": True, "location": "westeurope", "gpus": [GpuModel.T4]}
        runs_in = JobEnvironment("jobs", Wired({**stands_on, **environment})).dependencies
        job = args_of(ServerlessGpuJobWiring, stands_on, runs_in, JOB)
        ServerlessGpuJob("by-hand", Wired(job))
        ServerlessGpuJob("nightly", Wired({**job, "schedule": "0 2 * * *"}))
        ServerlessGpuJob("on-events", Wired(args_of(ServerlessGpuJobWiring, job, {"event": EVENT})))
        account = BatchAccount("batch", Wired(args_of(BatchAccountWiring, stands_on, ACCOUNT)))
        BatchPool("pool", Wired(args_of(BatchPoolWiring, stands_on, account.dependencies, POOL)))
        BatchPool("mpi", Wired(args_of(BatchPoolWiring, stands_on, account.dependencies, MPI_POOL)))
        GpuCluster("cluster", Wired(args_of(GpuClusterWiring, stands_on, CLUSTER)))
        GpuCluster("private", Wired(args_of(GpuClusterWiring, stands_on, PRIVATE_CLUSTER)))
        attachable = {"clusters": ml_workspaces.CLUSTERS, "vms": ml_workspaces.VMS}
        MlWorkspace("ml", Wired(args_of(MlWorkspaceWiring, stands_on, ml_workspaces.EVERYTHING, attachable)))

    return declare(build).registrations


# What the components don't declare: packages come with `operations package push`, jobs with `operations run`, the containers of
# versions with their first version, and task runs in the template of a deployment.
OF_OTHERS = (
    azure_types.TASK_RUN,
    azure_types.BATCH_APPLICATION_PACKAGE,
    azure_types.ML_MODEL_CONTAINER,
    azure_types.ML_ENVIRONMENT_CONTAINER,
    azure_types.ML_CODE_CONTAINER,
    azure_types.ML_JOB,
)
# Held against ARM's types where their component is tested.
ELSEWHERE = (
    "Microsoft.Compute/virtualMachines",
    "Microsoft.Network/",
    "Microsoft.MachineLearningServices/workspaces/onlineEndpoints",
)
CHECKED = [
    each
    for each in azure_types.ALL
    if each not in OF_OTHERS and each.arm_type not in WITHOUT_TYPES and not each.arm_type.startswith(ELSEWHERE)
]


@pytest.mark.parametrize("azure_type", CHECKED, ids=lambda azure_type: azure_type.token)
def test_arm_takes_what_is_declared(azure_type: AzureType, declared: list[Registration]) -> None:
    of_type = [registration for registration in declared if registration.type == azure_type.token]
    assert of_type, "the components declare none of these"
    assert [problem for each in of_type for problem in problems_of(each.type, each.inputs)] == []


def test_arm_takes_everything_that_is_recorded_of_cases_stacks_and_examples() -> None:
    found = [
        f"{name}: {urn.rpartition('::')[2]}{problem}"
        for name, body in recorded_bodies.recorded().items()
        for urn, resource in body.get("resources", {}).items()
        for problem in problems_of(urn.split("::")[-2].rpartition("$")[2], plain(resource["wire"]))
    ]
    assert found == []


def problems_of(token: str, inputs: dict[str, Any]) -> list[str]:
    """What ARM's types have against the body that these inputs become."""
    azure_type = azure_types.BY_TOKEN.get(token)
    if azure_type not in CHECKED:
        return []
    problems = arm_problems(azure_type.arm_type, default_api_version(azure_type), to_arm(azure_type, inputs))
    for sent in inputs.get("properties", {}).get("template", {}).get("resources", []):
        problems += arm_problems(sent["type"], sent["apiVersion"], sent)
    return problems
