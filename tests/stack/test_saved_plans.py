"""A plan is saved, reviewed and carried out as it is, or refused: `preview --save-plan` and `up --plan`."""

from pathlib import Path

import pytest

from azure_gpu_operations.exit_codes import FAILED, OK, STALE_PLAN
from tests.support.embedded import ServedAzure
from tests.support.stack import ProgramStack

pytestmark = pytest.mark.slow  # the real engine

PARTS = {"resource_group": "create", "identity": "create"}


def configuration(colour: str) -> dict[str, object]:
    return {"team": "plan", "location": "westeurope", "foundation": PARTS, "tags": {"colour": colour}}


def colours(stack: ProgramStack) -> set[str]:
    states = stack.exported().get("resources") or []
    return {each["outputs"]["tags"]["colour"] for each in states if "tags" in each.get("outputs", {})}


def test_a_plan_is_carried_out_once_and_refused_where_the_state_has_moved_on(
    azure: ServedAzure, shared: ProgramStack, tmp_path: Path
) -> None:
    first, second = (str(tmp_path / name) for name in ("first.json", "second.json"))
    shared.configure(configuration("red"))
    planned = shared.operations("preview", "--save-plan", first)
    assert planned.returncode == OK, planned.stdout + planned.stderr
    done = shared.operations("up", "--plan", first)  # the first of all, of a stack that was made for the plan
    assert (done.returncode, colours(shared)) == (OK, {"red"}), done.stdout + done.stderr

    again = shared.operations("up", "--plan", first)
    assert (again.returncode, again.stderr.count("\n")) == (STALE_PLAN, 1), again.stdout + again.stderr
    assert "has been updated since the plan was made" in again.stderr

    shared.configure(configuration("green"))
    assert shared.operations("preview", "--save-plan", second).returncode == OK
    done = shared.operations("up", "--plan", second)
    assert (done.returncode, colours(shared)) == (OK, {"green"}), done.stdout + done.stderr


def test_what_is_not_in_the_plan_is_refused_by_the_engine_and_the_plan_has_had_its_run(
    azure: ServedAzure, shared: ProgramStack, tmp_path: Path
) -> None:
    plan = str(tmp_path / "plan.json")
    shared.configure(configuration("red"))
    assert shared.operations("up").returncode == OK
    shared.configure(configuration("green"))
    assert shared.operations("preview", "--save-plan", plan).returncode == OK
    shared.configure(configuration("blue"))
    other = shared.operations("up", "--plan", plan)
    assert (other.returncode, colours(shared)) == (FAILED, {"red"}), other.stdout + other.stderr
    shared.configure(configuration("green"))
    assert shared.operations("up", "--plan", plan).returncode == STALE_PLAN
