"""What `import` of ids makes of bodies beside the keys, which `test_round_trip` reads back: parts in use, what is left, notes."""

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


def test_pools_with_gpus_are_pools_and_others_stay_in_the_cluster() -> None:
    spot = agent_pool(
        "spot",
        "Standard_NC24ads_A100_v4",
        nodeTaints=["sku=gpu:NoSchedule", "kubernetes.azure.com/scalesetpriority=spot:NoSchedule"],
        nodeLabels={"kubernetes.azure.com/scalesetpriority": "spot", "team": "vision"},
    )
    part = part_of([cluster(agent_pool("cpus", "Standard_D8s_v5", count=3), spot)], DAY)
    [(name, pool)] = taken(part, "clusters", "old")["gpu_pools"].items()
    assert (name, pool["labels"], pool["taints"]) == ("spot", {"team": "vision"}, ["sku=gpu:NoSchedule"])
    assert part.sections["foundation"] == {"resource_group": {"existing": GROUP}}
    assert taken(part, "clusters", "old")["opts"] == {"protect": True}
    assert [each.name for each in part.taken] == ["old", "spot"]
    assert any("the pool cpus of Standard_D8s_v5 has no GPU" in note for note in part.notes)


def batch_pool(**properties: Any) -> ExistingResource:
    machines = {"imageReference": {"id": f"{GROUP}/x"}, "nodeAgentSkuId": "batch.node.ubuntu 22.04"}
    given = {"vmSize": "STANDARD_NC4AS_T4_V3", "deploymentConfiguration": {"virtualMachineConfiguration": machines}, **properties}
    who = {"type": "UserAssigned", "userAssignedIdentities": {IDENTITY: {}}}
    return there(azure_types.BATCH_POOL, f"{ACCOUNT}/pools/night", properties=given, identity=who)


def test_a_batch_pool_uses_its_account_and_its_identity() -> None:
    task = {"commandLine": "/bin/true", "environmentSettings": [{"name": "A", "value": "b"}]}
    part = part_of([batch_pool(targetNodeCommunicationMode="Classic", startTask=task)], DAY)
    pool = part.sections["pools"]["night"]  # whose mode of communication is over, and told so
    assert (pool["size"], pool["communication"], pool["replace"]) == ("Standard_NC4as_T4_v3", "Classic", "drain-first")
    assert part.sections["batch_account"] == {"existing": ACCOUNT}
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
    found = [compute("gpus", "STANDARD_NC4AS_T4_V3"), compute("cpus", "Standard_D4s_v5")]
    part = part_of([workspace(*found, containerRegistry=f"{GROUP}/r")], DAY)
    assert part.sections["foundation"] == {
        "resource_group": {"existing": GROUP},
        "storage": {"existing": f"{GROUP}/s"},
        "registry": {"existing": f"{GROUP}/r"},
        "identity": "create",  # which pulls from the registry
    }
    settings = part.sections["ml_workspace"]
    assert (settings["key_vault"], settings["insights"]) == ({"existing": f"{GROUP}/v"}, {"existing": f"{GROUP}/i"})
    assert {name: each["size"] for name, each in settings["computes"].items()} == {"gpus": "Standard_NC4as_T4_v3"}
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
    part = part_of([endpoint(deployment("blue"), deployment("green"), traffic={"blue": 90, "green": 10, "gone": 0})], DAY)
    found = taken(part, "ml_endpoints", "scores")
    assert part.sections["ml_workspace"] == {"existing": WORKSPACE}
    assert (found["auth"], found["identity"], found["traffic"]) == ("entra", "system", {"blue": 90, "green": 10})
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
