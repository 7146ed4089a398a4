"""One Pulumi stack and the engine that runs it.

In: the project's folder, a stack name and the configuration file that the engine is to read. Out: the stack's state, and `pulumi`
commands run in the user's terminal, so that what a person sees is the engine's own output.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import yaml

from azure_gpu.formats import stack_file
from azure_gpu.shared.installation import CHECKOUT, COMMAND
from azure_gpu.stack.keys import config_key
from azure_gpu_operations.project import engine_environment


class EngineError(Exception):
    """`pulumi` ended with an error; it has said why on the terminal, or the text does."""


class Stack:
    """`config_file` None means the project's own `Pulumi.<stack>.yaml`."""

    def __init__(self, project_folder: Path, name: str, config_file: Path | None = None) -> None:
        self.project_folder = project_folder
        self.name = name
        self.config_file = config_file
        self.project = str(yaml.safe_load((project_folder / "Pulumi.yaml").read_text())["name"])

    @property
    def file(self) -> Path:
        """The configuration file, wherever it lies."""
        return self.config_file or self.project_folder / f"Pulumi.{self.name}.yaml"

    def create_if_missing(self) -> None:
        """Makes the stack where it doesn't exist. The engine then writes the salt of its secrets into the configuration file."""
        if self.exists():
            return
        if self.config_file is None:
            self._run("stack", "init", self.name, "--no-select", quiet=True)
            return
        if not self.config_file.is_file():
            raise EngineError(f"there is no {self.config_file}; `{COMMAND} new {self.name} --example NAME` writes one")
        # `stack init` takes no configuration file, it writes into the project's folder; so it gets a folder of its own.
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
        answer = self._run("stack", "export", "--stack", self.name, quiet=True)
        return json.loads(answer)["deployment"]

    def outputs(self) -> Mapping[str, Any]:
        return json.loads(self._run("stack", "output", "--json", "--stack", self.name, quiet=True))

    def history(self, most: int) -> list[Mapping[str, Any]]:
        """Its last updates with the configuration that each had, newest first. Secrets stay encrypted."""
        asked = ("stack", "history", "--json", "--page-size", str(most), "--page", "1", "--stack", self.name)
        return json.loads(self._run(*asked, quiet=True) or "[]")

    def backend_folder(self) -> Path | None:
        """The folder of a file backend; None for any other backend."""
        url = urlparse(os.environ.get("PULUMI_BACKEND_URL", ""))
        return Path(unquote(url.path)) if url.scheme == "file" else None

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
        """Reads these resources anew, and no others."""
        targets = [word for urn in urns for word in ("--target", urn)]
        self._run("refresh", "--yes", "--skip-preview", *targets, *self._update_options())

    def preview(self) -> None:
        self._run("preview", "--diff", *self._update_options())

    def planned_steps(self) -> list[Mapping[str, Any]]:
        """What an update would do, step by step, as the engine tells it in JSON."""
        answer = self._run("preview", "--json", *self._update_options(), quiet=True)
        return json.loads(answer).get("steps") or []

    def up(self, *, line_by_line: bool = False) -> None:
        """`line_by_line`: also in a terminal, where others write lines meanwhile."""
        self._run("up", "--yes", "--skip-preview", *self._update_options(), line_by_line=line_by_line)

    def declares(self, section: str) -> bool:
        """Whether its configuration has the section. False where the file can't be read: the engine says why."""
        try:
            return config_key(section) in stack_file.configuration(self.file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, stack_file.StackFileError):
            return False

    def destroy(self) -> None:
        self._run("destroy", "--yes", "--skip-preview", *self._update_options())

    def remove(self) -> None:
        """Removes the empty stack, not its configuration file."""
        self._run("stack", "rm", "--yes", "--preserve-config", self.name, quiet=True)

    def _update_options(self) -> list[str]:
        config = ["--config-file", str(self.config_file)] if self.config_file else []
        return ["--stack", self.name, *config]

    def _run(self, *arguments: str, quiet: bool = False, line_by_line: bool = False) -> str:
        return run_engine(self.project_folder, *arguments, quiet=quiet, line_by_line=line_by_line)


def stack_names(project_folder: Path) -> list[str]:
    """The stacks of this project in the backend."""
    stacks = json.loads(run_engine(project_folder, "stack", "ls", "--json", quiet=True))
    return [str(stack["name"]).rsplit("/", 1)[-1] for stack in stacks]


def run_engine(project_folder: Path, *arguments: str, quiet: bool = False, line_by_line: bool = False) -> str:
    """Runs `pulumi`. `quiet` catches its output and returns it; otherwise the terminal shows it. EngineError where it fails."""
    watched = not quiet and not line_by_line and sys.stdout.isatty()
    command = ["pulumi", *arguments, *([] if watched else ["--non-interactive"])]
    try:
        done = subprocess.run(command, cwd=project_folder, env=engine_environment(), text=True, check=False, capture_output=quiet)
    except FileNotFoundError:
        local = 'for the local stack `make up`, then `eval "$(make -s env)"`, for others ' if CHECKOUT else ""
        raise EngineError(f"`pulumi` isn't on PATH; {local}install it first") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout or "").strip()
        raise EngineError(
            f"`pulumi {' '.join(arguments[:2])}` ended with exit code {done.returncode}" + (f": {said}" if said else "")
        )
    if quiet and done.stderr:
        print(done.stderr, end="", file=sys.stderr)
    return done.stdout or ""
