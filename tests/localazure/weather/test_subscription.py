"""The subscription: a provider that isn't registered, policies, throttling, and names that deleted workspaces keep."""

import uuid
from types import SimpleNamespace
from typing import Any

import httpx

from localazure.weather import throttling
from localazure.weather.deleted_logs import DAYS
from tests.localazure.conftest import new_group
from tests.localazure.subscription_deployments import (
    VERSION,
    account as stored,
    body,
    fresh,
    in_group,
    new_group as group_in_template,
)
from tests.localazure.test_deployments import path
from tests.support.embedded import SUBSCRIPTION
from tests.support.in_process import InProcessAzure

LOGS, SETTINGS, VAULTS, PROVIDERS, GROUPS = "2023-09-01", "2021-05-01-preview", "2024-11-01", "2022-12-01", "2024-03-01"
STORAGE = "2024-01-01"
INSIGHTS = f"/subscriptions/{SUBSCRIPTION}/providers/microsoft.insights"


def logs(server: InProcessAzure, group: str, location: str = "westeurope") -> httpx.Response:
    path = f"{group}/providers/Microsoft.OperationalInsights/workspaces/logs"
    return server.put(path, {"location": location, "properties": {}}, LOGS)


def setting(server: InProcessAzure, group: str) -> httpx.Response:
    workspace = logs(server, group).json()["id"]
    vault = f"{group}/providers/Microsoft.KeyVault/vaults/kv{uuid.uuid4().hex[:12]}"
    properties = {
        "tenantId": server.tenant_id,
        "sku": {"family": "A", "name": "standard"},
        "enableRbacAuthorization": True,
    }
    made = server.made(vault, {"location": "westeurope", "properties": properties}, VAULTS)["id"]
    body = {"properties": {"workspaceId": workspace, "logs": [{"category": "AuditEvent", "enabled": True}]}}
    return server.put(f"{made}/providers/microsoft.insights/diagnosticSettings/all", body, SETTINGS)


def test_diagnostic_settings_want_a_registered_provider(rough: InProcessAzure) -> None:
    group = new_group(rough)
    refused = setting(rough, group)
    assert refused.status_code == 409
    message = f"The subscription '{SUBSCRIPTION}' is not registered to use microsoft.insights."
    assert refused.json() == {"code": "Conflict", "message": message}  # no envelope, so that clients don't know the code
    assert rough.get(INSIGHTS, PROVIDERS).json()["registrationState"] == "NotRegistered"
    registered = rough.post(f"{INSIGHTS}/register", PROVIDERS)
    assert (registered.status_code, registered.json()["registrationState"]) == (200, "Registered")
    assert setting(rough, group).status_code == 200
    rough.post(f"{INSIGHTS}/unregister", PROVIDERS)
    assert setting(rough, group).status_code == 409


def test_in_calm_weather_every_provider_is_registered(calm: InProcessAzure) -> None:
    calm.post(f"{INSIGHTS}/register", PROVIDERS)
    assert calm.get(INSIGHTS, PROVIDERS).json()["registrationState"] == "Registered"
    assert setting(calm, new_group(calm)).status_code == 200


def account(server: InProcessAzure, group: str, **properties: Any) -> httpx.Response:
    path = f"{group}/providers/Microsoft.Storage/storageAccounts/st{uuid.uuid4().hex[:12]}"
    given = {"location": "westeurope", "sku": {"name": "Standard_LRS"}, "kind": "StorageV2", "properties": properties}
    return server.put(path, given, STORAGE)


def test_a_policy_denies_a_value_and_says_which_assignment_it_was(calm: InProcessAzure) -> None:
    group = new_group(calm)
    denied = {"path": "*/storageAccounts/*", "property": "properties.allowSharedKeyAccess", "value": "true"}
    calm.fault("policy-deny", name="no-keys", **denied)
    refused = account(calm, group, allowSharedKeyAccess=True)
    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (403, "RequestDisallowedByPolicy")
    assert "was disallowed by policy. Policy identifiers: '" in error["message"]
    assert "policyAssignments/no-keys" in error["message"]
    [violation] = error["additionalInfo"]
    [evaluated] = violation["info"]["evaluationDetails"]["evaluatedExpressions"]
    assert violation["info"]["policyAssignmentName"] == "no-keys"
    assert (evaluated["path"], evaluated["expressionValue"]) == ("properties.allowSharedKeyAccess", True)
    assert account(calm, group, allowSharedKeyAccess=False).is_success
    assert account(calm, group).is_success


def test_a_policy_that_denies_is_told_for_what_waits_for_others_too(calm: InProcessAzure) -> None:
    name, first, second = fresh("rg-"), fresh("st"), fresh("st")
    calm.fault(
        "policy-deny", name="no-keys", path="*/storageAccounts/*", property="properties.allowSharedKeyAccess", value="true"
    )
    waiting = {**stored(second, allowSharedKeyAccess=True), "dependsOn": [first]}
    sent = body(group_in_template(name), in_group(name, stored(first), waiting, dependsOn=[name]))
    error = calm.post(path(f"/subscriptions/{SUBSCRIPTION}", "main") + "/validate", VERSION, sent).json()["error"]
    assert (
        error["message"] == "The template deployment failed because of policy violation. Please see details for more information."
    )
    [denied] = error["details"]
    assert (denied["code"], denied["target"]) == ("RequestDisallowedByPolicy", second)
    assert denied["additionalInfo"][0]["info"]["policyAssignmentName"] == "no-keys"


def test_a_policy_without_a_value_denies_every_one(calm: InProcessAzure) -> None:
    group = new_group(calm)
    calm.fault("policy-deny", name="no-keys", property="properties.allowSharedKeyAccess")
    assert account(calm, group, allowSharedKeyAccess=False).status_code == 403


def test_a_policy_adds_a_tag_that_is_not_there(calm: InProcessAzure) -> None:
    calm.fault("policy-tag", name="cost", tag="cost-center", value="42")
    path = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-{uuid.uuid4().hex[:12]}"
    made = calm.made(path, {"location": "westeurope", "tags": {"team": "vision"}}, GROUPS)
    assert made["tags"] == {"team": "vision", "cost-center": "42"}
    again = calm.made(path, {"location": "westeurope", "tags": {"Cost-Center": "7"}}, GROUPS)
    assert again["tags"] == {"Cost-Center": "7"}


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


def test_a_deleted_workspace_of_logs_keeps_its_name_and_comes_back(rough: InProcessAzure) -> None:
    group = new_group(rough)
    first = logs(rough, group).json()
    rough.delete(first["id"], LOGS)
    elsewhere = logs(rough, group, "northeurope")
    assert (elsewhere.status_code, elsewhere.json()["error"]["message"]) == (409, "The workspace name 'logs' is not unique.")
    listed = rough.get(f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.OperationalInsights/deletedWorkspaces", LOGS)
    assert (first["id"], "westeurope") in {(each["id"], each["location"]) for each in listed.json()["value"]}
    again = logs(rough, group).json()
    assert again["properties"]["customerId"] == first["properties"]["customerId"]
    rough.client.delete(first["id"], params={"api-version": LOGS, "force": "true"})
    assert logs(rough, group, "northeurope").json()["properties"]["customerId"] != first["properties"]["customerId"]
    assert DAYS == 14


def test_in_calm_weather_it_is_gone(calm: InProcessAzure) -> None:
    group = new_group(calm)
    first = logs(calm, group).json()
    calm.delete(first["id"], LOGS)
    assert logs(calm, group, "northeurope").json()["properties"]["customerId"] != first["properties"]["customerId"]
