"""What lies past its end, on the real engine and the embedded Azure: listed, taken down, not brought back by the next `up`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from azure_gpu.stack.ended import TAKEN_DOWN
from tests.support.embedded import SUBSCRIPTION, ServedAzure
from tests.support.stack import ProgramStack, changes_of

pytestmark = pytest.mark.slow
ENDS, LATER = {"expires_after": "2026-11-30"}, {"expires_after": "2027-01-31"}
AFTER = ("--as-of", "2026-12-05")
JOB = "azuregpu:index:ServerlessGpuJob"
LOCKS_VERSION = "2020-05-01"


def says(day: str, jobs: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"team": "tests", "location": "eastus", "as_of": day, "jobs": jobs, "protect_data": True, **more}


BOTH = says("2026-11-21", {"first": ENDS, "second": LATER})


@pytest.fixture(scope="module")
def stack(azure: ServedAzure, engine_bin: Path) -> Iterator[ProgramStack]:
    """For all tests here, each of which brings it to what it needs; the last one ends it."""
    made = ProgramStack(azure, "ending", BOTH, engine_bin=engine_bin)
    yield made
    if made.name in made.names():
        made.end()


def jobs_of(stack: ProgramStack) -> list[str]:
    return sorted(each["urn"].split("::")[-1] for each in stack.exported()["resources"] if each["type"] == JOB)


def change_protection(stack: ProgramStack, word: str, urn: str) -> None:
    done = stack.operations("pulumi", "state", word, "--yes", urn)
    assert done.returncode == 0, done.stdout + done.stderr


def ended(stack: ProgramStack, *words: str) -> tuple[int, dict[str, Any]]:
    done = stack.operations("end", "--past", *AFTER, "--json", *words)
    assert done.returncode in (0, 3), done.stdout + done.stderr
    return done.returncode, json.loads(done.stdout)


def test_a_part_is_listed_taken_down_and_not_brought_back_while_the_rest_goes_on(stack: ProgramStack) -> None:
    stack.become(BOTH)
    done = stack.operations("end", "--past", *AFTER)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "  jobs.first (ServerlessGpuJob): expired; ended 2026-12-01T00:00:00Z, 4 days ago; " in done.stdout
    assert "1 part has expired and not been destroyed\nto destroy the parts that aren't kept, add --yes\n" in done.stdout
    assert jobs_of(stack) == ["first", "second"]

    code, told = ended(stack, "--yes")
    [found] = told["stacks"]
    assert (code, told["left"], [(part["path"], part["state"]) for part in found["parts"]]) == (
        0,
        0,
        [("jobs.first", "taken down")],
    )
    assert (found["every_part_is_past"], found["destroyed_as_a_whole"], found["error"]) == (False, False, None)
    assert jobs_of(stack) == ["second"]
    names = [
        each["name"]
        for each in stack.azure.get(f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.App/jobs", "2025-01-01").json()["value"]
    ]
    assert [name for name in names if "ending" in name and "first" in name] == []
    assert ended(stack) == (0, {**told, "stacks": [{**found, "parts": [], "notes": []}]})

    # The next `up` from the same file, with a change of something else, brings that and not the part; the one after it neither.
    later = says("2026-12-05", {"first": ENDS, "second": {**LATER, "cpu": 8}})
    stack.configure(later)
    for changed in (True, False):
        said = stack.update()
        steps = changes_of(said)
        assert ("second-job" in {step.name for step in steps}, bool(steps)) == (changed, changed)
        assert {step.operation for step in steps} <= {"update"}
        assert "jobs.first.expires_after: it was taken down after its last day: it isn't declared until" in said
    assert stack.outputs()[TAKEN_DOWN] == {"jobs.first": "2026-12-01T00:00:00Z"}
    assert "first" not in stack.outputs()["jobs"]

    # A new part with a past day is refused as before; a later day brings the old one back.
    stack.configure(says("2026-12-05", {"first": ENDS, "third": ENDS, "second": LATER}))
    refused = stack.up()
    assert refused.returncode != 0
    assert "jobs.third.expires_after: must be after 2026-12-05" in refused.stdout + refused.stderr
    stack.configure(says("2026-12-05", {"first": LATER, "second": {**LATER, "cpu": 8}}))
    assert ("create", "first-job") in {(step.operation, step.name) for step in stack.changes()}
    assert TAKEN_DOWN not in stack.outputs()


def test_what_is_protected_or_locked_stays_and_says_why(stack: ProgramStack) -> None:
    stack.become(BOTH)
    [urn] = [each["urn"] for each in stack.exported()["resources"] if each["urn"].endswith("::first-job")]
    job = stack.outputs()["jobs"]["first"]
    change_protection(stack, "protect", urn)
    code, told = ended(stack, "--yes")
    [part] = told["stacks"][0]["parts"]
    assert (code, part["state"]) == (3, "stays")
    assert part["why"].startswith("first-job is protected; fix: python -m operations pulumi state unprotect URN --stack ending")
    change_protection(stack, "unprotect", urn)

    lock = f"{job}/providers/Microsoft.Authorization/locks/keep"
    made = stack.azure.put(lock, {"properties": {"level": "CanNotDelete", "notes": "for the audit"}}, LOCKS_VERSION)
    assert made.status_code == 201, made.text
    code, told = ended(stack, "--yes")
    [part] = told["stacks"][0]["parts"]
    assert (code, part["state"]) == (3, "stays")
    assert (
        part["why"]
        == f"the lock keep (CanNotDelete) on {job.rsplit('/', 1)[-1]} in Azure protects it; fix: delete the lock, if it is yours"
    )
    assert stack.azure.get(job, "2025-01-01").status_code == 200
    assert stack.azure.delete(lock, LOCKS_VERSION).status_code == 200
    assert ended(stack, "--yes")[0] == 0
    assert jobs_of(stack) == ["second"]


def test_a_stack_whose_every_part_is_past_goes_as_a_whole_only_where_it_is_short_lived(stack: ProgramStack) -> None:
    stack.become(says("2026-11-21", {"first": ENDS}, foundation={"storage": "create", "identity": "create"}))
    done = stack.operations("end", "--past", *AFTER)
    assert (
        "every part of it has expired; to destroy the rest with its data: python -m operations down --stack ending" in done.stdout
    )
    code, told = ended(stack, "--yes")
    assert (code, told["stacks"][0]["destroyed_as_a_whole"], jobs_of(stack)) == (0, False, [])
    assert "foundation-storage" in {each["urn"].split("::")[-1] for each in stack.exported()["resources"]}

    stack.become(says("2026-11-21", {"again": ENDS}, foundation={"storage": "create", "identity": "create"}, protect_data=False))
    code, told = ended(stack, "--yes")
    assert (code, told["stacks"][0]["destroyed_as_a_whole"]) == (0, True)
    assert stack.name not in stack.names()
    assert (
        stack.azure.get(f"/subscriptions/{SUBSCRIPTION}/resourceGroups/azure-gpu-tests-ending", "2024-03-01").status_code == 404
    )
