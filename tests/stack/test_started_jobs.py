"""`up --start-jobs`: every job that is started by hand runs once, its log is shown, and a failure is one."""

import pytest

from tests.stack.configurations import with_sample_job
from tests.stack.conftest import MakeStack
from tests.support.embedded import ServedAzure

pytestmark = pytest.mark.slow


def test_each_manual_job_runs_once_and_one_that_fails_is_told_beside_those_that_did_not(
    azure: ServedAzure, make_stack: MakeStack
) -> None:
    config = with_sample_job()
    job = config["jobs"]["adder"]
    config["jobs"] |= {
        "broken": {**job, "command": ["sh", "-c", "echo no data; exit 4"]},
        "nightly": {**job, "schedule": "0 2 * * *"},
    }
    stack = make_stack(azure, config)
    done = stack.operations("up", "--start-jobs")
    text = done.stdout + done.stderr
    assert done.returncode == 1, text
    assert "on job adder: execution " in done.stdout
    assert "on job broken: execution " in done.stdout
    assert "    no data\n" in done.stdout
    assert "nightly: not started, its trigger is Schedule" in done.stdout
    rows = [line for line in done.stdout.splitlines() if ", exit code " in line]
    assert [row.partition(";")[0] for row in rows] == [
        "adder: Succeeded, exit code 0",
        "broken: Failed, exit code 4",
    ]
    assert all("USD at " in row for row in rows)
    assert "error: failed: broken (exit code 4)" in done.stderr
    assert "Traceback" not in text
