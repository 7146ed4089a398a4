"""What stands around a workspace: Application Insights, private endpoints, and autoscale settings of online deployments."""

from typing import Any

import pytest

from tests.support.managed_clusters import GROUP, ArmHarness
from tests.support.ml_resources import INSIGHTS, REGION, VAULTS

AUTOSCALE = "2021-05-01-preview"
NETWORK = "2024-05-01"
ENDPOINT = f"{GROUP}/providers/Microsoft.MachineLearningServices/workspaces/team/onlineEndpoints/mnist"
BLUE = f"{ENDPOINT}/deployments/blue"
SETTING = f"{GROUP}/providers/Microsoft.Insights/autoscaleSettings/blue"
VAULT = f"{GROUP}/providers/Microsoft.KeyVault/vaults/team"
PRIVATE = f"{GROUP}/providers/Microsoft.Network/privateEndpoints/vault"
SUBNET = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/lab/subnets/default"


def test_a_setting_of_a_deployment_is_kept(arm: ArmHarness) -> None:
    trigger = {
        "metricName": "CpuUtilizationPercentage",
        "metricResourceUri": BLUE,
        "timeGrain": "PT1M",
        "statistic": "Average",
        "timeWindow": "PT5M",
        "timeAggregation": "Average",
        "operator": "GreaterThan",
        "threshold": 70,
    }
    action = {"direction": "Increase", "type": "ChangeCount", "value": "1", "cooldown": "PT5M"}
    capacity = {"minimum": "1", "maximum": "3", "default": "1"}
    profile = {"name": "default", "capacity": capacity, "rules": [{"metricTrigger": trigger, "scaleAction": action}]}
    body = {"location": REGION, "properties": {"enabled": True, "targetResourceUri": BLUE, "profiles": [profile]}}
    made = arm.put(SETTING, body, AUTOSCALE)
    assert made.status_code == 201, made.text
    found = made.json()["properties"]
    assert (found["name"], found["notifications"]) == ("blue", [])
    assert found["profiles"][0]["rules"][0]["metricTrigger"]["dividePerInstance"] is False
    assert arm.delete(SETTING, AUTOSCALE).status_code == 200


def test_application_insights_has_a_key_and_keeps_it(arm: ArmHarness) -> None:
    path = f"{GROUP}/providers/Microsoft.Insights/components/team"
    body = {"location": REGION, "kind": "web", "properties": {"Application_Type": "web"}}
    made = arm.put(path, body, INSIGHTS).json()["properties"]
    assert made["ConnectionString"].startswith(f"InstrumentationKey={made['InstrumentationKey']};")
    assert (made["RetentionInDays"], made["IngestionMode"]) == (90, "LogAnalytics")
    again = arm.put(path, {**body, "tags": {"a": "b"}}, INSIGHTS).json()["properties"]
    assert again["InstrumentationKey"] == made["InstrumentationKey"]


@pytest.fixture
def vault(arm: ArmHarness) -> ArmHarness:
    tenant = arm.services.settings.tenant_id
    secure = {"tenantId": tenant, "sku": {"family": "A", "name": "standard"}, "enableRbacAuthorization": True}
    assert arm.put(VAULT, {"location": REGION, "properties": secure}, VAULTS).status_code == 200
    return arm


def private(**connection: Any) -> dict[str, Any]:
    given = {"privateLinkServiceId": VAULT, "groupIds": ["vault"], **connection}
    connections = [{"name": "vault", "properties": given}]
    return {"location": REGION, "properties": {"subnet": {"id": SUBNET}, "privateLinkServiceConnections": connections}}


def test_a_private_endpoint_is_approved_and_shown(vault: ArmHarness) -> None:
    vault.succeeded(vault.put(PRIVATE, private(), NETWORK))
    found = vault.get(PRIVATE, NETWORK).json()["properties"]
    (connection,) = found["privateLinkServiceConnections"]
    assert connection["properties"]["privateLinkServiceConnectionState"]["status"] == "Approved"
    assert found["manualPrivateLinkServiceConnections"] == []
    vault.succeeded(vault.delete(PRIVATE, NETWORK))
