"""Runs workflows of GitHub Actions on this machine: each `run:` line by bash as a runner does, in a checkout of its own.

Of actions, `checkout` is a clone, `upload-artifact` leaves an archive at the stand-in, those that set a tool up do nothing, and
the repository's own are expanded. `.venv/bin/python` is this environment's Python on the checkout's own code, except for verbs of
`operations` that a test plays. Sources: GitHub Docs, "Workflow syntax", "Workflow commands", "Variables reference", "Contexts".
"""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from tests.support.embedded import CHECKOUT
from tests.workflows.expressions import evaluate, shown, substituted
from tests.workflows.hosting import NAME, RUNNER, GitHub

WORKFLOWS = ".github/workflows"
LIMIT_SECONDS = 240
_SET_UP = ("actions/setup-python", "actions/setup-go", "actions/cache")


@dataclass
class Step:
    name: str
    outcome: str  # success, failure or skipped
    output: str = ""


@dataclass
class Job:
    """How a job of a run ended."""

    name: str
    result: str
    steps: list[Step] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Step:
        return next(step for step in self.steps if step.name == name)

    def told(self) -> str:
        return "\n".join(f"--- {step.name}: {step.outcome}\n{step.output}" for step in self.steps)


@dataclass
class Run:
    """How a run of a workflow ended."""

    id: int
    conclusion: str
    jobs: dict[str, Job]
    summary: str = ""


class Repository:
    """A git repository with this checkout's files as its first commit; a fork's commits are in it as GitHub has them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.places: dict[tuple[str, str, str], tuple[Path, set[str]]] = {}  # checkouts, with what lay in them at first
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=CHECKOUT, capture_output=True, check=True
        )
        folder.mkdir()
        self.git("init", "-q", "-b", "main")
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (CHECKOUT / name).is_file():
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(CHECKOUT / name, target)
        self.main = self.commit("the beginning")

    def commit(self, message: str, files: Mapping[str, str] | None = None, parent: str = "") -> str:
        """The id of a commit that has these files; the work tree is left at it."""
        if parent:
            self.git("checkout", "-q", "--detach", parent)
        for name, text in (files or {}).items():
            (self.folder / name).write_text(text)
        self.git("add", "-A")
        self.git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", message)
        commit = self.git("rev-parse", "HEAD").strip()
        self.git("update-ref", f"refs/keep/{commit}", commit)
        return commit

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


class Runner:
    """Runs workflows of the main branch's commit, or of a pull request's where the event is its own."""

    def __init__(
        self, github: GitHub, repository: Repository, folder: Path, environment: Mapping[str, str], engine: Path
    ) -> None:
        self.github = github
        self.repository = repository
        self.variables: dict[str, str] = {}
        self.secrets: dict[str, str] = {}
        self.has_make = False  # else what it would make is taken as made
        self.environments: list[str] = []  # in the order in which jobs took them
        self.checked_out: list[tuple[str, str]] = []  # workflow, commit
        self.before: Callable[[str, str], None] = lambda workflow, job: None  # as somebody acts while a job waits for approval
        self.played: dict[str, dict[str, Any]] = {}  # verbs of `operations`, as played.py plays them
        self._log = folder / "played.jsonl"
        self._folder = folder
        folder.mkdir(exist_ok=True)
        self.environment = dict(environment)
        self._engine = engine
        self._count = 0

    def commands(self) -> list[list[str]]:
        """What was called of `operations` as far as it is played, since the last time."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        self._log.unlink(missing_ok=True)
        return [json.loads(line)[0] for line in lines]

    def run(self, workflow: str, event_name: str, event: Mapping[str, Any], *, commit: str) -> Run:
        """`commit`: whose workflow file it is, GITHUB_SHA too."""
        text = self.repository.git("show", f"{commit}:{WORKFLOWS}/{workflow}")
        parsed: dict[Any, Any] = yaml.safe_load(text)
        asked = parsed[True]
        asked = asked if isinstance(asked, dict) else {each: None for each in ([asked] if isinstance(asked, str) else asked)}
        assert event_name in asked, f"{workflow} doesn't run on {event_name}"
        types = (asked[event_name] or {}).get("types") if isinstance(asked[event_name], dict) else None
        known = types or ["opened", "synchronize", "reopened"]
        assert event_name != "pull_request" or event["action"] in known, f"{workflow} doesn't run on {event['action']}"
        pull = event.get("pull_request")
        made = self.github.begin_run(f"{WORKFLOWS}/{workflow}", event_name, pull, pull["head"]["sha"] if pull else commit)
        github = {
            "event": event,
            "event_name": event_name,
            "repository": NAME,
            "sha": commit,
            "run_id": str(made["id"]),
            "workflow": parsed["name"],
        }
        run = Run(made["id"], "success", {})
        fork = bool(pull) and pull["head"]["repo"]["full_name"] != NAME
        for name, job in parsed["jobs"].items():
            run.jobs[name] = self._job(workflow, name, job, parsed, github, run, fork)
        results = {job.result for job in run.jobs.values()}
        run.conclusion = "failure" if "failure" in results else "success" if "success" in results else "skipped"
        made.update(status="completed", conclusion=run.conclusion)
        return run

    def _job(self, workflow: str, name: str, job: Any, parsed: Any, github: Mapping[str, Any], run: Run, fork: bool) -> Job:
        needed = {each: run.jobs[each] for each in _listed(job.get("needs"))}
        contexts: dict[str, Any] = {
            "github": github,
            "vars": {} if fork else self.variables,
            "secrets": {} if fork else self.secrets,
            "needs": {each: {"result": one.result, "outputs": one.outputs} for each, one in needed.items()},
            "runner": {"os": "Linux"},
            "steps": {},
            "matrix": {},
        }
        is_well = all(one.result == "success" for one in needed.values())
        if not self._applies(job.get("if"), contexts, is_well):
            return Job(name, "skipped")
        permissions = job.get("permissions", parsed.get("permissions") or {})
        if fork:  # as GitHub gives a fork's pull request
            permissions = {scope: "read" for scope in permissions if scope != "id-token"}
        whole = Job(name, "success")
        for matrix in self._matrix(job, contexts):
            if whole.result == "failure" and job.get("strategy", {}).get("fail-fast", True):
                break
            one = self._instance(workflow, name, job, {**contexts, "matrix": matrix, "steps": {}}, permissions, run)
            whole.steps += one.steps
            whole.outputs |= one.outputs
            whole.result = "failure" if "failure" in (one.result, whole.result) else "success"
        return whole

    def _matrix(self, job: Any, contexts: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        axes = dict[str, list[Any]]()
        for axis, values in job.get("strategy", {}).get("matrix", {}).items():
            expression = re.fullmatch(r"\$\{\{(.*)\}\}", values) if isinstance(values, str) else None
            axes[axis] = evaluate(expression[1], contexts, {}) if expression else list(values)
        for values in product(*axes.values()):
            yield dict(zip(axes, values, strict=True))

    def _instance(
        self, workflow: str, name: str, job: Any, contexts: dict[str, Any], permissions: Mapping[str, str], run: Run
    ) -> Job:
        if "environment" in job:
            self.environments.append(substituted(job["environment"], contexts, {}))
        self.before(workflow, name)
        self._count += 1
        temporary = self._folder / f"job-{self._count}"
        temporary.mkdir(parents=True)
        contexts["github"] = {**contexts["github"], "token": self.github.token(permissions)}
        contexts["runner"] = {"os": "Linux", "temp": str(temporary)}
        environment = {
            **self.environment,
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": self.github.url,
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_REPOSITORY": NAME,
            "GITHUB_RUN_ID": contexts["github"]["run_id"],
            "GITHUB_SHA": contexts["github"]["sha"],
            "RUNNER_TEMP": str(temporary),
        }
        if not self.has_make:
            make = temporary / "bin" / "make"
            make.parent.mkdir()
            make.write_text("#!/bin/sh\n")
            make.chmod(0o755)
            environment["PATH"] = os.pathsep.join((str(make.parent), environment["PATH"]))
        if permissions.get("id-token") == "write":
            environment |= {
                "ACTIONS_ID_TOKEN_REQUEST_URL": f"{self.github.url}/oidc?api-version=2.0",
                "ACTIONS_ID_TOKEN_REQUEST_TOKEN": RUNNER,
            }
        environment |= {key: substituted(value, contexts, {}) for key, value in job.get("env", {}).items()}
        state = State(workflow, contexts, environment, temporary, temporary, Job(name, "success"), run)
        for step in job["steps"]:
            self._step(step, state)
        return state.job

    def _tidy(self, work: Path) -> None:
        """Takes away what an earlier job has left beside the files of this checkout."""
        [first] = [first for place, first in self.repository.places.values() if place == work]
        for each in work.iterdir():
            if each.name not in first:
                shutil.rmtree(each) if each.is_dir() else each.unlink()

    def _step(self, step: Any, state: "State") -> None:
        title = step.get("name") or step.get("uses", "").partition("@")[0]
        contexts, job = state.contexts, state.job
        done = Step(title, "skipped")
        job.steps.append(done)
        if self._applies(step.get("if"), contexts, job.result == "success"):
            given = {
                key: substituted(value, contexts, {"hashFiles": lambda *_: "0"}) for key, value in step.get("with", {}).items()
            }
            if "uses" in step:
                done.outcome, done.output = self._action(step["uses"], given, state)
            else:
                own = {key: substituted(value, contexts, {}) for key, value in step.get("env", {}).items()}
                done.outcome, done.output = self.bash(step, own, state)
        if done.outcome == "failure":
            job.result = "failure"
        if "id" in step:
            contexts["steps"][step["id"]] = {"outputs": state.last_outputs, "outcome": done.outcome}
        state.last_outputs = {}

    def _action(self, uses: str, given: Mapping[str, str], state: "State") -> tuple[str, str]:
        name = uses.partition("@")[0]
        if name == "actions/checkout":
            self.check_out(given, state)
        elif name == "actions/upload-artifact":
            return self._upload(given, state)
        elif uses.startswith("./"):
            action = yaml.safe_load((state.work / uses / "action.yml").read_text())
            for step in action["runs"]["steps"]:
                self._step(step, state)
        else:
            assert name in _SET_UP, f"nobody plays {uses}"
        return "success", ""

    def check_out(self, given: Mapping[str, str], state: "State") -> None:
        assert given.get("persist-credentials") == "false"
        ref = given.get("ref") or state.contexts["github"]["sha"]
        commit = self.repository.git("rev-parse", "--verify", f"{ref}^{{commit}}").strip()
        self.checked_out.append((state.workflow, commit))
        key = (commit, given.get("sparse-checkout", ""), given.get("fetch-depth", ""))
        if key not in self.repository.places:
            work = self.repository.folder.with_name("checkouts") / f"{len(self.repository.places)}"
            self._clone(work, *key)
            self.repository.places[key] = (work, {each.name for each in work.iterdir()} - {".local"})
        state.work = self.repository.places[key][0]
        self._tidy(state.work)
        if (state.work / "Makefile").exists():
            self._python(state)

    def _clone(self, work: Path, commit: str, sparse: str, depth: str) -> None:
        def git(*words: str) -> None:
            subprocess.run(["git", *words], cwd=work, check=True, capture_output=True)

        work.mkdir(parents=True)
        git("init", "-q")
        objects = self.repository.folder / ".git" / "objects"
        (work / ".git" / "objects" / "info" / "alternates").write_text(f"{objects}\n")
        if depth != "0":  # as GitHub does: the commit without its history
            (work / ".git" / "shallow").write_text(f"{commit}\n")
        if sparse:
            git("sparse-checkout", "set", sparse)
        git("checkout", "-q", "--detach", commit)

    def _python(self, state: "State") -> None:
        """`.venv` of the checkout: this environment's, on the checkout's own code."""
        work, plays = state.work, state.temporary / "played"
        folder = work / ".venv" / "bin"
        folder.mkdir(parents=True)
        plays.mkdir(exist_ok=True)
        program = folder / "python"
        program.write_text(
            textwrap.dedent(f"""\
            #!/bin/sh
            here="$(cd "$(dirname "$0")/../.." && pwd)"
            if [ "$1 $2" = "-m operations" ] && [ -e "{plays}/$3" ]; then
              set -- "{CHECKOUT}/tests/workflows/played.py" "{plays}/$3" "$@"
            fi
            PYTHONPATH="$here:$here/components:$here/operations" exec "{sys.executable}" "$@"
            """)
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        for verb, scenario in self.played.items():
            (plays / verb).write_text(json.dumps({"log": str(self._log), **scenario}))
        (work / ".venv" / "ready").touch()
        if not self.has_make:
            (work / ".local").mkdir()
            (work / ".local" / "engine-bin").write_text(f"{self._engine}\n")

    def _upload(self, given: Mapping[str, str], state: "State") -> tuple[str, str]:
        path = state.work / given["path"]
        if not path.exists():
            assert given["if-no-files-found"] in ("ignore", "error")
            return ("success", "") if given["if-no-files-found"] == "ignore" else ("failure", f"no files: {path.name}")
        files = [path] if path.is_file() else [each for each in sorted(path.rglob("*")) if each.is_file()]
        root = path.parent if path.is_file() else path
        self.github.leave(state.run.id, given["name"], {str(each.relative_to(root)): each.read_bytes() for each in files})
        return "success", ""

    def bash(self, step: Any, own: Mapping[str, str], state: "State") -> tuple[str, str]:
        lines = substituted(step["run"], state.contexts, {})
        script = state.temporary / "script.sh"
        script.write_text(lines)
        files = {
            each: state.temporary / each.lower() for each in ("GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
        }
        for file in files.values():
            file.write_text("")
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail"] if step.get("shell") == "bash" else ["bash", "-e"]
        environment = {**state.environment, **own, **{name: str(file) for name, file in files.items()}}
        done = subprocess.run(
            [*shell, str(script)],
            cwd=state.work,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
        state.environment |= _pairs(files["GITHUB_ENV"])
        paths = [*reversed(files["GITHUB_PATH"].read_text().split()), state.environment["PATH"]]
        state.environment["PATH"] = os.pathsep.join(paths)
        state.last_outputs = _pairs(files["GITHUB_OUTPUT"])
        state.run.summary += files["GITHUB_STEP_SUMMARY"].read_text()
        return ("success" if done.returncode == 0 else "failure"), done.stdout

    def _applies(self, condition: Any, contexts: Mapping[str, Any], is_well: bool) -> bool:
        text = str(condition).strip() if condition is not None else "success()"
        found = re.fullmatch(r"\$\{\{(.*)\}\}", text)
        functions = {"always": lambda: True, "success": lambda: is_well, "failure": lambda: not is_well}
        value = evaluate(found[1] if found else text, contexts, functions)
        if not re.search(r"\b(always|success|failure|cancelled)\(", text):
            value = value and is_well
        return shown(value) not in ("", "false", "0")


@dataclass
class State:
    """A job while it runs. `work`: its checkout, or where nothing is checked out yet."""

    workflow: str
    contexts: dict[str, Any]
    environment: dict[str, str]
    work: Path
    temporary: Path
    job: Job
    run: Run
    last_outputs: dict[str, str] = field(default_factory=dict)


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or ())


def _pairs(file: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in file.read_text().splitlines())
