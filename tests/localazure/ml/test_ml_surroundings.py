"""What stands around a workspace: Application Insights, private endpoints, and autoscale settings of online deployments."""

from typing import Any

import pytest

from localazure.arm.store import Resource
from localazure.kinds import autoscale_settings
from tests.localazure.parts import arm_id
from tests.support.managed_clusters import GROUP, ArmHarness, refusal
from tests.support.ml_resources import INSIGHTS, REGION, VAULTS

AUTOSCALE = "2021-05-01-preview"
NETWORK = "2024-05-01"
ENDPOINT = f"{GROUP}/providers/Microsoft.MachineLearningServices/workspaces/team/onlineEndpoints/mnist"
BLUE = f"{ENDPOINT}/deployments/blue"
SETTING = f"{GROUP}/providers/Microsoft.Insights/autoscaleSettings/blue"
VAULT = f"{GROUP}/providers/Microsoft.KeyVault/vaults/team"
PRIVATE = f"{GROUP}/providers/Microsoft.Network/privateEndpoints/vault"
SUBNET = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/lab/subnets/default"


def rule(direction: str = "Increase", **changed: Any) -> dict[str, Any]:
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
    action = {"direction": direction, "type": "ChangeCount", "value": "1", "cooldown": "PT5M"}
    return {"metricTrigger": {**trigger, **changed}, "scaleAction": action}


def profile(minimum: str = "1", maximum: str = "3", default: str = "1", rules: int = 1, **changed: Any) -> dict[str, Any]:
    capacity = {"minimum": minimum, "maximum": maximum, "default": default}
    return {"name": "default", "capacity": capacity, "rules": [rule(**changed)] * rules}


def setting(**changed: Any) -> dict[str, Any]:
    given = {"enabled": True, "targetResourceUri": BLUE, "profiles": [profile()], **changed}
    return {"location": REGION, "properties": given}


@pytest.fixture
def deployed(arm: ArmHarness) -> ArmHarness:
    """With an online deployment that is there, whoever serves it."""
    for path in (BLUE, BLUE.replace("blue", "green")):
        arm.store.put(Resource(id=arm_id(path), body={"location": REGION, "properties": {}}))
    return arm


def test_a_setting_scales_one_deployment(deployed: ArmHarness) -> None:
    by_requests = profile(metricName="RequestsPerMinute", metricResourceUri=ENDPOINT)
    made = deployed.put(SETTING, setting(profiles=[profile(), by_requests]), AUTOSCALE)
    assert made.status_code == 201, made.text
    found = made.json()["properties"]
    assert (found["name"], found["notifications"]) == ("blue", [])
    of = autoscale_settings.of_deployment(BLUE.upper(), deployed.services)
    assert of is not None
    assert of.id.text == SETTING
    second = refusal(deployed.put(SETTING.replace("blue", "more"), setting(), AUTOSCALE))
    assert second[0] == 409
    assert deployed.delete(SETTING, AUTOSCALE).status_code == 200
    assert autoscale_settings.of_deployment(BLUE, deployed.services) is None


@pytest.mark.parametrize(
    ("changed", "status", "message"),
    [
        ({"targetResourceUri": f"{BLUE}x"}, 404, "was not found"),
        ({"profiles": []}, 400, "1 to 20 are allowed"),
        ({"profiles": [profile(minimum="0", default="0")]}, 400, "at least 1 instance"),
        ({"profiles": [profile(minimum="2")]}, 400, "The default is not between"),
        ({"profiles": [profile(maximum="many")]}, 400, "'many' isn't an integer"),
        ({"profiles": [profile(rules=11)]}, 400, "at most 10 are allowed"),
        ({"profiles": [profile(metricResourceUri=GROUP)]}, 400, "says nothing of"),
        ({"name": "green"}, 400, "isn't that of the resource"),
    ],
    ids=["gone", "none", "zero", "default", "number", "rules", "metric", "name"],
)
def test_a_wrong_setting_is_refused(deployed: ArmHarness, changed: dict[str, Any], status: int, message: str) -> None:
    found = refusal(deployed.put(SETTING, setting(**changed), AUTOSCALE))
    assert found[0] == status
    assert message in found[2]


def test_application_insights_has_a_key_and_keeps_it(arm: ArmHarness) -> None:
    path = f"{GROUP}/providers/Microsoft.Insights/components/team"
    body = {"location": REGION, "kind": "web", "properties": {"Application_Type": "web"}}
    made = arm.put(path, body, INSIGHTS).json()["properties"]
    assert made["ConnectionString"].startswith(f"InstrumentationKey={made['InstrumentationKey']};")
    assert (made["RetentionInDays"], made["IngestionMode"]) == (90, "LogAnalytics")
    again = arm.put(path, {**body, "tags": {"a": "b"}}, INSIGHTS).json()["properties"]
    assert again["InstrumentationKey"] == made["InstrumentationKey"]
    wrong = {**body, "properties": {"Application_Type": "web", "RetentionInDays": 45}}
    assert "it takes 30, 60, 90" in refusal(arm.put(path, wrong, INSIGHTS))[2]
    nowhere = {**body, "properties": {"Application_Type": "web", "WorkspaceResourceId": f"{GROUP}/x"}}
    assert refusal(arm.put(path, nowhere, INSIGHTS))[:2] == (400, "BadRequest")


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
