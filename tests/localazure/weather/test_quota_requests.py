"""`request-quotas`, which `make up` runs: quotas of a stack's parts are judged at the parts' own dates, not at the server's."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from localazure import quota_requests
from localazure.errors import CommandError
from tests.localazure.conftest import new_group
from tests.support.embedded import SUBSCRIPTION
from tests.support.in_process import InProcessAzure

BATCH, APPS = "2024-07-01", "2025-02-02-preview"
K80, T4 = "standardNCFamily", "Standard NCASv3_T4 Family"
THEN = {"as-of": "2019-06-01"}  # before the end of K80s in 2023
IMAGE_ID = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/images/providers/Microsoft.Compute/images/ubuntu-gpu"
UBUNTU = {"imageReference": {"id": IMAGE_ID}, "nodeAgentSkuId": "batch.node.ubuntu 16.04"}
NOW = {
    "imageReference": {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2204", "version": "latest"},
    "nodeAgentSkuId": "batch.node.ubuntu 22.04",
}


@pytest.fixture
def group(rough: InProcessAzure) -> Iterator[str]:
    """A group that is gone after its test, since the command looks at the whole subscription."""
    made = new_group(rough)
    yield made
    rough.delete(made, "2024-03-01")
    while rough.get(made, "2024-03-01").status_code != 404:
        rough.move(1)


def account(server: InProcessAzure, group: str, tags: dict[str, str]) -> str:
    path = f"{group}/providers/Microsoft.Batch/batchAccounts/b{uuid.uuid4().hex[:12]}"
    return str(server.made(path, {"location": "westeurope", "tags": tags}, BATCH)["id"])


def pool(server: InProcessAzure, account: str, size: str, machine: dict[str, Any], tags: dict[str, str]) -> None:
    name = size.rpartition("_")[2].lower()
    properties = {"vmSize": size, "deploymentConfiguration": {"virtualMachineConfiguration": machine}}
    answer = server.put(f"{account}/pools/{name}", {"tags": tags, "properties": properties}, BATCH)
    assert answer.status_code == 200, answer.text


def requested(server: InProcessAzure) -> list[tuple[str, str]]:
    def ask(method: str, path: str, body: Any) -> tuple[int, dict[str, Any]]:
        answer = server.client.request(method, path, json=body)
        return answer.status_code, answer.json()

    return [(each.resource, each.quota) for each in quota_requests.request(ask, server.move)]


def families(server: InProcessAzure, account: str) -> dict[str, int]:
    shown = server.get(account, BATCH).json()["properties"]["dedicatedCoreQuotaPerVMFamily"]
    return {each["name"]: each["coreQuota"] for each in shown}


@pytest.mark.parametrize(("of_account", "of_pool"), [(THEN, THEN), ({}, THEN)])
def test_a_family_that_was_sold_at_the_date_of_the_account_or_its_pool_is_granted(
    rough: InProcessAzure, group: str, of_account: dict[str, str], of_pool: dict[str, str]
) -> None:
    made = account(rough, group, of_account)
    pool(rough, made, "Standard_NC6", UBUNTU, of_pool)
    assert requested(rough) == [(made.rpartition("/")[2], K80)]
    assert families(rough, made)[K80] == quota_requests.CORES
    assert requested(rough) == [], "what is granted isn't requested again"


def test_what_is_sold_today_is_granted_beside_it(rough: InProcessAzure, group: str) -> None:
    made = account(rough, group, {})
    pool(rough, made, "Standard_NC6", UBUNTU, THEN)
    pool(rough, made, "Standard_NC4as_T4_v3", NOW, {})
    assert sorted(quota for _, quota in requested(rough)) == sorted([K80, T4])
    assert (families(rough, made)[K80], families(rough, made)[T4]) == (quota_requests.CORES, quota_requests.CORES)


def test_a_family_that_has_been_retired_since_isnt_granted_and_the_command_says_so_without_waiting_longer(
    rough: InProcessAzure, group: str
) -> None:
    rough.fault("clock", date=THEN["as-of"])
    made = account(rough, group, {})
    pool(rough, made, "Standard_NC6", UBUNTU, {})
    rough.clear_faults()
    with pytest.raises(CommandError, match=f"not granted: {K80} of {made.rpartition('/')[2]}; .* sold at the date"):
        requested(rough)
    assert families(rough, made)[K80] == 0


def test_gpus_of_an_environment_are_granted(rough: InProcessAzure, group: str) -> None:
    path = f"{group}/providers/Microsoft.App/managedEnvironments/env"
    profiles = [{"name": "gpu-t4", "workloadProfileType": "Consumption-GPU-NC8as-T4"}]
    rough.made(path, {"location": "westeurope", "properties": {"workloadProfiles": profiles}}, APPS)
    assert requested(rough) == [("env", "ManagedEnvironmentConsumptionT4Gpus")]
