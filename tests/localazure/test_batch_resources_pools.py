"""Batch pools through ARM: what is answered, what can change, and what is refused at which date."""

from datetime import timedelta
from typing import Any

import pytest
from azure.mgmt.batch import BatchManagementClient

from tests.localazure.conftest import new_group
from tests.support.batch_bodies import AGENT, API, PENDING, details, fixed, pool, put_account, put_identity
from tests.support.embedded import EmbeddedAzure, ServedAzure
from tests.support.management import client


@pytest.fixture
def account(azure: EmbeddedAzure, group: str) -> str:
    """The id of an account."""
    return put_account(azure, group)["id"]


def put(azure: EmbeddedAzure, account: str, body: dict[str, Any], name: str = "train") -> Any:
    return azure.put(f"{account}/pools/{name}", body, API)


def properties(answer: Any) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    return answer.json()["properties"]


# What is answered


def test_a_pool_is_answered_with_200_and_its_defaults(azure: EmbeddedAzure, account: str) -> None:
    made = properties(put(azure, account, pool()))
    assert made.items() >= {
        ("provisioningState", "Succeeded"),
        ("interNodeCommunication", "Disabled"),
        ("taskSlotsPerNode", 1),
        ("targetNodeCommunicationMode", "Default"),
        ("currentNodeCommunicationMode", "Simplified"),
        ("currentDedicatedNodes", 0),
    }
    assert made["taskSchedulingPolicy"] == {"nodeFillType": "Spread"}
    assert made["scaleSettings"] == {"autoScale": {"formula": PENDING, "evaluationInterval": "PT5M"}}
    for number, scale in enumerate((None, fixed(0, nodeDeallocationOption="TaskCompletion"))):  # which is never answered
        without = properties(put(azure, account, pool(scaleSettings=scale), f"fixed{number}"))
        assert without["scaleSettings"] == fixed(0, resizeTimeout="PT15M")


def test_a_pool_that_is_there_can_be_refused_as_a_whole_and_patched(azure: EmbeddedAzure, account: str) -> None:
    put(azure, account, pool())
    try:
        azure.fault("weather", name="whole-pools")
        assert details(put(azure, account, pool()))["PropertyName"] == "deploymentConfiguration"
        only = {"tags": {"team": "x"}, "properties": {"scaleSettings": fixed(1)}}
        assert azure.patch(f"{account}/pools/train", only, API).json()["tags"] == {"team": "x"}
    finally:
        azure.clear_faults()


def test_a_life_with_azures_own_client(served_azure: ServedAzure) -> None:
    account = put_account(served_azure, new_group(served_azure))["id"]
    batch = client(BatchManagementClient, served_azure).pool
    group_name, name = account.split("/")[4], account.split("/")[-1]
    made = batch.create(group_name, name, "train", pool(scaleSettings=fixed(1)))
    assert (made.name, made.vm_size, made.scale_settings.fixed_scale.target_dedicated_nodes) == (
        "train",
        "Standard_NC4as_T4_v3",
        1,
    )
    served_azure.until(lambda: batch.get(group_name, name, "train").current_dedicated_nodes == 1, "the node is there")
    auto = {"properties": {"scaleSettings": {"autoScale": {"formula": "$TargetDedicatedNodes = 1;"}}}}
    changed = batch.update(group_name, name, "train", auto)
    assert changed.scale_settings.fixed_scale is None
    assert changed.scale_settings.auto_scale.evaluation_interval == timedelta(minutes=15)
    still = batch.disable_auto_scale(group_name, name, "train")
    assert still.scale_settings.auto_scale is None
    assert still.scale_settings.fixed_scale.target_dedicated_nodes == 1
    assert batch.stop_resize(group_name, name, "train").name == "train"
    assert [each.name for each in batch.list_by_batch_account(group_name, name)] == ["train"]
    batch.begin_delete(group_name, name, "train").result()
    assert list(batch.list_by_batch_account(group_name, name)) == []


def test_secrets_are_kept_and_never_answered(azure: EmbeddedAzure, account: str) -> None:
    users = [{"name": "runner", "password": "p-4711", "linuxUserConfiguration": {"sshPrivateKey": "k-4711"}}]
    registry = {"registryServer": "x.azurecr.io", "username": "u", "password": "r-4711"}
    containers = {"containerConfiguration": {"type": "DockerCompatible", "containerRegistries": [registry]}}
    made = put(azure, account, pool(containers, userAccounts=users))
    assert made.status_code == 200, made.text
    shown = azure.get(f"{account}/pools/train", API)
    assert "4711" not in made.text + shown.text
    machine = shown.json()["properties"]["deploymentConfiguration"]["virtualMachineConfiguration"]
    assert machine["containerConfiguration"]["containerRegistries"] == [{"registryServer": "x.azurecr.io", "username": "u"}]
    without = shown.json()
    without["properties"]["userAccounts"][0]["password"] = "p-4711"
    assert azure.put(f"{account}/pools/train", without, API).status_code == 200
    without["properties"]["userAccounts"][0]["password"] = "other"
    assert details(azure.put(f"{account}/pools/train", without, API))["PropertyName"] == "userAccounts"
    registries = machine["containerConfiguration"]["containerRegistries"]
    without["properties"]["userAccounts"][0]["password"] = "p-4711"
    without["properties"]["deploymentConfiguration"]["virtualMachineConfiguration"] = machine
    registries[0] |= {"registryServer": "X.azurecr.io", "password": "r-4711"}
    assert azure.put(f"{account}/pools/train", without, API).status_code == 200
    registries[0]["password"] = "R-4711"
    assert details(azure.put(f"{account}/pools/train", without, API))["PropertyName"] == "deploymentConfiguration"


# What can change


def test_letter_case_is_no_change(azure: EmbeddedAzure, account: str) -> None:
    put(azure, account, pool())
    made = properties(put(azure, account, pool({"nodeAgentSkuId": AGENT.upper()}, vmSize="STANDARD_NC4AS_T4_V3")))
    assert made["vmSize"] == "Standard_NC4as_T4_v3"
    assert made["deploymentConfiguration"]["virtualMachineConfiguration"]["nodeAgentSkuId"] == AGENT


def test_what_can_change_does(azure: EmbeddedAzure, account: str, group: str) -> None:
    put(azure, account, pool())
    identity = put_identity(azure, group)["id"]
    body = pool(
        scaleSettings=fixed(0, 1),
        startTask={"commandLine": "/bin/true"},
        metadata=[{"name": "a", "value": "b"}],
        targetNodeCommunicationMode="Simplified",
    )
    body["identity"] = {"type": "UserAssigned", "userAssignedIdentities": {identity: {}}}
    body["tags"] = {"team": "a"}
    answer = put(azure, account, body)
    made = properties(answer)
    assert made["scaleSettings"]["fixedScale"]["targetLowPriorityNodes"] == 1
    assert made["startTask"] == {"commandLine": "/bin/true", "maxTaskRetryCount": 0, "waitForSuccess": True}
    assert answer.json()["tags"] == {"team": "a"}
    assert list(answer.json()["identity"]["userAssignedIdentities"]) == [identity]


def test_a_patch_replaces_each_property_whole_and_an_empty_start_task_takes_it_away(azure: EmbeddedAzure, account: str) -> None:
    put(azure, account, pool(startTask={"commandLine": "/bin/true"}, metadata=[{"name": "a", "value": "b"}]))
    path = f"{account}/pools/train"
    changed = properties(azure.patch(path, {"properties": {"scaleSettings": fixed(0)}}, API))
    assert list(changed["scaleSettings"]) == ["fixedScale"]
    assert changed["startTask"]["commandLine"] == "/bin/true"
    without = properties(azure.patch(path, {"properties": {"startTask": {}, "metadata": []}}, API))
    assert "startTask" not in without
    assert without["metadata"] == []


def test_pools_are_counted(own_azure: EmbeddedAzure) -> None:
    group = new_group(own_azure)
    account = put_account(own_azure, group)["id"]
    assert own_azure.command("fault", "quota", "batch", "westeurope", "pools", "1").returncode == 0
    assert put(own_azure, account, pool()).status_code == 200
    assert put(own_azure, account, pool()).status_code == 200, "the same pool again"
    answer = put(own_azure, account, pool(), "second")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "PoolQuotaReached")
    assert own_azure.command("fault", "quota", "batch", "westeurope", "accounts", "1").returncode == 0
    answer = own_azure.put(f"{group}/providers/Microsoft.Batch/batchAccounts/another", {"location": "westeurope"}, API)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "SubscriptionQuotaExceeded")


def test_what_only_a_later_version_has_is_kept(azure: EmbeddedAzure, account: str) -> None:
    body = pool(taskSchedulingPolicy={"nodeFillType": "Spread", "jobDefaultOrder": "CreationTime"})
    answer = azure.put(f"{account}/pools/train", body, "2025-06-01")
    assert answer.status_code == 200, answer.text
    assert answer.json()["properties"]["taskSchedulingPolicy"]["jobDefaultOrder"] == "CreationTime"
