"""Pools and nodes over the data plane: by ARM's own path, so that both ways in show one thing."""

import pytest

from tests.localazure.batch.data_plane import ARM_VERSION, MACHINE, Account, code
from tests.localazure.conftest import new_group
from tests.support.embedded import ServedAzure

FORMULA = "$TargetDedicatedNodes = 1;"


@pytest.fixture
def served_account(served_azure: ServedAzure) -> Account:
    """One whose pools have nodes."""
    return Account(served_azure, new_group(served_azure))


def test_a_pool_is_one_thing_by_both_ways_in(account: Account) -> None:
    given = {
        "id": "Both",
        "vmSize": "Standard_D2s_v3",
        "virtualMachineConfiguration": MACHINE,
        "targetDedicatedNodes": "0",  # as the Azure CLI sends it
        "taskSlotsPerNode": 2,
        "enableInterNodeCommunication": True,
        "taskSchedulingPolicy": {"nodeFillType": "pack"},
        "metadata": [{"name": "a", "value": "b"}],
        "startTask": {
            "commandLine": "/bin/true",
            "userIdentity": {"autoUser": {"scope": "pool", "elevationLevel": "admin"}},
            "waitForSuccess": True,
        },
    }
    answer = account.post("pools", given)
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == f"{account.url}/pools/Both"
    arm = account.azure.get(f"{account.id}/pools/both", ARM_VERSION).json()["properties"]
    assert arm["deploymentConfiguration"]["virtualMachineConfiguration"]["nodeAgentSkuId"] == "batch.node.ubuntu 22.04"
    assert arm["interNodeCommunication"] == "Enabled"
    assert arm["taskSchedulingPolicy"] == {"nodeFillType": "Pack"}
    assert arm["scaleSettings"]["fixedScale"]["targetDedicatedNodes"] == 0
    assert arm["startTask"]["userIdentity"]["autoUser"] == {"scope": "Pool", "elevationLevel": "Admin"}
    pool = account.get("pools/Both").json()
    for name in ("id", "vmSize", "virtualMachineConfiguration", "taskSchedulingPolicy", "metadata", "taskSlotsPerNode"):
        assert pool[name] == given[name]
    assert pool["startTask"] == {**given["startTask"], "maxTaskRetryCount": 0}
    assert (pool["state"], pool["enableAutoScale"], pool["enableInterNodeCommunication"]) == ("active", False, True)
    assert (pool["targetDedicatedNodes"], pool["resizeTimeout"]) == (0, "PT15M")
    assert [each["id"] for each in account.get("pools", **{"$filter": "state eq 'active'"}).json()["value"]] == ["Both"]
    assert account.request("HEAD", "pools/both").status_code == 200
    assert account.request("HEAD", "pools/none").status_code == 404


def test_a_pool_is_resized_and_deleted(served_account: Account) -> None:
    account = served_account
    (node,) = account.idle_pool("pool")
    assert node["url"] == f"{account.url}/pools/pool/nodes/{node['id']}"
    assert node["isDedicated"] is True
    assert account.get(f"pools/pool/nodes/{node['id']}").json()["vmSize"].lower() == "standard_d2s_v3"
    counts = account.get("nodecounts").json()["value"]
    assert (counts[0]["poolId"], counts[0]["dedicated"]["idle"], counts[0]["dedicated"]["total"]) == ("pool", 1, 1)
    assert (
        account.post("pools/pool/resize", {"targetDedicatedNodes": 2, "nodeDeallocationOption": "terminate"}).status_code == 202
    )
    account.azure.until(lambda: len(account.get("pools/pool/nodes").json()["value"]) == 2, "two nodes")
    account.azure.until(lambda: account.get("pools/pool").json()["allocationState"] == "steady", "the pool is steady")
    assert account.get("pools/pool").json()["targetDedicatedNodes"] == 2
    assert account.request("DELETE", "pools/pool").status_code == 202
    account.azure.until(lambda: account.get("pools/pool").status_code == 404, "the pool is gone")
    assert account.azure.get(f"{account.id}/pools/pool", ARM_VERSION).status_code == 404


def test_a_formula_is_enabled_evaluated_and_disabled(served_account: Account) -> None:
    account = served_account
    account.add_pool("pool", 0)
    account.azure.until(lambda: account.get("pools/pool").json()["allocationState"] == "steady", "the pool is steady")
    body = {"autoScaleFormula": FORMULA, "autoScaleEvaluationInterval": "PT5M"}
    answer = account.post("pools/pool/enableautoscale", body)
    assert answer.status_code == 200, answer.text
    run = account.post("pools/pool/evaluateautoscale", {"autoScaleFormula": "$TargetDedicatedNodes = 3;"}).json()
    assert "$TargetDedicatedNodes=3" in run["results"]
    bad = account.post("pools/pool/evaluateautoscale", {"autoScaleFormula": "$TargetDedicatedNodes = $PendingTask;"})
    assert bad.json()["error"]["code"] == "AutoScalingFormulaEvaluationError"
    pool = account.get("pools/pool").json()
    assert (pool["enableAutoScale"], pool["autoScaleFormula"], pool["autoScaleEvaluationInterval"]) == (True, FORMULA, "PT5M")
    account.azure.until(lambda: account.get("pools/pool").json()["currentDedicatedNodes"] == 1, "the formula has made a node")
    assert "$TargetDedicatedNodes=1" in account.get("pools/pool").json()["autoScaleRun"]["results"]
    answer = account.post("pools/pool/resize", {"targetDedicatedNodes": 2})
    assert (answer.status_code, code(answer)) == (409, "OperationInvalidForCurrentState")
    assert account.post("pools/pool/disableautoscale").status_code == 200
    assert account.get("pools/pool").json()["enableAutoScale"] is False


def test_a_pool_s_start_task_and_metadata_are_changed(account: Account) -> None:
    account.add_pool("pool", 0, startTask={"commandLine": "/bin/true"}, metadata=[{"name": "a", "value": "b"}])
    changed = {"metadata": [{"name": "c", "value": "d"}]}
    assert account.request("PATCH", "pools/pool", changed).status_code == 200
    pool = account.get("pools/pool").json()
    assert (pool["metadata"], pool["startTask"]["commandLine"]) == (changed["metadata"], "/bin/true")
    replaced = {"metadata": [], "applicationPackageReferences": [], "certificateReferences": []}  # as azure-batch 14.2 sends it
    assert account.post("pools/pool/updateproperties", replaced).status_code == 204
    assert "startTask" not in account.get("pools/pool").json()


def test_a_node_is_rebooted_and_what_else_is_done_to_it_is_refused_by_name(served_account: Account) -> None:
    account = served_account
    (node,) = account.idle_pool("pool")
    path = f"pools/pool/nodes/{node['id']}"
    assert account.post(f"{path}/reboot", {"nodeRebootOption": "requeue"}).status_code == 202
    account.azure.until(lambda: account.get(path).json()["state"] == "idle", "the node is back")
    for action in ("users", "start", "deallocate", "uploadbatchservicelogs", "disablescheduling"):
        answer = account.post(f"{path}/{action}", {})
        assert (answer.status_code, code(answer)) == (501, "NotImplemented")
        assert action in answer.json()["message"]["value"]


def test_images_that_batch_takes_are_listed(account: Account) -> None:
    images = account.get("supportedimages", **{"$filter": "osType eq 'linux'"}).json()["value"]
    assert all(image["osType"] == "linux" for image in images)
    hpc = [image for image in images if image["imageReference"]["offer"] == "ubuntu-hpc"]
    assert {image["nodeAgentSKUId"] for image in hpc} == {"batch.node.ubuntu 22.04", "batch.node.ubuntu 24.04"}


def test_a_running_task_is_ended_by_its_jobs_end(served_account: Account) -> None:
    account = served_account
    account.idle_pool("pool")
    account.add_job("job", "pool")
    account.add_tasks("job", "sleeps", "other", command="/bin/sleep 600")
    account.azure.until(lambda: account.get("jobs/job/tasks/sleeps").json()["state"] == "running", "the task runs")
    assert account.post("jobs/job/terminate").status_code == 202
    account.azure.until(lambda: account.get("jobs/job").json()["state"] == "completed", "the job is completed")
    task = account.get("jobs/job/tasks/sleeps").json()
    assert (task["state"], task["executionInfo"]["failureInfo"]["code"]) == ("completed", "TaskEnded")
    assert account.get("jobs/job/tasks/other").json()["state"] == "active"
    assert account.request("DELETE", "jobs/job").status_code == 202
    account.azure.until(lambda: account.get("jobs/job").status_code == 404, "the job is gone")
