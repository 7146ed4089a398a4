"""A budget that began in a month that is over; what else is answered about budgets: `conversations/budgets.yaml`."""

from datetime import UTC, datetime

from tests.support.managed_clusters import GROUP, ArmHarness


def test_it_is_changed_while_its_month_lies_behind(arm: ArmHarness) -> None:
    path = f"{GROUP}/providers/Microsoft.Consumption/budgets/b"
    told = {"enabled": True, "operator": "GreaterThan", "threshold": 80, "contactEmails": ["a@example.org"]}
    properties = {"category": "Cost", "amount": 5, "timeGrain": "Monthly", "notifications": {"a": told}}
    body = {"properties": {**properties, "timePeriod": {"startDate": "2026-11-01T00:00:00Z"}}}
    for day, status in ((26, 201), (57, 200)):
        arm.services.clock.now = lambda day=day: datetime(2026, 11 + day // 31, day % 31, tzinfo=UTC)
        assert arm.put(path, body, "2024-08-01").status_code == status
    assert "should not be prior to current month" in arm.put(f"{path}2", body, "2024-08-01").text
