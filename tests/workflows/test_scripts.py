"""The scripts of workflows: every command of ours exists with its options, and what one step leaves is what another takes.

Syntax, shell and pinned versions are checked by actionlint, shellcheck and zizmor (`make lint`).
"""

import argparse
import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from azure_gpu_operations import sign_in, verbs
from azure_gpu_operations.review import own_stack
from tests.support.embedded import CHECKOUT
from tests.workflows.conditions import running

FOLDER = CHECKOUT / ".github" / "workflows"
MAKEFILE = (CHECKOUT / "Makefile").read_text(encoding="utf-8")
# What a job has without declaring it.
OF_RUNNER = re.compile(r"(GITHUB|RUNNER)_[A-Z_]+|HOME|PATH|PWD")
_CALL = re.compile(r"(?:\.venv/bin/python|python3) (?:-m )?(operations|azure_gpu_operations[\w.]*|\.github/\w+\.py) ?(.*)")


class Script(NamedTuple):
    """One `run:` with the environment that its file declares for it."""

    where: str
    text: str
    environment: Mapping[str, str]

    def lines(self) -> list[str]:
        return self.text.replace("\\\n", " ").splitlines()

    def calls(self) -> Iterator[tuple[str, list[str]]]:
        """Each command of this repository in Python: its module and its words, with a value in place of each variable."""
        for line in self.lines():
            if found := _CALL.search(line):
                words = re.split(r" (?:2>&1|\|\|?|[<>]) ?|; fi", found[2])[0]
                words = re.sub(r"\$\([^)]*\)", "7", words).replace("$stack", "pr-7")
                yield found[1], shlex.split(re.sub(r"\$\w+", "7", words))


def read(path: Path) -> dict[Any, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


WORKFLOWS = {path.stem: read(path) for path in sorted(FOLDER.iterdir())}


def of_github() -> Iterator[Script]:
    for name, workflow in WORKFLOWS.items():
        for job, content in workflow["jobs"].items():
            around = {**workflow.get("env", {}), **content.get("env", {})}
            for step in content["steps"]:
                if "run" in step:
                    yield Script(f"{name}, {job}: {step['name']}", step["run"], {**around, **step.get("env", {})})
    for path in sorted((CHECKOUT / ".github" / "actions").glob("*/action.yml")):
        for step in read(path)["runs"]["steps"]:
            if "run" in step:
                yield Script(f"{path.parent.name}: {step['name']}", step["run"], step.get("env", {}))


def of_others() -> Iterator[Script]:
    """Those of docs/ci, for GitLab and Azure Pipelines."""
    for job, content in read(CHECKOUT / "docs" / "ci" / "gitlab-ci.yml").items():
        for key in ("script", "before_script"):
            if isinstance(content, dict) and key in content:
                yield Script(f"gitlab, {job}", "\n".join(content[key]), {})
    for text in _bash(read(CHECKOUT / "docs" / "ci" / "azure-pipelines.yml")):
        yield Script("azure-pipelines", text, {})


def _bash(part: Any) -> Iterator[str]:
    for value in part if isinstance(part, list) else part.values() if isinstance(part, dict) else ():
        yield from _bash(value)
    if isinstance(part, dict):
        yield from (str(part[key]) for key in ("bash", "inlineScript") if key in part)


SCRIPTS = [*of_github(), *of_others()]


def script(where: str) -> Script:
    [found] = [each for each in SCRIPTS if each.where == where]
    return found


def rejected(module: str, words: list[str]) -> bool:
    """Whether the command doesn't know these words. It does nothing, since nothing of what it needs is there."""
    try:
        if module == "operations":
            parser = argparse.ArgumentParser()
            verbs.add_all(parser.add_subparsers(required=True), words[0])
            parser.parse_args(words)
        elif module == "azure_gpu_operations.sign_in":
            return bool(words) or sign_in.main({}) != 1
        elif module == "azure_gpu_operations.review.own_stack":
            own_stack.main(words)
        else:
            return not (CHECKOUT / module).is_file()
    except SystemExit:
        return True
    return False


def test_every_command_of_ours_is_there_with_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_stack, "run_engine", lambda *words, **options: "[]")
    monkeypatch.setattr(own_stack, "_write", lambda *words: None)
    calls = [(each.where, *call) for each in SCRIPTS for call in each.calls()]
    assert [each for each in calls if rejected(*each[1:])] == []
    assert {"review", "preview", "up", "down", "end", "catalog"} == {
        words[0] for _, module, words in calls if module == "operations"
    }
    assert sum(each.text.count(" -m azure_gpu") + each.text.count(" -m operations") for each in SCRIPTS) + 1 == len(calls)


def test_every_target_and_variable_of_make_is_there() -> None:
    for each in SCRIPTS:
        for words in re.findall(r"(?:^|exec --workspace-folder \. )make (.+)", each.text, re.MULTILINE):
            for word in shlex.split(words):
                name, is_variable, _ = word.partition("=")
                known = rf"\$\({name}\)" if is_variable else rf"^{re.escape(name)}:"
                assert word == "-s" or re.search(known, MAKEFILE, re.MULTILINE), f"{each.where}: {word}"


def test_every_variable_of_a_script_is_declared_or_the_runners() -> None:
    for each in of_github():
        used = set(re.findall(r"\$\{?([A-Z][A-Z_]+)", each.text)) - set(re.findall(r"^\s*([A-Z_]+)=", each.text, re.MULTILINE))
        assert [name for name in used if name not in each.environment and not OF_RUNNER.fullmatch(name)] == [], each.where


def test_every_output_of_a_step_is_written_by_its_script() -> None:
    for name, workflow in WORKFLOWS.items():
        for job in workflow["jobs"].values():
            scripts = {step["id"]: step["run"] for step in job["steps"] if "id" in step}
            for step, output in re.findall(r"steps\.([\w-]+)\.outputs\.(\w+)", yaml.safe_dump(job)):
                assert f'echo "{output}=' in scripts[step], f"{name}: {step}"


def test_the_plan_that_is_deployed_is_the_one_that_was_uploaded() -> None:
    def uploaded(workflow: str, job: str) -> Mapping[str, str]:
        [found] = [
            each["with"] for each in WORKFLOWS[workflow]["jobs"][job]["steps"] if "upload-artifact" in each.get("uses", "")
        ]
        return found

    plan = uploaded("deploy", "plan")
    step = script("deploy, deploy: The plan that was approved")
    words = shlex.split(step.text.replace("$STACK", step.environment["STACK"]))
    assert words[words.index("--name") + 1] == plan["name"]  # it is written into the current folder, by its name
    assert f"--save-plan {plan['path']} " in script("deploy, plan: Plan").text
    assert f"--plan {plan['path']} " in script("deploy, deploy: Deploy").text
    for workflow, job in (("review", "review"), ("review-live", "live")):
        review = uploaded(workflow, job)
        assert f"--out {review['path']}" in script(f"{workflow}, {job}: Review").text
        assert f"--name {review['name']} --dir {review['path']}\n" in script(f"{workflow}, comment: Comment").text
        assert f"{review['path']}/comment.md" in script(f"{workflow}, comment: Comment").text


def test_what_writes_a_comment_runs_nothing_of_the_pull_request() -> None:
    for workflow in ("review", "review-live"):
        job = WORKFLOWS[workflow]["jobs"]["comment"]
        assert [step.get("uses", step.get("name")) for step in job["steps"]] == ["Comment"]
        assert "secrets" not in yaml.safe_dump(job)


def test_tests_run_what_ci_runs() -> None:
    """CI runs the quick tests in a clone of its own, and leaves them out of the rest; a workflow's checkout is such a clone."""
    lines = re.findall(
        r"^make --no-print-directory (?!-C)(.+?)(?: SESSIONS=slow)?$",
        (CHECKOUT / ".ci" / "run").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert [each.text for each in SCRIPTS if each.where.startswith("tests, ")] == [f"make {each}" for each in lines]


# When which job runs


def pull(
    action: str, *labels: str, fork: bool = False, author: str = "ada", label: str = "", state: str = "open"
) -> dict[str, Any]:
    head = {"repo": {"full_name": "mallory/gpu" if fork else "octo/gpu"}}
    labelled = [{"name": each} for each in labels]
    return {
        "action": action,
        "label": {"name": label},
        "pull_request": {"head": head, "labels": labelled, "user": {"login": author}, "state": state},
    }


LABEL = "review-stack"
EVENTS: tuple[tuple[str, dict[str, Any], list[str]], ...] = (
    ("review", pull("opened", fork=True), ["review"]),
    ("review", pull("opened"), ["review"]),  # the comment is that of the review of what is deployed
    ("review-live", pull("opened"), ["live", "comment"]),
    ("review-live", pull("opened", fork=True), []),
    ("review-live", pull("opened", author="dependabot[bot]"), []),
    ("review-stack", pull("synchronize"), []),
    ("review-stack", pull("synchronize", LABEL), ["up"]),
    ("review-stack", pull("synchronize", LABEL, fork=True), []),
    ("review-stack", pull("labeled", LABEL, label=LABEL), ["up"]),
    ("review-stack", pull("labeled", label="other"), []),
    ("review-stack", pull("unlabeled", label=LABEL), ["down"]),
    ("review-stack", pull("unlabeled", LABEL, label="other"), []),
    ("review-stack", pull("unlabeled", label=LABEL, fork=True), []),
    ("review-stack", pull("closed", LABEL, state="closed"), ["down"]),
    ("review-stack", pull("closed", state="closed"), []),
    ("review-stack", pull("closed", LABEL, state="closed", fork=True), []),
    ("deploy", {}, ["plan", "deploy"]),
    ("drift", {}, ["drift"]),
    ("end", {}, ["past", "review-stacks"]),
)


def test_a_job_runs_on_the_events_that_it_is_for_and_a_fork_reaches_nothing_of_azure() -> None:
    wrong: list[object] = []
    for workflow, event, expected in EVENTS:
        contexts = {"github": {"event": event, "repository": "octo/gpu"}, "vars": {"AZURE_TENANT_ID": "tenant"}}
        if (found := running(WORKFLOWS[workflow], contexts)) != expected:
            wrong.append((workflow, event, found))
    assert wrong == []


@pytest.mark.parametrize(
    ("author", "fork", "comments"), [("ada", False, True), ("ada", True, False), ("dependabot[bot]", False, False)]
)
def test_until_azure_is_set_up_the_comment_is_that_of_the_embedded_review(author: str, fork: bool, comments: bool) -> None:
    contexts = {"github": {"event": pull("opened", author=author, fork=fork), "repository": "octo/gpu"}, "vars": {}}
    assert running(WORKFLOWS["review"], contexts) == ["review", *(["comment"] if comments else [])]


def test_until_azure_is_set_up_no_job_asks_it() -> None:
    for workflow, event, _ in EVENTS:
        contexts = {"github": {"event": event, "repository": "octo/gpu"}, "vars": {}}
        ran = running(WORKFLOWS[workflow], contexts)
        assert [name for name in ran if "environment" in WORKFLOWS[workflow]["jobs"][name]] == []


# What a script does with the exit code of its command

_PYTHON = """\
#!/bin/sh
echo "$*" >> "$CALLS"
case "$*" in *own_stack\\ past*) printf 'pr-1\\npr-2\\n' ;; *) echo the output ;; esac
case "$*" in *drift*) exit "$DRIFT" ;; *own_stack*) ;; *) exit "$CODE" ;; esac
"""
STACK = "-m operations {} --stack dev"


@pytest.mark.slow  # bash
@pytest.mark.parametrize(
    ("where", "code", "ends", "output", "calls"),
    [
        ("deploy, plan: Plan", 0, 0, "", [f"{STACK.format('preview')} --save-plan plan.json"]),
        ("deploy, plan: Plan", 1, 1, "", [f"{STACK.format('preview')} --save-plan plan.json"]),
        ("deploy, deploy: Deploy", 4, 4, "", [f"{STACK.format('up')} --plan plan.json"]),
        ("drift, drift: Drift", 3, 0, "code=3\n", [STACK.format("preview --drift")]),
        ("drift, drift: Drift", 0, 0, "code=0\n", [STACK.format("preview --drift")]),
        ("drift, drift: Drift", 1, 1, "code=1\n", [STACK.format("preview --drift")]),
        ("end, past: End", 3, 0, "", ["-m operations end --past --stack dev --yes"]),
        ("end, past: End", 1, 1, "", ["-m operations end --past --stack dev --yes"]),
        ("gitlab, nightly", 3, 3, "", ["-m operations end --past --stack dev --yes", STACK.format("preview --drift")]),
        ("gitlab, nightly", 1, 1, "", ["-m operations end --past --stack dev --yes"]),
        (
            "end, review-stacks: Down",
            0,
            0,
            "",
            [
                "-m azure_gpu_operations.review.own_stack past --days 3",
                *(
                    call
                    for stack in ("pr-1", "pr-2")
                    for call in (
                        f"-m azure_gpu_operations.review.own_stack write {stack} --from dev --days 0",
                        f"-m operations down --stack {stack} --yes",
                    )
                ),
            ],
        ),
    ],
)
def test_a_script_ends_with_the_code_that_it_should(
    tmp_path: Path, where: str, code: int, ends: int, output: str, calls: list[str]
) -> None:
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(_PYTHON)
    python.chmod(0o755)
    files = {
        name: str(tmp_path / name.lower())
        for name in ("CALLS", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "AZURE_FEDERATED_TOKEN_FILE")
    }
    given = {"STACK": "dev", "FROM": "dev", "DAYS": "3", "AZURE_ID_TOKEN": "a token", "CODE": str(code), "DRIFT": str(code)}
    Path(files["GITHUB_OUTPUT"]).touch()
    done = subprocess.run(
        ["bash", "-e", "-c", script(where).text], cwd=tmp_path, env={"PATH": os.environ["PATH"], **given, **files}, check=False
    )
    assert (done.returncode, Path(files["GITHUB_OUTPUT"]).read_text()) == (ends, output)
    assert Path(files["CALLS"]).read_text().splitlines() == calls


@pytest.mark.slow  # bash
def test_azure_pipelines_sign_in_with_the_connections_token(tmp_path: Path) -> None:
    (tmp_path / ".local").mkdir()
    (tmp_path / ".local" / "engine-bin").write_text("/engine\n")
    (tmp_path / "az").write_text("#!/bin/sh\necho subscription\n")
    (tmp_path / "az").chmod(0o755)
    signing = CHECKOUT / "docs" / "ci" / "azure-sign-in.sh"
    shown = 'echo "$ARM_SUBSCRIPTION_ID $AZURE_CLIENT_ID $ARM_TENANT_ID ${PATH%%:*} $(cat "$ARM_OIDC_TOKEN_FILE_PATH")"'
    given = {"idToken": "a token", "servicePrincipalId": "client", "tenantId": "tenant", "TMPDIR": str(tmp_path)}
    environment = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", **given}
    command = ["bash", "-euc", f". {shlex.quote(str(signing))}; {shown}"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("subscription client tenant /engine a token\n", "")


ANNOTATIONS = [
    {"file": "Pulumi.dev,1.yaml", "line": 7, "level": "error", "title": "dev: replaced", "message": "100 % lost\n::warning::x"},
    {"file": "Pulumi.dev.yaml", "line": 1, "level": "warning", "title": "", "message": "said"},
]


@pytest.mark.slow  # bash
def test_a_review_is_shown_as_a_summary_and_on_lines(tmp_path: Path) -> None:
    """Values are escaped as GitHub's own toolkit escapes them, so that a message can't be a command."""
    (tmp_path / "review").mkdir()
    (tmp_path / "review" / "comment.md").write_text("# A review\n")
    (tmp_path / "review" / "annotations.json").write_text(json.dumps(ANNOTATIONS))
    environment = {"PATH": os.environ["PATH"], "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
    command = ["bash", "-e", "-c", script("show-review: Report and remarks").text]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "::error file=Pulumi.dev%2C1.yaml,line=7,title=dev%3A replaced::100 %25 lost%0A::warning::x",
        "::warning file=Pulumi.dev.yaml,line=1,title=::said",
    ]
    assert (tmp_path / "summary").read_text() == "# A review\n"


@pytest.mark.slow  # bash
@pytest.mark.parametrize(
    ("code", "there", "asks"),
    [
        ("3", "", "issue create --title Drift --label drift --body-file issue.md"),
        ("3", "7", "issue edit 7 --body-file issue.md"),
        ("0", "7", "issue close 7 --comment No difference any more."),
        ("0", "", ""),
    ],
)
def test_drift_opens_updates_and_closes_an_issue(tmp_path: Path, code: str, there: str, asks: str) -> None:
    gh = tmp_path / "gh"
    gh.write_text('#!/bin/sh\necho "$*" >> calls\n[ "$2" != list ] || echo "$THERE"\n')
    gh.chmod(0o755)
    (tmp_path / "drift.txt").write_text("data: a: x in the state, y in Azure\n")
    environment = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "CODE": code,
        "THERE": there,
        "TITLE": "Drift",
    }
    command = ["bash", "-e", "-c", script("drift, drift: Issue").text]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "calls").read_text().splitlines()[1:] == ([asks] if asks else [])
    assert "y in Azure" in (tmp_path / "issue.md").read_text()
