"""Budgets as Azure answers them, whatever the clock says."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from localazure.kinds.budgets import Budgets
from tests.support.embedded import SUBSCRIPTION
from tests.support.managed_clusters import GROUP, ArmHarness

VERSION = "2024-08-01"
OF_GROUP = f"{GROUP}/providers/Microsoft.Consumption/budgets"
OF_SUBSCRIPTION = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Consumption/budgets"
OWNERS = {"enabled": True, "operator": "GreaterThan", "threshold": 80, "contactEmails": [], "contactRoles": ["Owner"]}
MONTH = {"startDate": "2026-11-01T00:00:00Z"}


def at(day: str) -> Callable[[], datetime]:
    return lambda: datetime.fromisoformat(day).replace(hour=23, tzinfo=UTC)


def budget(**properties: Any) -> dict[str, Any]:
    told = {"Actual_80": OWNERS}
    return {
        "properties": {
            "category": "Cost",
            "amount": 500,
            "timeGrain": "Monthly",
            "timePeriod": MONTH,
            "notifications": told,
            **properties,
        }
    }


@pytest.fixture
def arm(arm: ArmHarness) -> ArmHarness:
    arm.services.clock.now = at("2026-11-26")
    return arm


def refused(arm: ArmHarness, body: dict[str, Any], path: str = f"{OF_GROUP}/b") -> str:
    answer = arm.put(path, body, VERSION)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["code"] == "400"
    return answer.json()["error"]["message"]


def test_a_budget_is_shown_as_azure_recorded_it(arm: ArmHarness) -> None:
    sent = budget(timePeriod={"startDate": "2026-11-01T22:01:25.1128964Z"})
    made = arm.put(f"{OF_GROUP}/b", sent, VERSION)
    assert made.status_code == 201
    assert made.headers["location"].split("?")[0].endswith(f"{OF_GROUP}/b")
    shown = made.json()
    assert shown["id"] == f"{OF_GROUP}/b"
    assert shown["type"] == Budgets().arm_type
    assert shown["properties"] == {
        "category": "Cost",
        "amount": 500.0,
        "timeGrain": "Monthly",
        "timePeriod": {"startDate": "2026-11-01T00:00:00Z", "endDate": "2036-11-01T00:00:00Z"},
        "currentSpend": None,
        "notifications": {"actual_80": {**OWNERS, "thresholdType": "Actual", "contactGroups": []}},
    }
    later = arm.get(f"{OF_GROUP}/b", VERSION).json()
    assert later["eTag"] == shown["eTag"]
    assert later["properties"]["currentSpend"] == {"amount": 0.0, "unit": "USD"}


def test_it_changes_in_place_and_goes(arm: ArmHarness) -> None:
    path = f"{OF_GROUP}/b"
    first = arm.put(path, budget(), VERSION).json()
    forecast = {**OWNERS, "thresholdType": "Forecasted"}
    del forecast["contactEmails"]
    changed = arm.put(path, budget(amount=600.5, notifications={"expected": forecast}), VERSION)
    assert changed.status_code == 200
    assert (changed.json()["properties"]["amount"], changed.json()["eTag"]) != (500.0, first["eTag"])
    shown = arm.get(path, VERSION).json()["properties"]
    assert shown["notifications"]["expected"]["contactEmails"] == []
    assert shown["forecastSpend"] == {"amount": 0.0, "unit": "USD"}
    assert arm.delete(path, VERSION).status_code == 200
    gone = arm.get(path, VERSION)
    assert (gone.status_code, gone.json()["error"]["code"]) == (404, "404")
    assert "No budget found matching budgetName: b, under entityType: ResourceGroup" in gone.json()["error"]["message"]


def test_one_of_the_subscription_is_none_of_a_group_and_goes_with_nothing(arm: ArmHarness) -> None:
    assert arm.put(f"{OF_GROUP}/b", budget(), VERSION).status_code == 201
    assert arm.put(f"{OF_SUBSCRIPTION}/all", budget(notifications={}), VERSION).status_code == 201
    assert [each["name"] for each in arm.get(OF_GROUP, VERSION).json()["value"]] == ["b"]
    assert [each["name"] for each in arm.get(OF_SUBSCRIPTION, VERSION).json()["value"]] == ["all"]
    assert arm.delete(GROUP, "2024-03-01").status_code == 202
    assert arm.get(f"{OF_SUBSCRIPTION}/all", VERSION).status_code == 200


def test_it_keeps_its_start(arm: ArmHarness) -> None:
    path = f"{OF_GROUP}/b"
    past = "Start date for monthly time grain should not be prior to current month."
    assert arm.put(path, budget(), VERSION).status_code == 201
    arm.services.clock.now = at("2027-02-28")
    assert arm.put(path, budget(amount=1), VERSION).status_code == 200
    fixed = "Start date of budgets cannot be updated. Please delete and create a new budget."
    assert refused(arm, budget(timePeriod={"startDate": "2027-02-01T00:00:00Z"})) == fixed
    assert refused(arm, budget(), f"{OF_GROUP}/another") == past


def test_an_etag_of_another_state_is_refused_and_none_is_needed(arm: ArmHarness) -> None:
    first = arm.put(f"{OF_GROUP}/b", budget(), VERSION).json()
    assert arm.put(f"{OF_GROUP}/b", {**budget(amount=2), "eTag": first["eTag"]}, VERSION).status_code == 200
    assert "There are changes made to Budget b." in refused(arm, {**budget(amount=3), "eTag": '"1d402990c723f84"'})
    assert arm.put(f"{OF_GROUP}/b", budget(amount=3), VERSION).status_code == 200
