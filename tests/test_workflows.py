"""The workflows of GitHub Actions: what they run is named by its commit, each job may do what is listed here, and no more.

`tests/workflows` runs them.
"""

import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.embedded import CHECKOUT

FOLDER = CHECKOUT / ".github" / "workflows"
FILES = sorted(FOLDER.iterdir())
ACTIONS = sorted((CHECKOUT / ".github" / "actions").glob("*/action.yml"))
MAKEFILE = (CHECKOUT / "Makefile").read_text(encoding="utf-8")
READ = {"contents": "read"}
AZURE = {**READ, "id-token": "write"}
# What a job may do that may do more than read: who signs in to Azure, who writes what.
MAY = {
    ("review-comment", "comment"): {**READ, "actions": "read", "checks": "write", "pull-requests": "write"},
    ("review-live", "live"): AZURE,
    ("deploy", "plan"): {**AZURE, "pull-requests": "write"},
    ("deploy", "deploy"): {**AZURE, "actions": "read", "pull-requests": "write"},
    ("review-stack", "up"): AZURE,
    ("review-stack", "down"): AZURE,
    ("review-stack", "tell"): {**READ, "pull-requests": "write"},
    ("drift", "drift"): {**AZURE, "issues": "write"},
    ("end", "past"): AZURE,
    ("end", "review-stacks"): AZURE,
    ("release", "publish"): {"contents": "write"},
}


def tool(name: str) -> str | None:
    """A program of a package, beside this Python or on PATH."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else shutil.which(name)


@cache
def read(file: Path) -> dict[Any, Any]:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def steps(file: Path) -> list[dict[str, Any]]:
    content = read(file)
    return content["runs"]["steps"] if "runs" in content else [step for job in content["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_job_may_do_what_is_listed(file: Path) -> None:
    workflow = read(file)
    assert workflow["permissions"] == READ
    assert "pull_request_target" not in workflow[True]  # YAML 1.1 reads `on` as a truth value
    for name, job in workflow["jobs"].items():
        assert job["timeout-minutes"] <= 90
        assert job.get("permissions", READ) == MAY.get((file.stem, name), READ), name


def test_every_job_that_is_listed_is_there() -> None:
    assert {(file.stem, name) for file in FILES for name in read(file)["jobs"]} >= MAY.keys()


@pytest.mark.parametrize("file", [*FILES, *ACTIONS], ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_what_runs_is_named_by_its_commit_and_no_text_of_others_is_in_a_shell(file: Path) -> None:
    for step in steps(file):
        if "uses" in step:
            own = step["uses"].startswith("./") and (CHECKOUT / step["uses"] / "action.yml") in ACTIONS
            assert own or re.fullmatch(r"[\w-]+/[\w./-]+@[0-9a-f]{40}", step["uses"]), step
        assert "${{" not in step.get("run", "")
        for made in re.findall(r"\bmake (?:-s )?([a-z]+)", step.get("run", "")):
            assert re.search(rf"^{made}:", MAKEFILE, re.MULTILINE), made


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_secrets_and_sign_ins_belong_to_an_environment(file: Path) -> None:
    """Whose rules decide who gets them; a fork's pull request gets into none."""
    workflow = read(file)
    for name, job in workflow["jobs"].items():
        if "secrets." in json.dumps(job) or job.get("permissions", {}).get("id-token"):
            assert job["environment"], name
            if "pull_request" in workflow[True]:
                assert "github.event.pull_request.head.repo.full_name == github.repository" in job["if"]


def test_actionlint_finds_nothing() -> None:
    built = subprocess.run(
        [sys.executable, "engine/build.py", "actionlint"], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    if built.returncode == 2:
        pytest.skip(f"actionlint is built by Go: {built.stderr.strip()}")
    assert built.returncode == 0, built.stderr
    command = [str(Path(built.stdout.strip(), "actionlint")), "-shellcheck", str(tool("shellcheck")), "-pyflakes", ""]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_zizmor_finds_nothing() -> None:
    zizmor = tool("zizmor")
    if zizmor is None:
        pytest.skip("zizmor isn't installed: its package has no build for this machine (see requirements-local.txt)")
    done = subprocess.run(
        [zizmor, "--offline", "--format", "plain", ".github"], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No findings" in done.stdout


def test_both_find_what_is_wrong(tmp_path: Path) -> None:
    """So that nothing found means something."""
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    text = "on: pull_request_target\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n"
    text += "      - uses: actions/checkout@v4\n      - run: echo ${{ github.event.pull_request.title }} $x\n"
    (folder / "bad.yml").write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    if zizmor := tool("zizmor"):
        found = subprocess.run(
            [zizmor, "--offline", "--format", "json", "."], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert {"dangerous-triggers", "template-injection", "unpinned-uses"} <= {
            each["ident"] for each in json.loads(found.stdout)
        }
    built = subprocess.run(
        [sys.executable, "engine/build.py", "actionlint", "--check"], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    if built.returncode == 0:
        program = str(Path(built.stdout.strip(), "actionlint"))
        said = subprocess.run([program, "-shellcheck", ""], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert '"github.event.pull_request.title" is potentially untrusted' in said.stdout
