"""A Pulumi stack and the engine that runs it: its state, and `pulumi` commands with their output in the user's terminal."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlparse

from azure_gpu.formats import stack_file
from azure_gpu.shared.installation import CHECKOUT, COMMAND
from azure_gpu.stack.common_file import extended
from azure_gpu.stack.keys import FILE_VARIABLE, config_key
from azure_gpu_operations.project import engine_environment, is_shipped, name_of, project

EVENT_LOGS = "PULUMI_DEBUG_COMMANDS"  # without it, the engine has no option for its events


class EngineError(Exception):
    """`pulumi` failed; the reason is in the message or was printed on the terminal."""


class Stack:
    """`config_file` None means the project's own `Pulumi.<stack>.yaml`."""

    def __init__(self, project_folder: Path, name: str, config_file: Path | None = None) -> None:
        self.project_folder = project_folder
        self.name = name
        self.config_file = config_file
        self.project = name_of(project_folder)

    @property
    def file(self) -> Path:
        """The path of the configuration file."""
        return self.config_file or self.project_folder / f"Pulumi.{self.name}.yaml"

    def deployment_or_new(self) -> dict[str, Any]:
        """Its exported deployment; the stack is created where it doesn't exist."""
        try:
            return self.deployment()
        except EngineError as error:
            try:
                is_there = self.exists()
            except EngineError:  # no backend answers: the first error says so, and which file is missing
                raise error from None
            if is_there:
                raise
            self.create()
            return self.deployment()

    def create(self) -> None:
        """Creates the stack. The engine then writes the salt of its secrets into the configuration file."""
        if not self.file.is_file():
            names = ", ".join(stack_names(self.project_folder)) or "none"
            raise EngineError(
                f"{self.file} doesn't exist, and neither does stack {self.name}; existing stacks: {names}; create the file with "
                f"`{COMMAND} new {self.name} --example NAME`"
            )
        if self.config_file is None:
            self._run("stack", "init", self.name, "--no-select", quiet=True)
            return
        # `stack init` has no option for a configuration file and writes into the project's folder; so it gets a temporary one.
        with tempfile.TemporaryDirectory() as text:
            folder = Path(text)
            shutil.copy(self.project_folder / "Pulumi.yaml", folder)
            copy = folder / f"Pulumi.{self.name}.yaml"
            shutil.copy(self.config_file, copy)
            run_engine(folder, "stack", "init", self.name, "--no-select", quiet=True)
            shutil.copy(copy, self.config_file)

    def exists(self) -> bool:
        return self.name in stack_names(self.project_folder)

    def deployment(self) -> dict[str, Any]:
        """The stack's exported deployment. Secrets stay encrypted."""
        try:
            answer = self._run("stack", "export", "--stack", self.name, quiet=True)
        except EngineError as error:
            if self.file.is_file():
                raise
            raise EngineError(f"{error}; {self.file} doesn't exist either") from None
        return json.loads(answer)["deployment"]

    def outputs(self) -> Mapping[str, Any]:
        return json.loads(self._run("stack", "output", "--json", "--stack", self.name, quiet=True))

    def history(self, most: int) -> list[Mapping[str, Any]]:
        """Its last updates with the configuration that each had, newest first. Secrets stay encrypted."""
        arguments = ("stack", "history", "--json", "--page-size", str(most), "--page", "1", "--stack", self.name)
        return json.loads(self._run(*arguments, quiet=True) or "[]")

    def cancel(self) -> None:
        self._run("cancel", "--yes", "--stack", self.name)

    def edit(self, change: Callable[[Mapping[str, Any]], dict[str, Any]]) -> None:
        """Puts what `change` makes of the stack's deployment in its place. Secrets stay encrypted."""
        exported = json.loads(self._run("stack", "export", "--stack", self.name, quiet=True))
        exported["deployment"] = change(exported["deployment"])
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(exported, file)
            file.flush()
            self._run("stack", "import", "--file", file.name, "--stack", self.name, quiet=True)

    def refresh(self, urns: Iterable[str]) -> None:
        """Refreshes only these resources."""
        self._run("refresh", "--yes", "--skip-preview", *_targets(urns), *self._update_options())

    def refreshed(self) -> list[Mapping[str, Any]]:
        """The changes of a refresh in the state, as steps. Nothing is changed."""
        words = ("refresh", "--preview-only", "--json", *self._update_options())
        done = start_engine(self.project_folder, *words, stack_file=self.file, quiet=True)
        try:
            answer: Mapping[str, Any] = json.loads(done.stdout)
        except ValueError:
            raise EngineError(_ended(words, done)) from None
        if done.returncode != 0:
            wrong = [str(each["message"]).strip() for each in answer.get("diagnostics") or [] if each.get("severity") == "error"]
            raise EngineError("; ".join(wrong) or _ended(words, done))
        return answer.get("steps") or []

    def preview(self, plan: Path | None = None) -> None:
        """`plan`: a file that the engine writes its plan into."""
        self._run("preview", "--diff", *(("--save-plan", str(plan)) if plan else ()), *self._update_options())

    def planned(self, backend: str = "", more: Sequence[str] = ()) -> "Planned":
        """The plan of an update. `backend`: the URL of another one than the stack's own, which holds a copy of its state.
        `more`: options of the engine."""
        words = ("preview", "--json", "--show-replacement-steps", *self._update_options(), *more)
        done = start_engine(self.project_folder, *words, stack_file=self.file, quiet=True, backend=backend)
        try:
            answer: Mapping[str, Any] = json.loads(done.stdout)
        except ValueError:
            raise EngineError(_ended(words, done)) from None
        wrong = [str(each["message"]) for each in answer.get("diagnostics") or [] if each.get("severity") == "error"]
        if done.returncode != 0 and not wrong:
            raise EngineError(_ended(words, done))
        return Planned(answer.get("steps") or [], tuple(each.strip().removeprefix("error: ") for each in wrong))

    def up(
        self,
        message: str,
        *,
        line_by_line: bool = False,
        events: Path | None = None,
        targets: Iterable[str] = (),
        plan: Path | None = None,
    ) -> None:
        """`message`: what the stack's history calls the update. `line_by_line`: also in a terminal, where others write lines
        meanwhile. `events`: a file that the engine writes its events into, a line of JSON each. `targets`: URNs of what alone is
        updated; none: everything. `plan`: the engine's own, to which it holds the update."""
        words = ("up", "--yes", "--skip-preview", "--message", message, *_targets(targets), *self._update_options())
        files = (*(("--event-log", str(events)) if events else ()), *(("--plan", str(plan)) if plan else ()))
        self._run(*words, *files, line_by_line=line_by_line)

    def unprotect(self, urns: Iterable[str]) -> None:
        """Removes the protection of these resources until the next update."""
        self._run("state", "unprotect", "--yes", "--stack", self.name, *urns, quiet=True)

    def protect(self, urns: Iterable[str]) -> None:
        """Protects these resources from deletion and replacement by the engine."""
        self._run("state", "protect", "--yes", "--stack", self.name, *urns, quiet=True)

    def configuration(self) -> dict[str, str]:
        """Its file's configuration, with the file that it extends; empty if it can't be read, which the engine reports."""
        try:
            given = stack_file.configuration(self.file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, stack_file.StackFileError):
            return {}
        folder = project().files if is_shipped(self.project_folder) else self.project_folder
        return extended(given, self.project, folder).configuration

    def declares(self, section: str) -> bool:
        """Whether its configuration has the section."""
        return config_key(section, self.project) in self.configuration()

    def destroy(self, targets: Iterable[str] = (), *, quiet: bool = False, events: Path | None = None) -> None:
        """`targets`: URNs of the only resources to destroy, as far as possible; none: everything. `events`: as for `up`."""
        alone = _targets(targets)
        further = [*(["--continue-on-error"] if alone else []), *(["--event-log", str(events)] if events else [])]
        self._run("destroy", "--yes", "--skip-preview", *alone, *further, *self._update_options(), quiet=quiet)

    def remove(self) -> None:
        """Removes the empty stack, not its configuration file."""
        self._run("stack", "rm", "--yes", "--preserve-config", self.name, quiet=True)

    def _update_options(self) -> list[str]:
        config = ["--config-file", str(self.config_file)] if self.config_file else []
        return ["--stack", self.name, *config]

    def _run(self, *arguments: str, quiet: bool = False, line_by_line: bool = False) -> str:
        return run_engine(self.project_folder, *arguments, stack_file=self.file, quiet=quiet, line_by_line=line_by_line)


class Planned(NamedTuple):
    """The plan of an update."""

    steps: list[Mapping[str, Any]]
    """As `pulumi preview --json` writes them: all where nothing is wrong, else those up to the first error."""
    errors: tuple[str, ...]
    """Why the engine wouldn't go on."""


def _targets(urns: Iterable[str]) -> list[str]:
    return [word for urn in urns for word in ("--target", urn)]


def backend_folder() -> Path | None:
    """The folder of a file backend; None for any other backend."""
    url = urlparse(os.environ.get("PULUMI_BACKEND_URL", ""))
    return Path(unquote(url.path)) if url.scheme == "file" else None


def stack_names(project_folder: Path) -> list[str]:
    """The stacks of this project in the backend."""
    stacks = json.loads(run_engine(project_folder, "stack", "ls", "--json", quiet=True))
    return [str(stack["name"]).rsplit("/", 1)[-1] for stack in stacks]


def run_engine(
    project_folder: Path, *arguments: str, stack_file: Path | None = None, quiet: bool = False, line_by_line: bool = False
) -> str:
    """Runs `pulumi`. `stack_file`: the stack's. `quiet` catches its output and returns it; otherwise the terminal shows it.
    EngineError where it fails."""
    done = start_engine(project_folder, *arguments, stack_file=stack_file, quiet=quiet, line_by_line=line_by_line)
    if done.returncode != 0:
        raise EngineError(_ended(arguments, done))
    if quiet and done.stderr:
        print(done.stderr, end="", file=sys.stderr)
    return done.stdout or ""


def start_engine(
    project_folder: Path,
    *arguments: str,
    stack_file: Path | None = None,
    quiet: bool = False,
    line_by_line: bool = False,
    backend: str = "",
) -> "subprocess.CompletedProcess[str]":
    """Runs `pulumi` and returns its result, also if it fails. `backend`: the URL of another backend than the environment's."""
    environment = {**engine_environment(), EVENT_LOGS: "true"} if "--event-log" in arguments else engine_environment()
    if stack_file is not None:
        environment[FILE_VARIABLE] = str(stack_file.resolve())
    if backend:
        environment["PULUMI_BACKEND_URL"] = backend
        if "PULUMI_CONFIG_PASSPHRASE_FILE" not in environment:
            environment.setdefault("PULUMI_CONFIG_PASSPHRASE", "")  # of a copy without secrets; the engine wants one
    watched = not quiet and not line_by_line and sys.stdout.isatty()
    command = ["pulumi", *arguments, *([] if watched else ["--non-interactive"])]
    try:
        return subprocess.run(command, cwd=project_folder, env=environment, text=True, check=False, capture_output=quiet)
    except FileNotFoundError:
        local = "`make up` builds it for an embedded stack; otherwise " if CHECKOUT else ""
        raise EngineError(f"`pulumi` isn't on PATH; {local}install it first") from None


def _ended(arguments: Sequence[str], done: "subprocess.CompletedProcess[str]") -> str:
    output = (done.stderr or done.stdout or "").strip()
    return f"`{' '.join(('pulumi', *arguments[:2]))}` ended with exit code {done.returncode}" + (f": {output}" if output else "")
