"""Bodies of Azure as the keys of a stack file, which the stack file's own reader takes."""

import json
from typing import Any

import pytest

from azure_gpu.catalog.problems import errors
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.stack.settings import read
from azure_gpu_operations.adopting.keys import ExistingResource, Part, part_of

SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/lab"
CLUSTER = f"{GROUP}/providers/Microsoft.ContainerService/managedClusters/old"
ACCOUNT = f"{GROUP}/providers/Microsoft.Batch/batchAccounts/old"
WORKSPACE = f"{GROUP}/providers/Microsoft.MachineLearningServices/workspaces/old"
IDENTITY = f"{GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/who"
DAY = "2026-12-30"


def there(azure_type: AzureType, text: str, *within: ExistingResource, **body: Any) -> ExistingResource:
    found = parse(text)
    assert found is not None
    return ExistingResource(found, azure_type, {"name": found.name, "location": "westeurope", **body}, within)


def agent_pool(name: str, size: str, **properties: Any) -> ExistingResource:
    return there(azure_types.AGENT_POOL, f"{CLUSTER}/agentPools/{name}", properties={"vmSize": size, **properties})


def cluster(*pools: ExistingResource, **properties: Any) -> ExistingResource:
    system = {"name": "nodepool1", "mode": "System", "count": 2, "vmSize": "Standard_D4s_v5", "osSKU": "Ubuntu"}
    inside = [system, *({"name": each.name, "mode": "User", **each.properties} for each in pools)]
    given = {"agentPoolProfiles": inside, "disableLocalAccounts": True, "networkProfile": {}, **properties}
    return there(azure_types.MANAGED_CLUSTER, CLUSTER, *pools, properties=given, tags={"cost": "7"})


def taken(part: Part, section: str, name: str) -> Any:
    """An entry, which the program has to know every key of."""
    keys = {f"azure-gpu:{key}": json.dumps(value) for key, value in part.sections.items()}
    base = {"azure-gpu:team": "vision", "azure-gpu:location": "westeurope", "azure-native:subscriptionId": SUBSCRIPTION}
    settings = read({**base, **keys}, "2026-11-21")
    assert errors(settings.problems) == []
    return part.sections[section][name]


def test_a_cluster_without_a_gpu_has_its_system_pool_and_its_network() -> None:
    part = part_of(
        [
            cluster(
                networkProfile={"podCidr": "10.1.0.0/16", "serviceCidr": "10.2.0.0/16", "outboundType": "loadBalancer"},
                apiServerAccessProfile={"authorizedIPRanges": ["203.0.113.0/24"]},
                autoUpgradeProfile={"upgradeChannel": "patch", "nodeOSUpgradeChannel": "NodeImage"},
            )
        ],
        DAY,
    )
    assert part.sections["foundation"] == {"resource_group": {"existing": GROUP}}
    assert taken(part, "clusters", "old") == {
        "cluster_name": "old",
        "location": "westeurope",
        "system_pool": {"size": "Standard_D4s_v5", "nodes": 2, "os_sku": "Ubuntu"},
        "access": {"network": "restricted", "authorized_ranges": ["203.0.113.0/24"]},
        "pod_cidr": "10.1.0.0/16",
        "service_cidr": "10.2.0.0/16",
        "maintenance": {"upgrades": "patch", "node_images": "NodeImage"},
        "tags": {"cost": "7"},
        "expires_after": DAY,
        "on_cluster": False,
        "opts": {"protect": True},
    }
    assert [each.name for each in part.taken] == ["old"]


def test_pools_with_gpus_are_pools_and_others_stay_in_the_cluster() -> None:
    spot = agent_pool(
        "spot",
        "Standard_NC24ads_A100_v4",
        enableAutoScaling=True,
        minCount=0,
        maxCount=3,
        count=1,
        scaleSetPriority="Spot",
        scaleSetEvictionPolicy="Deallocate",
        spotMaxPrice=0.5,
        nodeTaints=["sku=gpu:NoSchedule", "kubernetes.azure.com/scalesetpriority=spot:NoSchedule"],
        nodeLabels={"kubernetes.azure.com/scalesetpriority": "spot", "team": "vision"},
        gpuInstanceProfile="MIG1g",
        upgradeSettings={"drainTimeoutInMinutes": 15},
    )
    part = part_of([cluster(agent_pool("cpus", "Standard_D8s_v5", count=3), spot)], DAY)
    assert taken(part, "clusters", "old")["gpu_pools"] == {
        "spot": {
            "size": "Standard_NC24ads_A100_v4",
            "min_nodes": 0,
            "max_nodes": 3,
            "spot": {"max_price": 0.5, "eviction": "deallocate"},
            "labels": {"team": "vision"},
            "drain_minutes": 15,
            "sharing": {"strategy": "mig", "profile": "MIG1g"},
            "taints": ["sku=gpu:NoSchedule"],
            "replace": "drain-first",
        }
    }
    assert [each.name for each in part.taken] == ["old", "spot"]
    assert any("the pool cpus of Standard_D8s_v5 has no GPU" in note for note in part.notes)


def test_a_private_cluster_with_local_accounts() -> None:
    private = {"enablePrivateCluster": True, "privateDNSZone": "system"}
    part = part_of([cluster(apiServerAccessProfile=private, disableLocalAccounts=False)], DAY)
    assert taken(part, "clusters", "old")["access"] == {
        "network": "private",
        "private_dns_zone": "system",
        "local_accounts": True,
    }


def batch_pool(**properties: Any) -> ExistingResource:
    machines = {"imageReference": {"id": f"{GROUP}/x"}, "nodeAgentSkuId": "batch.node.ubuntu 22.04"}
    given = {"vmSize": "STANDARD_NC4AS_T4_V3", "deploymentConfiguration": {"virtualMachineConfiguration": machines}, **properties}
    who = {"type": "UserAssigned", "userAssignedIdentities": {IDENTITY: {}}}
    return there(azure_types.BATCH_POOL, f"{ACCOUNT}/pools/night", properties=given, identity=who)


def test_a_batch_pool_with_a_formula_a_start_task_and_a_network() -> None:
    part = part_of(
        [
            batch_pool(
                scaleSettings={"autoScale": {"formula": "$TargetDedicatedNodes = 1;", "evaluationInterval": "PT10M"}},
                interNodeCommunication="Enabled",
                networkConfiguration={"subnetId": "s", "publicIPAddressConfiguration": {"provision": "NoPublicIPAddresses"}},
                startTask={
                    "commandLine": "/bin/true",
                    "userIdentity": {"autoUser": {"elevationLevel": "Admin"}},
                    "waitForSuccess": False,
                    "environmentSettings": [{"name": "A", "value": "b"}],
                    "resourceFiles": [{"httpUrl": "https://example.org/a", "filePath": "a"}],
                },
            )
        ],
        DAY,
    )
    assert taken(part, "pools", "night") == {
        "pool_name": "night",
        "size": "Standard_NC4as_T4_v3",
        "image_id": f"{GROUP}/x",
        "node_agent": "batch.node.ubuntu 22.04",
        "autoscale": {"formula": "$TargetDedicatedNodes = 1;", "interval_minutes": 10},
        "inter_node": True,
        "start_task": {
            "command": "/bin/true",
            "elevated": True,
            "environment": {"A": "b"},
            "resource_files": [{"url": "https://example.org/a", "path": "a"}],
            "wait_for_success": False,
        },
        "subnet_id": "s",
        "public_addresses": False,
        "expires_after": DAY,
        "replace": "drain-first",
        "opts": {"protect": True},
    }
    assert part.sections["foundation"]["identity"] == {"existing": IDENTITY}
    assert any("secret_environment" in note for note in part.notes)


@pytest.mark.parametrize(
    ("fixed", "said"),
    [
        ({}, {"dedicated_nodes": 0}),
        ({"targetDedicatedNodes": 2, "resizeTimeout": "PT1H"}, {"dedicated_nodes": 2, "resize_timeout_minutes": 60}),
        ({"targetLowPriorityNodes": 3, "resizeTimeout": "PT15M"}, {"dedicated_nodes": 0, "spot_nodes": 3}),
    ],
)
def test_a_fixed_number_of_nodes(fixed: dict[str, Any], said: dict[str, Any]) -> None:
    pool = taken(part_of([batch_pool(scaleSettings={"fixedScale": fixed})], DAY), "pools", "night")
    assert {key: value for key, value in pool.items() if "nodes" in key or "timeout" in key} == said


def workspace(*computes: ExistingResource, **properties: Any) -> ExistingResource:
    given = {"keyVault": f"{GROUP}/v", "applicationInsights": f"{GROUP}/i", "storageAccount": f"{GROUP}/s", **properties}
    return there(azure_types.ML_WORKSPACE, WORKSPACE, *computes, properties=given)


def compute(name: str, size: str, **machines: Any) -> ExistingResource:
    inner = {"computeType": "AmlCompute", "properties": {"vmSize": size, **machines}}
    return there(azure_types.ML_COMPUTE, f"{WORKSPACE}/computes/{name}", properties=inner)


def test_a_workspace_uses_its_parts_and_has_its_machines_with_gpus() -> None:
    scale = {"minNodeCount": 0, "maxNodeCount": 4, "nodeIdleTimeBeforeScaleDown": "PT120S"}
    found = [compute("gpus", "STANDARD_NC4AS_T4_V3", scaleSettings=scale), compute("cpus", "Standard_D4s_v5")]
    part = part_of([workspace(*found, containerRegistry=f"{GROUP}/r", publicNetworkAccess="Disabled")], DAY)
    assert part.sections["foundation"] == {
        "resource_group": {"existing": GROUP},
        "storage": {"existing": f"{GROUP}/s"},
        "registry": {"existing": f"{GROUP}/r"},
        "identity": "create",  # which pulls from the registry
    }
    assert part.sections["ml_workspace"] == {
        "workspace_name": "old",
        "location": "westeurope",
        "network": "private",
        "key_vault": {"existing": f"{GROUP}/v"},
        "insights": {"existing": f"{GROUP}/i"},
        "computes": {
            "gpus": {
                "size": "Standard_NC4as_T4_v3",
                "min_nodes": 0,
                "max_nodes": 4,
                "idle_minutes": 2,
                "expires_after": DAY,
                "replace": "drain-first",
                "public_addresses": True,
            }
        },
        "opts": {"protect": True},
    }
    assert any("the compute cpus (AmlCompute) is left out" in note for note in part.notes)


def deployment(name: str, **properties: Any) -> ExistingResource:
    path = f"{WORKSPACE}/onlineEndpoints/scores/deployments/{name}"
    given = {"instanceType": "Standard_NC4as_T4_v3", "model": f"{WORKSPACE}/models/m/versions/1", **properties}
    return there(azure_types.ML_ONLINE_DEPLOYMENT, path, properties=given, sku={"name": "Default", "capacity": 2})


def endpoint(*deployments: ExistingResource, auth: str = "AADToken", **properties: Any) -> ExistingResource:
    given = {"authMode": auth, "publicNetworkAccess": "Enabled", **properties}
    return there(
        azure_types.ML_ONLINE_ENDPOINT,
        f"{WORKSPACE}/onlineEndpoints/scores",
        *deployments,
        properties=given,
        identity={"type": "SystemAssigned"},
    )


def test_an_endpoint_of_its_own_is_in_a_workspace_that_is_used_as_it_is() -> None:
    blue = deployment(
        "blue",
        requestSettings={"requestTimeout": "PT1M30S", "maxConcurrentRequestsPerInstance": 2, "maxQueueWait": "PT0.5S"},
        livenessProbe={"initialDelay": "PT1M", "failureThreshold": 5},
        environmentVariables={"A": "b"},
    )
    part = part_of([endpoint(blue, deployment("green"), traffic={"blue": 90, "green": 10, "gone": 0})], DAY)
    said = taken(part, "ml_endpoints", "scores")
    assert part.sections["ml_workspace"] == {"existing": WORKSPACE}
    assert said == {
        "endpoint_name": "scores",
        "auth": "entra",
        "network": "public",
        "identity": "system",
        "deployments": {
            "blue": {
                "model": f"{WORKSPACE}/models/m/versions/1",
                "instance_type": "Standard_NC4as_T4_v3",
                "instances": 2,
                "probes": {"liveness": {"initial_delay_seconds": 60, "failure_threshold": 5}},
                "requests": {"timeout_seconds": 90, "concurrent": 2, "queue_seconds": 0.5},
                "environment_variables": {"A": "b"},
            },
            "green": {
                "model": f"{WORKSPACE}/models/m/versions/1",
                "instance_type": "Standard_NC4as_T4_v3",
                "instances": 2,
            },
        },
        "traffic": {"blue": 90, "green": 10},
        "expires_after": DAY,
        "opts": {"protect": True},
    }
    assert [each.name for each in part.taken] == ["scores", "blue", "green"]


def test_an_endpoint_without_a_deployment_is_told_and_left() -> None:
    part = part_of([endpoint()], DAY)
    assert "ml_endpoints" not in part.sections
    assert part.taken == []
    assert any("without a deployment" in note for note in part.notes)


def test_an_endpoint_in_a_workspace_that_is_taken_over_too() -> None:
    part = part_of([workspace(), endpoint(deployment("blue"))], DAY)
    assert "existing" not in part.sections["ml_workspace"]
    assert [each.azure_type for each in part.taken] == [
        azure_types.ML_WORKSPACE,
        azure_types.ML_ONLINE_ENDPOINT,
        azure_types.ML_ONLINE_DEPLOYMENT,
    ]


@pytest.mark.parametrize(
    ("azure_type", "arm_type", "key"),
    [
        (azure_types.STORAGE_ACCOUNT, "Microsoft.Storage/storageAccounts", "storage"),
        (azure_types.REGISTRY, "Microsoft.ContainerRegistry/registries", "registry"),
        (azure_types.LOG_WORKSPACE, "Microsoft.OperationalInsights/workspaces", "log_workspace"),
        (azure_types.USER_ASSIGNED_IDENTITY, "Microsoft.ManagedIdentity/userAssignedIdentities", "identity"),
    ],
)
def test_a_part_of_the_foundation_is_taken_over_under_its_name(azure_type: AzureType, arm_type: str, key: str) -> None:
    part = part_of([there(azure_type, f"{GROUP}/providers/{arm_type}/mine99")], DAY)
    assert taken(part, "foundation", key) == {"name": "mine99"}
    assert part.sections["foundation"]["resource_group"] == {"existing": GROUP}
    assert [each.azure_type for each in part.taken] == [azure_type]


def test_a_resource_group_is_used_as_it_is() -> None:
    part = part_of([there(azure_types.RESOURCE_GROUP, GROUP)], DAY)
    assert part.sections == {"foundation": {"resource_group": {"existing": GROUP}}}
    assert part.taken == []
    [note] = part.notes
    assert "stays `existing`" in note


def test_a_batch_account_is_taken_over_with_the_storage_that_it_has() -> None:
    storage = f"{GROUP}/providers/Microsoft.Storage/storageAccounts/mine99"
    account = there(azure_types.BATCH_ACCOUNT, ACCOUNT, properties={"autoStorage": {"storageAccountId": storage}})
    part = part_of([account], DAY)
    assert taken(part, "batch_account", "account_name") == "old"
    assert part.sections["foundation"] == {
        "resource_group": {"existing": GROUP},
        "storage": {"existing": storage},
        "identity": "create",
    }
    both = part_of([there(azure_types.STORAGE_ACCOUNT, storage), account], DAY)
    assert both.sections["foundation"]["storage"] == {"name": "mine99"}
    assert [each.azure_type for each in both.taken] == [azure_types.STORAGE_ACCOUNT, azure_types.BATCH_ACCOUNT]
