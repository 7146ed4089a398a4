"""The workflows of GitHub Actions: each job may do what is listed here, and no more; secrets belong to environments.

`make lint` checks their syntax, their shell and that actions are pinned (actionlint, shellcheck, zizmor); `tests/workflows` what
their scripts call, and when which job runs.
"""

import json
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.support.embedded import CHECKOUT

FOLDER = CHECKOUT / ".github" / "workflows"
FILES = sorted(FOLDER.iterdir())
READ = {"contents": "read"}
AZURE = {**READ, "id-token": "write"}
# What a job may do that may do more than read: who signs in to Azure, who writes what.
MAY = {
    ("review", "comment"): {"actions": "read", "pull-requests": "write"},
    ("review-live", "live"): AZURE,
    ("review-live", "comment"): {"actions": "read", "pull-requests": "write"},
    ("deploy", "plan"): AZURE,
    ("deploy", "deploy"): {**AZURE, "actions": "read"},
    ("review-stack", "up"): AZURE,
    ("review-stack", "down"): AZURE,
    ("drift", "drift"): {**AZURE, "issues": "write"},
    ("end", "past"): AZURE,
    ("end", "review-stacks"): AZURE,
    ("release", "publish"): {"attestations": "write", "contents": "write", "id-token": "write"},
    ("catalog", "refresh"): {"contents": "write", "pull-requests": "write"},
}


def tool(name: str) -> str | None:
    """A program of a package, beside this Python or on PATH."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else shutil.which(name)


@cache
def read(file: Path) -> dict[Any, Any]:
    return yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader)


def jobs() -> Iterator[tuple[str, str, dict[Any, Any], dict[str, Any]]]:
    """The name of each file, its job, the workflow and the job's content."""
    for file in FILES:
        workflow = read(file)
        yield from ((file.stem, name, workflow, job) for name, job in workflow["jobs"].items())


def test_a_job_may_do_what_is_listed() -> None:
    may = {(file, name): job["permissions"] for file, name, _, job in jobs() if job.get("permissions", READ) != READ}
    assert may == MAY
    for file, name, workflow, job in jobs():
        assert workflow["permissions"] == READ, file
        assert "pull_request_target" not in workflow[True], file  # YAML 1.1 reads `on` as a truth value
        assert job["timeout-minutes"] <= 90, (file, name)


def test_secrets_and_sign_ins_belong_to_an_environment() -> None:
    """Whose rules decide who gets them; a fork's pull request gets into none."""
    for file, name, workflow, job in jobs():
        if "secrets." in json.dumps(job) or job.get("permissions", {}).get("id-token"):
            assert job["environment"], (file, name)
            if "pull_request" in workflow[True]:
                assert "github.event.pull_request.head.repo.full_name == github.repository" in job["if"], (file, name)


def test_a_checkout_leaves_no_token_behind() -> None:
    for file, name, _, job in jobs():
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False, (file, name)
