"""A part whose last day has passed, on the real engine and the embedded Azure: it stays, and the rest of the stack goes on."""

from typing import Any

import pytest

from tests.support.embedded import ServedAzure
from tests.support.stack import ProgramStack, changes_of

pytestmark = pytest.mark.slow
JOB = "azure-native:app:Job"


def says(day: str, **jobs: Any) -> dict[str, Any]:
    return {"team": "tests", "location": "eastus", "as_of": day, "jobs": jobs}


FIRST = {"expires_after": "2026-11-30"}
SECOND = {"expires_after": "2027-01-31"}


def test_a_part_that_has_ended_stays_as_it_is_and_the_rest_goes_on(azure: ServedAzure, engine_bin: Any) -> None:
    stack = ProgramStack(azure, "ended", says("2026-11-21", first=FIRST, second=SECOND), engine_bin=engine_bin)
    stack.create()
    try:
        stack.update()
        stack.configure(says("2026-12-05", first={**FIRST, "cpu": 8}, second={**SECOND, "cpu": 8}))
        said = stack.update()
        assert {step.name for step in changes_of(said) if step.type == JOB} == {"second-job"}
        assert "jobs.first.expires_after: its last day has passed: the part stays unchanged until a later one is set" in said
        assert stack.steps() == []

        stack.configure(says("2026-12-05", third=FIRST, second={**SECOND, "cpu": 8}))
        done = stack.up()
        assert done.returncode != 0
        assert "jobs.third.expires_after: must be after 2026-12-05" in done.stdout + done.stderr

        stack.configure(says("2026-12-05", first={"expires_after": "2027-01-31", "cpu": 8}, second={**SECOND, "cpu": 8}))
        assert {(step.operation, step.name) for step in stack.steps()} == {("update", "first-job")}
        stack.configure(says("2026-12-05", second={**SECOND, "cpu": 8}))
        assert ("delete", "first-job") in {(step.operation, step.name) for step in stack.steps()}
    finally:
        stack.end()
