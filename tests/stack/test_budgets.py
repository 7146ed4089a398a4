"""A budget comes up with the stack, changes in place, stays as it is when the month is over, and goes when its key does."""

import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.stack.conftest import MakeStack
from tests.stack.test_own_programs import PROGRAMS, Program
from tests.support.embedded import ServedAzure
from tests.support.stack import Step

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

VERSION = "2024-08-01"
TYPE = "azure-native:consumption:Budget"


def months_later(count: int) -> date:
    """The tenth of the month that is `count` after this one."""
    day = datetime.now(UTC).date().replace(day=10)
    for _ in range(count):
        day = (day + timedelta(days=31)).replace(day=10)
    return day


def started(azure: ServedAzure, budget: str) -> str:
    return azure.get(budget, VERSION).json()["properties"]["timePeriod"]["startDate"]


def test_a_budget_of_a_stack_file_comes_up_changes_in_place_and_goes(azure: ServedAzure, make_stack: MakeStack) -> None:
    config: dict[str, Any] = {"team": "tests", "location": "eastus", "budget": {"monthly_usd": 500}}
    stack = make_stack(azure, config)
    stack.become(config)
    budget = stack.outputs()["budget"]
    assert "/resourceGroups/" in budget
    made = azure.get(budget, VERSION).json()["properties"]
    assert (made["amount"], made["notifications"]["actual_GreaterThan_80_Percent"]["contactRoles"]) == (500.0, ["Owner"])
    assert stack.steps() == []

    config["budget"] |= {"monthly_usd": 750.5, "emails": ["team@example.com"], "warn_at": [90]}
    stack.configure(config)
    assert stack.steps() == [Step("update", TYPE, "budget-budget")]
    stack.update()
    changed = azure.get(budget, VERSION).json()["properties"]
    assert changed["amount"] == 750.5
    assert changed["notifications"].keys() == {"actual_GreaterThan_90_Percent", "forecasted_GreaterThan_100_Percent"}
    assert changed["timePeriod"] == made["timePeriod"]

    # Somebody changes it by hand: it is shown once it was read, and put right.
    theirs = azure.get(budget, VERSION).json()
    theirs["properties"] |= {"amount": 10_000, "notifications": {}}
    assert azure.put(budget, theirs, VERSION).status_code == 200
    refreshed = stack.pulumi("refresh", "--yes", "--skip-preview")
    assert refreshed.returncode == 0, refreshed.stdout + refreshed.stderr
    assert stack.steps() == [Step("update", TYPE, "budget-budget")]
    stack.update()
    assert azure.get(budget, VERSION).json()["properties"] == changed
    assert stack.steps() == []

    config["budget"]["enabled"] = False
    stack.become(config)
    assert "budget" not in stack.outputs()
    assert azure.get(budget, VERSION).status_code == 404
    assert stack.steps() == []


def test_in_a_later_month_nothing_changes_and_a_new_budget_starts_with_its_own(
    azure: ServedAzure, engine_bin: Path, tmp_path: Path
) -> None:
    mine = Program(tmp_path, (PROGRAMS / "spending.py").read_text(), Path(sys.executable), azure, engine_bin)
    mine.well("stack", "init", "one")
    try:
        mine.configure(day=months_later(0).isoformat(), monthly=500)
        mine.up()
        first = mine.outputs()["budget"]
        this_month = months_later(0).replace(day=1).isoformat()
        assert started(azure, first) == f"{this_month}T00:00:00Z"

        mine.configure(day=months_later(2).isoformat(), monthly=500)
        assert mine.steps() == {}
        mine.well("refresh", "--yes", "--skip-preview")
        assert mine.steps() == {}
        mine.configure(day=months_later(2).isoformat(), monthly=600)
        assert mine.steps() == {"spend-budget": "update"}
        mine.up()
        assert started(azure, first) == f"{this_month}T00:00:00Z"

        mine.configure(day=months_later(2).isoformat(), monthly=600, budget_name="another")
        assert set(mine.steps()) == {"spend-budget"}
        mine.up()
        assert azure.get(first, VERSION).status_code == 404
        assert started(azure, mine.outputs()["budget"]) == f"{months_later(2).replace(day=1).isoformat()}T00:00:00Z"
        mine.configure(day=months_later(3).isoformat(), monthly=600, budget_name="another")
        assert mine.steps() == {}
    finally:
        mine.well("destroy", "--yes", "--skip-preview")
        mine.well("stack", "rm", "--yes")
