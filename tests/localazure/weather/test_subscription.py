"""The subscription: a policy that denies a part of a template, and throttling. The rest: `conversations/weather.yaml`."""

import uuid
from types import SimpleNamespace
from typing import Any

from localazure.weather import throttling
from tests.localazure.conftest import new_group
from tests.localazure.test_deployments import ACCOUNT, SCHEMA, VERSION, path
from tests.support.embedded import SUBSCRIPTION
from tests.support.in_process import InProcessAzure

GROUPS = "2024-03-01"
OF_SUBSCRIPTION = "https://schema.management.azure.com/schemas/2018-05-01/subscriptionDeploymentTemplate.json#"
PLACE = {"location": "westeurope"}
TYPE = "Microsoft.Resources/deployments"


def test_a_policy_that_denies_is_told_for_what_waits_for_others_too(calm: InProcessAzure) -> None:
    name, first, second = (f"{each}{uuid.uuid4().hex[:12]}" for each in ("rg-", "st", "st"))
    calm.fault(
        "policy-deny", name="no-keys", path="*/storageAccounts/*", property="properties.allowSharedKeyAccess", value="true"
    )
    account = {"type": ACCOUNT, "apiVersion": "2024-01-01", "kind": "StorageV2", "sku": {"name": "Standard_LRS"}, **PLACE}
    waiting = {**account, "name": second, "properties": {"allowSharedKeyAccess": True}, "dependsOn": [first]}
    inner = {"mode": "Incremental", "expressionEvaluationOptions": {"scope": "inner"}}
    inner |= {"template": {"$schema": SCHEMA, "contentVersion": "1.0.0.0", "resources": [{**account, "name": first}, waiting]}}
    nested = {"type": TYPE, "apiVersion": VERSION, "name": "in", "resourceGroup": name, "properties": inner, "dependsOn": [name]}
    group = {"type": "Microsoft.Resources/resourceGroups", "apiVersion": GROUPS, "name": name, **PLACE}
    template = {"$schema": OF_SUBSCRIPTION, "contentVersion": "1.0.0.0", "resources": [group, nested]}
    sent = {**PLACE, "properties": {"mode": "Incremental", "template": template}}
    error = calm.post(path(f"/subscriptions/{SUBSCRIPTION}", "main") + "/validate", VERSION, sent).json()["error"]
    assert (
        error["message"] == "The template deployment failed because of policy violation. Please see details for more information."
    )
    [denied] = error["details"]
    assert (denied["code"], denied["target"]) == ("RequestDisallowedByPolicy", second)
    assert denied["additionalInfo"][0]["info"]["policyAssignmentName"] == "no-keys"


def test_requests_beyond_a_bucket_are_throttled_until_it_fills_again(calm: InProcessAzure) -> None:
    group = new_group(calm)
    path = f"{group}?api-version={GROUPS}"
    calm.fault("weather", name="throttling")
    calm.weather.allowances.clear()
    services: Any = SimpleNamespace(weather=calm.weather, clock=calm)
    for _ in range(250):
        throttling.check("GET", SUBSCRIPTION, services)
    refused = calm.client.get(path)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert refused.json()["error"]["code"] == "SubscriptionRequestsThrottled"
    assert calm.put(group, {"location": "westeurope"}, GROUPS).status_code == 200  # writes have a bucket of their own
    calm.move(1)
    assert [calm.client.get(path).status_code for _ in range(26)] == [200] * 25 + [429]
