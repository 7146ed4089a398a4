"""Calls of commands that ask nothing of Azure: each row of `calls/*.yaml` is one, or with `each` several.

A row has the `call`, as words of a shell, in which NEWER is each of `newer`, or as a list of them, `files` of the folder that it
is made in, variables of the `environment`, and by `with` one of `SETTINGS`, with a `view` of a stack or what is raised in its
place. Expected are the exit `code`, the `json` of standard output, what is `told` on it, whole `lines` of it, an `error` on
standard error, what both have `once` or not at all (`absent`), that nothing is `written`, that standard output is `silent`, and
what was `started`.
"""

import json
import shlex
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from azure_gpu_operations import new
from azure_gpu_operations.__main__ import main
from azure_gpu_operations.connection import Connection
from azure_gpu_operations.project import Project
from azure_gpu_operations.run import options as run_options
from azure_gpu_operations.run.on_job import run as job_run
from azure_gpu_operations.run.on_job.request import JobRequest
from azure_gpu_operations.run.protocol import Outcome, Output, Run
from azure_gpu_operations.sizes import command as sizes
from azure_gpu_operations.stack import EngineError
from azure_gpu_operations.stack_view import StackView
from tests.operations.yaml_tables import TagLoader, differences
from tests.support.embedded import CHECKOUT, SUBSCRIPTION
from tests.support.scripted_runs import ScriptedRun, plan_of

VIEW = StackView("dev", Connection("s"), jobs={"train": "/t"}, registry="/r")
LONGEST = 2000  # of what a refusal shows
Patch = pytest.MonkeyPatch


def terminal(row: Any, folder: Path, patch: Patch) -> None:
    """A terminal of 80 columns."""
    patch.setattr(sizes, "console", lambda: Console(width=80, force_terminal=True, color_system=None))


def stack(row: Any, folder: Path, patch: Patch) -> list[Any]:
    """A stack, and what is started on its job in place of starting it."""
    started: list[Any] = []

    def plan(view: StackView, name: str, request: JobRequest, output: Output) -> AbstractContextManager[Run]:
        context = request.target.context
        found = {"name": name, "repository": context and context.repository, "arguments": list(request.arguments)}
        started.append(found)
        return plan_of(ScriptedRun(Outcome(7, "failed")))(output)

    def view(_: object) -> StackView:
        given = row.get("view", {})
        if isinstance(given, str):
            raise EngineError(given)
        return VIEW._replace(**given)

    patch.setattr(job_run, "plan", plan)
    patch.setattr(run_options, "view_of", view)
    return started


def project(row: Any, folder: Path, patch: Patch) -> None:
    """The folder of a project, and an account in the environment."""
    patch.setattr(new, "project", lambda: Project(CHECKOUT, folder))
    patch.setenv("ARM_SUBSCRIPTION_ID", SUBSCRIPTION)
    patch.setenv("ARM_TENANT_ID", SUBSCRIPTION)


SETTINGS: dict[str, Callable[[Any, Path, Patch], Any]] = {"terminal": terminal, "stack": stack, "project": project}


def rows() -> Iterator[Any]:
    for table in sorted((Path(__file__).parent / "calls").glob("*.yaml")):
        content = yaml.load(table.read_text(encoding="utf-8"), TagLoader)
        for name, row in content["rows"].items():
            newer = [each for line in row.get("newer", [[""]]) for each in line]
            for number, (differing, word) in enumerate(product(row.get("each", [{}]), newer)):
                whole = {"with": content.get("with"), **row, **differing, "newer": word}
                yield pytest.param(whole, id=f"{table.stem}: {name}{f' {number}' if 'each' in row else ''}")


@pytest.mark.parametrize("row", [*rows()])
def test_a_call_ends_as_its_row_says(row: Any, tmp_path: Path, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    files = {name: text.replace("NEWER", row["newer"]) for name, text in row.get("files", {}).items() if text is not None}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    for name, value in row.get("environment", {}).items():
        monkeypatch.setenv(name, value)
    started = SETTINGS[row["with"]](row, tmp_path, monkeypatch) if row["with"] else None
    try:
        code = main(row["call"] if isinstance(row["call"], list) else shlex.split(row["call"].replace("NEWER", row["newer"])))
    except SystemExit as ended:  # argparse refuses a command line so
        code = int(str(ended.code))
    said = capsys.readouterr()
    assert code == row.get("code", 0), said.err
    assert "Traceback" not in said.err
    assert len(said.err) < LONGEST
    told, error = " ".join(said.out.split()) + " ", " ".join(said.err.split()) + " "
    wrong = [f"not told: {each}" for each in row.get("told", ()) if each not in told]
    wrong += [f"no such line: {each}" for each in row.get("lines", ()) if each not in said.out.splitlines()]
    wrong += [f"no such error: {each}" for each in row.get("error", ()) if each not in error]
    wrong += [f"not once: {each}" for each in row.get("once", ()) if (told + error).count(each) != 1]
    wrong += [f"there: {each}" for each in row.get("absent", ()) if each in said.out + said.err]
    if "json" in row:
        wrong += differences(row["json"], json.loads(said.out))
    if row.get("silent"):
        assert said.out == ""
    if "written" in row:
        assert {each.name: each.read_text() for each in tmp_path.iterdir()} == files
    if row["with"] == "terminal":
        assert max(map(len, said.out.splitlines())) <= 80
    assert (started or []) == row.get("started", [])
    assert wrong == [], said.out + said.err
