"""What stands around a workspace: Application Insights and autoscale settings of online deployments."""

from tests.support.managed_clusters import GROUP, ArmHarness
from tests.support.ml_resources import INSIGHTS, REGION

AUTOSCALE = "2021-05-01-preview"
ENDPOINT = f"{GROUP}/providers/Microsoft.MachineLearningServices/workspaces/team/onlineEndpoints/mnist"
BLUE = f"{ENDPOINT}/deployments/blue"
SETTING = f"{GROUP}/providers/Microsoft.Insights/autoscaleSettings/blue"


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
