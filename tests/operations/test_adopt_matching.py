"""A plan against what is there: which resource is which, by which overrides the program sends what Azure has, the import file."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from azure_gpu.formats import azure_types
from azure_gpu.formats.azure_types import AzureType
from azure_gpu_operations.adopting.matching import SECRET, UNKNOWN, Adopted, Planned, planned, take
from azure_gpu_operations.adopting.scratch import import_file
from tests.operations.test_import_leaves import changed, leaves

URN = "urn:pulumi:s::azure-gpu::azuregpu:index:GpuCluster$azure-native:containerservice"
PROVIDER = "urn:pulumi:s::azure-gpu::pulumi:providers:azure-native::default_3_29_0::id"
PARENT = "urn:pulumi:s::azure-gpu::azuregpu:index:GpuCluster::old"
STACK = "urn:pulumi:s::azure-gpu::pulumi:pulumi:Stack::azure-gpu-s"
CLUSTER = "/subscriptions/s/resourceGroups/lab/providers/Microsoft.ContainerService/managedClusters/old"


def creation(kind: str, name: str, inputs: dict[str, Any], *ignored: str) -> dict[str, Any]:
    token = f"azure-native:containerservice:{kind}"
    state = {"type": token, "parent": PARENT, "provider": PROVIDER, "inputs": inputs, "ignoreChanges": list(ignored)}
    return {"op": "create", "urn": f"{URN}:{kind}::{name}", "newState": state}


def one(azure_type: AzureType, inputs: dict[str, Any], *ignored: str) -> Planned:
    kind = azure_type.token.rsplit(":", 1)[-1]
    return Planned(f"{URN}:{kind}::x", azure_type, PARENT, PROVIDER, inputs, ignored)


def test_creations_of_azure_are_found_among_the_steps() -> None:
    steps = [
        creation("ManagedCluster", "old-cluster", {"resourceName": "old"}),
        {**creation("AgentPool", "old-pool-t4", {}), "op": "same"},
        {"op": "create", "urn": PARENT, "newState": {"type": "azuregpu:index:GpuCluster"}},
    ]
    [found] = planned(steps)
    assert (found.name, found.azure_type) == ("old-cluster", azure_types.MANAGED_CLUSTER)


@pytest.mark.parametrize(
    ("name", "pool", "resource_id", "is_it"),
    [
        ("old", "t4", f"{CLUSTER}/agentPools/t4", True),
        ("OLD", "T4", f"{CLUSTER}/agentPools/t4".upper(), True),
        (UNKNOWN, "t4", f"{CLUSTER}/agentPools/t4", True),  # of a cluster that isn't there yet for the plan
        (UNKNOWN, "a100", f"{CLUSTER}/agentPools/t4", False),
        ("other", "t4", f"{CLUSTER}/agentPools/t4", False),
        ("old", "t4", CLUSTER, False),
    ],
)
def test_a_planned_resource_is_known_by_its_id(name: str, pool: str, resource_id: str, is_it: bool) -> None:
    inputs = {"resourceGroupName": "lab", "resourceName": name, "agentPoolName": pool}
    assert one(azure_types.AGENT_POOL, inputs).has_id(resource_id) is is_it


def test_what_lies_right_within_an_adopted_resource_has_its_id() -> None:
    window = one(azure_types.MAINTENANCE_CONFIGURATION, {"resourceName": UNKNOWN, "configName": "default"})
    assert window.id_within(azure_types.MANAGED_CLUSTER, CLUSTER) == f"{CLUSTER}/maintenanceConfigurations/default"
    assert window.id_within(azure_types.BATCH_ACCOUNT, CLUSTER) == ""
    unnamed = one(azure_types.MAINTENANCE_CONFIGURATION, {"resourceName": UNKNOWN, "configName": UNKNOWN})
    assert unnamed.id_within(azure_types.MANAGED_CLUSTER, CLUSTER) == ""


def of_pool(sent: dict[str, Any], has: dict[str, Any], *ignored: str, pins: bool = True) -> Adopted:
    of_id = {"accountName": "a", "poolName": UNKNOWN, "resourceGroupName": "lab", "azureApiVersion": "2024-07-01"}
    there = {**of_id, "poolName": "t4s", "azureApiVersion": "2024-07-01"}
    found = take(one(azure_types.BATCH_POOL, {**of_id, **sent}, *ignored), {**there, **has}, frozenset(), pins=pins)
    assert {name: found.inputs.pop(name) for name in of_id} == there
    return found


@pytest.mark.parametrize("row", yaml.load((Path(__file__).parent / "adopted.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader))
def test_overrides_make_the_program_send_what_azure_has(row: dict[str, dict[str, Any]]) -> None:
    sent = {key: UNKNOWN if value == "UNKNOWN" else deepcopy(value) for key, value in row["sent"].items()}
    assert of_pool(sent, deepcopy(row["has"])) == Adopted(row["inputs"], row["overrides"])


def test_secrets_and_what_the_program_does_not_look_at_stay_as_they_are() -> None:
    secret = {SECRET: "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "x"}
    assert of_pool({"password": secret, "count": 0}, {"count": 3}, "count") == Adopted({"password": secret, "count": 3}, {})


def test_without_overrides_nothing_is_pinned() -> None:
    assert of_pool({"vmSize": "a"}, {"vmSize": "a", "certificates": ["c"]}, pins=False) == Adopted({"vmSize": "a"}, {})


def test_a_cluster_keeps_the_pools_in_its_own_body_the_systems_first() -> None:
    def pool(name: str, mode: str, **more: Any) -> dict[str, Any]:
        return {"name": name, "mode": mode, "vmSize": "D", **more}

    there = {"resourceName": "old", "agentPoolProfiles": [pool("cpus", "User"), pool("gpus", "User"), pool("sys", "System")]}
    sent = {"resourceName": "old", "agentPoolProfiles": [pool("system", "System")]}
    found = take(one(azure_types.MANAGED_CLUSTER, sent), there, frozenset({"gpus"}), pins=True)
    kept = [pool("sys", "System"), pool("cpus", "User")]
    assert found.overrides == {"agentPoolProfiles": kept}
    assert found.inputs["agentPoolProfiles"] == kept


def test_what_azure_fills_in_an_item_is_left_and_what_somebody_set_there_is_kept() -> None:
    pool = {"name": "system", "mode": "System", "vmSize": "D"}
    sent = {"resourceName": "old", "agentPoolProfiles": [pool]}
    filled = {"resourceName": "old", "agentPoolProfiles": [{**pool, "maxPods": 250, "osDiskSizeGB": 128, "enableFIPS": False}]}
    assert take(one(azure_types.MANAGED_CLUSTER, sent), filled, frozenset(), pins=True).overrides == {}
    set_ = {"resourceName": "old", "agentPoolProfiles": [{**pool, "maxPods": 30}]}
    found = take(one(azure_types.MANAGED_CLUSTER, sent), set_, frozenset(), pins=True)
    assert found.overrides == {"agentPoolProfiles": [{**pool, "maxPods": 30}]}


def test_the_import_file_has_components_first_and_names_what_the_state_has() -> None:
    found = one(azure_types.MANAGED_CLUSTER, {})
    plan = {PARENT: {"parent": STACK}}
    file = import_file([found], {found.urn: CLUSTER}, plan, frozenset(), {found.urn: {"inputs": {"a": 1}, "outputs": {"b": 2}}})
    assert file == {
        "nameTable": {},
        "resources": [
            {"type": "azuregpu:index:GpuCluster", "name": PARENT, "logicalName": "old", "component": True},
            {
                "type": "azure-native:containerservice:ManagedCluster",
                "name": found.urn,
                "logicalName": "x",
                "id": CLUSTER,
                "version": "3.29.0",
                "parent": PARENT,
                "inputs": {"a": 1},
                "outputs": {"b": 2},
            },
        ],
    }
    had = import_file([found], {found.urn: CLUSTER}, plan, frozenset({PARENT}), {})
    assert had["nameTable"] == {PARENT: PARENT}
    assert [each["type"] for each in had["resources"]] == ["azure-native:containerservice:ManagedCluster"]
    assert "inputs" not in had["resources"][0]


NODES = {
    "count": 3,
    "vmSize": "Standard_NC4as_T4_v3",
    "mode": "User",
    "enableEncryptionAtHost": True,
    "osDiskType": "Ephemeral",
    "scaleDownMode": "Deallocate",
    "securityProfile": {"enableSecureBoot": True, "enableVTPM": True},
    "kubeletConfig": {"cpuManagerPolicy": "static", "allowedUnsafeSysctls": ["net.core.somaxconn"]},
    "linuxOSConfig": {"sysctls": {"vmMaxMapCount": 262144}},
    "nodeTaints": ["sku=gpu:NoSchedule"],
    "tags": {"team": "vision"},
}
DEPLOYMENT = {
    "sku": {"name": "Default", "capacity": 2},
    "properties": {
        "instanceType": "Standard_NC4as_T4_v3",
        "livenessProbe": {"period": "PT20S"},
        "environmentVariables": {"LEVEL": "debug"},
        "egressPublicNetworkAccess": "Disabled",
    },
}
POOL = {
    "vmSize": "STANDARD_NC4AS_T4_V3",
    "taskSchedulingPolicy": {"nodeFillType": "Pack"},
    "userAccounts": [{"name": "a", "elevationLevel": "Admin"}],
    "networkConfiguration": {"publicIPAddressConfiguration": {"provision": "NoPublicIPAddresses"}},
    "startTask": {"commandLine": "true", "waitForSuccess": True, "userIdentity": {"autoUser": {"elevationLevel": "Admin"}}},
}


@pytest.mark.parametrize(
    ("azure_type", "there"),
    [
        (azure_types.AGENT_POOL, NODES),
        (azure_types.MANAGED_CLUSTER, {"agentPoolProfiles": [{"name": "sys", **NODES}], "dnsPrefix": "x"}),
        (azure_types.ML_ONLINE_DEPLOYMENT, DEPLOYMENT),
        (azure_types.BATCH_POOL, POOL),
    ],
)
@pytest.mark.parametrize("sends", [True, False], ids=["sent", "not sent"])
def test_every_leaf_of_what_is_there_ends_in_the_overrides(azure_type: AzureType, there: dict[str, Any], sends: bool) -> None:
    """Whether the program sends the same, or nothing: another value in Azure is another override."""
    planned_one = one(azure_type, deepcopy(there) if sends else {})

    def pinned(has: dict[str, Any]) -> dict[str, Any]:
        return take(planned_one, has, frozenset(), pins=True).overrides

    azures = ("count",) if azure_type is azure_types.MANAGED_CLUSTER else ()  # the autoscaler's, where nobody sets it
    lost = [path for path, steps in leaves(there) if pinned(changed(there, steps)) == pinned(there) and steps[-1] not in azures]
    assert lost == []
