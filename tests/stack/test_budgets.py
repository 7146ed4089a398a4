"""A budget comes up with the stack, changes in place, stays as it is when the month is over, and goes when its key does."""

import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from tests.stack.test_own_programs import PROGRAMS, Program
from tests.support.embedded import ServedAzure

pytestmark = pytest.mark.slow

VERSION = "2024-08-01"


def months_later(count: int) -> date:
    """The tenth of the month that is `count` after this one."""
    day = datetime.now(UTC).date().replace(day=10)
    for _ in range(count):
        day = (day + timedelta(days=31)).replace(day=10)
    return day


def started(azure: ServedAzure, budget: str) -> str:
    return azure.get(budget, VERSION).json()["properties"]["timePeriod"]["startDate"]


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
