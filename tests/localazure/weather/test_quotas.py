"""Quotas of GPUs that a new resource doesn't have, and the support request that raises them."""

import json
import uuid
from typing import Any

import pytest

from localazure.apps import capacity
from localazure.kinds import batch_quotas
from localazure.weather import granted_quotas
from tests.localazure.conftest import new_group
from tests.support.embedded import SUBSCRIPTION
from tests.support.in_process import InProcessAzure

SUPPORT, BATCH, APPS = "2024-04-01", "2024-07-01", "2025-02-02-preview"
TICKETS = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Support/supportTickets"
T4 = "Standard NCASv3_T4 Family"
T4_PROFILE = "Consumption-GPU-NC8as-T4"


def ticket(region: str, **payload: Any) -> dict[str, Any]:
    change = {"region": region, "payload": json.dumps(payload)}
    details = {"quotaChangeRequestSubType": "Account", "quotaChangeRequestVersion": "1.0", "quotaChangeRequests": [change]}
    return {
        "properties": {
            "title": "GPUs",
            "description": "a few",
            "severity": "minimal",
            "serviceId": "/providers/Microsoft.Support/services/quota",
            "problemClassificationId": "/providers/Microsoft.Support/services/quota/problemClassifications/batch",
            "contactDetails": {"firstName": "Ada"},
            "quotaTicketDetails": details,
        }
    }


def asked(server: InProcessAzure, body: dict[str, Any]) -> dict[str, Any]:
    answer = server.put(f"{TICKETS}/t-{uuid.uuid4().hex[:8]}", body, SUPPORT)
    assert answer.status_code == 200, answer.text
    return answer.json()


def account(server: InProcessAzure, group: str, name: str) -> str:
    path = f"{group}/providers/Microsoft.Batch/batchAccounts/{name}"
    return server.made(path, {"location": "westeurope"}, BATCH)["id"]


def families(server: InProcessAzure, path: str) -> dict[str, int]:
    shown = server.get(path, BATCH).json()["properties"]["dedicatedCoreQuotaPerVMFamily"]
    return {each["name"]: each["coreQuota"] for each in shown}


def test_a_new_batch_account_has_no_vcpus_with_gpus_until_a_request_is_granted(rough: InProcessAzure) -> None:
    group, name = new_group(rough), f"b{uuid.uuid4().hex[:12]}"
    path = account(rough, group, name)
    shown = families(rough, path)
    assert shown[T4] == 0
    assert any(shown.values())  # of families without GPUs
    made = asked(rough, ticket("WestEurope", AccountName=name, VMFamily="standardNCASv3_T4Family", NewLimit=16, Type="Dedicated"))
    assert made["properties"]["status"] == "Open"
    assert families(rough, path)[T4] == 0
    rough.move(5)
    assert families(rough, path)[T4] == 16
    assert rough.get(made["id"], SUPPORT).json()["properties"]["status"] == "Closed"


def test_a_granted_quota_goes_with_its_account(rough: InProcessAzure) -> None:
    group, name = new_group(rough), f"b{uuid.uuid4().hex[:12]}"
    path = account(rough, group, name)
    asked(rough, ticket("westeurope", AccountName=name, VMFamily=T4, NewLimit=16, Type="Dedicated"))
    rough.move(5)
    assert families(rough, path)[T4] == 16
    rough.delete(path, BATCH)
    for _ in range(20):
        if rough.get(path, BATCH).status_code == 404:
            break
    rough.move(1)
    assert families(rough, account(rough, group, name))[T4] == 0


def test_other_quotas_of_an_account_are_asked_for_alike(rough: InProcessAzure) -> None:
    group, name = new_group(rough), f"b{uuid.uuid4().hex[:12]}"
    path = account(rough, group, name)
    asked(rough, ticket("westeurope", AccountName=name, NewLimit=7, Type="Pools"))
    asked(rough, ticket("northeurope", AccountName=name, NewLimit=8, Type="LowPriority"))  # where the account isn't
    rough.move(5)
    shown = rough.get(path, BATCH).json()["properties"]
    assert shown["poolQuota"] == 7
    assert shown["lowPriorityCoreQuota"] != 8


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({"properties": {"title": "x"}}, "properties.contactDetails"),
        (ticket("westeurope", AccountName="x"), "NewLimit"),
    ],
)
def test_a_request_that_is_not_whole_is_refused(rough: InProcessAzure, body: dict[str, Any], word: str) -> None:
    answer = rough.put(f"{TICKETS}/t-{uuid.uuid4().hex[:8]}", body, SUPPORT)
    assert answer.status_code == 400
    assert word in answer.json()["error"]["message"]


def test_requests_are_listed_and_an_unknown_one_is_not_there(rough: InProcessAzure) -> None:
    made = asked(rough, ticket("westeurope", AccountName="nobody", NewLimit=1, Type="Pools"))
    assert made["name"] in [each["name"] for each in rough.get(TICKETS, SUPPORT).json()["value"]]
    assert rough.get(f"{TICKETS}/other", SUPPORT).status_code == 404
    assert rough.put(made["id"], ticket("westeurope", AccountName="x", NewLimit=1), SUPPORT).status_code == 409


def test_in_calm_weather_there_is_quota(calm: InProcessAzure) -> None:
    path = account(calm, new_group(calm), f"b{uuid.uuid4().hex[:12]}")
    assert families(calm, path)[T4] == batch_quotas.FAMILY_VCPUS
    calm.fault("weather", name="batch-quota")
    assert families(calm, path)[T4] == 0


def environment(server: InProcessAzure, group: str) -> str:
    path = f"{group}/providers/Microsoft.App/managedEnvironments/env"
    profiles = [{"name": "gpu-t4", "workloadProfileType": T4_PROFILE}]
    return server.made(path, {"location": "westeurope", "properties": {"workloadProfiles": profiles}}, APPS)["id"]


def usages(server: InProcessAzure, path: str) -> dict[str, int]:
    value = server.get(f"{path}/usages", APPS).json()["value"]
    return {each["name"]["value"]: each["limit"] for each in value}


def test_a_new_environment_has_no_gpus_until_a_request_is_granted(rough: InProcessAzure) -> None:
    path = environment(rough, new_group(rough))
    name = granted_quotas.QUOTAS[T4_PROFILE]
    assert set(granted_quotas.QUOTAS) == set(capacity.QUOTAS)
    assert usages(rough, path) == dict.fromkeys(granted_quotas.QUOTAS.values(), 0)
    asked(rough, ticket("westeurope", ResourceId=path, Type=name, NewLimit=2))
    rough.move(5)
    assert usages(rough, path)[name] == 2


def test_a_job_waits_for_its_environment_while_that_is_made(rough: InProcessAzure) -> None:
    group = new_group(rough)
    path = f"{group}/providers/Microsoft.App/managedEnvironments/env"
    begun = rough.put(path, {"location": "westeurope", "properties": {}}, APPS)
    assert begun.status_code == 201
    template = {"containers": [{"name": "main", "image": "mcr.microsoft.com/k8se/quickstart-jobs:latest"}]}
    configuration = {"triggerType": "Manual", "replicaTimeout": 60, "manualTriggerConfig": {}}
    job = {
        "location": "westeurope",
        "properties": {"environmentId": path, "configuration": configuration, "template": template},
    }
    refused = rough.put(f"{group}/providers/Microsoft.App/jobs/job", job, APPS)
    assert refused.json()["error"]["code"] == "ManagedEnvironmentNotProvisioned"
    rough.move(2)
