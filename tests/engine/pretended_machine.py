"""A machine for the builder's tests: a PATH with a pretended `go` and `pulumi` and nothing else, a cache of its own.

`Machine` runs the builder in this process and pretends what it starts. `RealMachine` starts it, for tests of how a build ends.
"""

import io
import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

from engine import actionlint_tool, command, download, go, kubernetes_tools, language_tools, official, pulumi_tools, slim
from engine.pins import GoModule
from engine.progress import Progress
from tests.support.patience import SECONDS

BUILD = Path(__file__).parents[2] / "engine" / "build.py"
PINNED = "v3.259.0"  # of Pulumi
EDITED = (pulumi_tools.COMMAND_LINE, pulumi_tools.LANGUAGE_HOST, language_tools.NODEJS, kubernetes_tools.KUBERNETES)

_STAMP = re.compile(r"(?:version\.Version|gitVersion|gitTag|actionlint\.version)=(\S+)")
_BUILT = "# built: "

# Pretends to be Go: records what it is asked to build, waits as long as the file `hold` is there, fails with the text of the file
# `fail`, and otherwise "builds" a program that answers the version that the linker was told. Where the file `compiler` is there,
# it starts one that still writes a moment after it was interrupted, when Go is long gone.
_COMPILER = """
import os, pathlib, signal, sys, time
temporary = pathlib.Path(os.environ["GOTMPDIR"])
def interrupted(*_):
    for number in range(30):
        time.sleep(0.01)
        (temporary / "late.o").write_text("late")
    sys.exit(1)
signal.signal(signal.SIGINT, interrupted)
pathlib.Path(sys.argv[1], "compiler").write_text(str(os.getpid()))
while True:
    time.sleep(1)
"""
_GO = (
    f"COMPILER = {_COMPILER!r}\n"
    + """
import json, os, pathlib, re, sys, time
records = pathlib.Path(os.environ["FAKE_RECORDS"])
arguments = sys.argv[1:]
if arguments[0] == "env":
    print("go1.26.3")
elif arguments[0] == "mod":
    print(json.dumps({"Dir": str(records / "sdk")}))
elif arguments[0] == "build":
    output = pathlib.Path(arguments[arguments.index("-o") + 1])
    with (records / "builds").open("a") as builds:
        print(output.name, os.getpid(), file=builds, flush=True)
    print("github.com/example/compiled", file=sys.stderr, flush=True)
    pathlib.Path(os.environ["GOTMPDIR"], "half.o").write_text("half")
    output.write_text("half")
    if (records / "compiler").exists():
        import subprocess
        subprocess.Popen([sys.executable, "-c", COMPILER, str(records)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while (records / "hold").exists():
        time.sleep(0.02)
    if (records / "fail").exists():
        sys.exit((records / "fail").read_text())
    version = re.search(r"version\\.Version=(\\S+)", " ".join(arguments))[1]
    output.write_text(f"#!/bin/sh\\necho {version}\\n")
    output.chmod(0o755)
"""
)


class Result(NamedTuple):
    """What a run of the builder ended with."""

    returncode: int
    stdout: str
    stderr: str


@dataclass
class Machine:
    """A machine with an empty PATH, on which the builder runs."""

    folder: Path

    def __post_init__(self) -> None:
        for folder in (self.path, self.records, self.sdk_commands):
            folder.mkdir(parents=True)
        (self.sdk_commands / "pulumi-language-python-exec").write_text("# runs the program\n")
        for module in EDITED:
            source(module, self.records / "sdk")
        self.pins = self.folder / "official.tsv"
        self.pin({})
        self.go_version = "go1.26.3"
        self.while_building: Callable[[], object] = lambda: None

    @property
    def path(self) -> Path:
        return self.folder / "bin"

    @property
    def records(self) -> Path:
        return self.folder / "records"

    @property
    def sdk_commands(self) -> Path:
        return self.records / "sdk" / "python" / "cmd"

    @property
    def cache(self) -> Path:
        return self.folder / "cache" / "azure-gpu"

    @property
    def built(self) -> Path:
        return self.cache / "pulumi-3.259.0"

    @property
    def built_languages(self) -> Path:
        return self.cache / "languages-3.259.0"

    @property
    def built_kubernetes(self) -> Path:
        return self.cache / "kubernetes-1.36.2"

    def pin(self, sums: Mapping[str, str]) -> None:
        """The archives that may be downloaded: address → SHA-256."""
        self.pins.write_text(official.written((address, sha256, "test") for address, sha256 in sums.items()))

    def builds(self) -> list[str]:
        """The names of what Go was asked to build, in order."""
        record = self.records / "builds"
        return [line.split()[0] for line in record.read_text().splitlines()] if record.exists() else []

    def options(self, name: str) -> list[str]:
        """What Go was asked to build a program with, the last time."""
        lines = (self.records / "builds").read_text().splitlines()
        return next(line.split() for line in reversed(lines) if line.split()[0] == name)

    def has_go(self) -> None:
        program(self.path / "go", "#!/bin/sh\n")

    def has_pulumi(self, answer: str, folder: Path | None = None, *, host: bool = True) -> None:
        folder = folder or self.path
        program(folder / "pulumi", f"#!/bin/sh\n{answer}\n")
        if host:
            program(folder / "pulumi-language-python", "#!/bin/sh\n")

    def has(self, name: str, answer: str, folder: Path | None = None) -> None:
        """A program that answers this, whatever it is asked."""
        program((folder or self.path) / name, f"#!/bin/sh\necho {answer}\n")

    def environment(self, **more: str) -> dict[str, str]:
        own = {"PATH": str(self.path), "HOME": str(self.folder), "XDG_CACHE_HOME": str(self.cache.parent)}
        return {**own, "FAKE_RECORDS": str(self.records), **more}

    def run(self, *arguments: str, **environment: str) -> Result:
        """Runs the builder in this process; `environment` adds to what it runs with."""
        output, errors = io.StringIO(), io.StringIO()
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
        kubernetes_tools._taken.cache_clear()
        with ExitStack() as pretended:
            pretended.enter_context(mock.patch.dict(os.environ, self.environment(**environment), clear=True))
            for module in (actionlint_tool, kubernetes_tools, pulumi_tools):
                pretended.enter_context(mock.patch.object(module, "answer", _answer))
            pretended.enter_context(mock.patch.object(official, "PINS", self.pins))
            pretended.enter_context(mock.patch.object(official, "platform_name", return_value=official.LINUX))
            pretended.enter_context(mock.patch.object(download, "_SECONDS", 0.5))
            pretended.enter_context(mock.patch.object(command, "Progress", side_effect=lambda stream=errors: Progress(stream)))
            pretended.enter_context(mock.patch.object(go, "subprocess", SimpleNamespace(run=self._go)))
            pretended.enter_context(mock.patch.object(go, "build", self._build))
            with redirect_stdout(output):
                code = command.main(arguments)
        for number, handler in before.items():
            signal.signal(number, handler)
        return Result(code, output.getvalue(), errors.getvalue())

    def _go(self, words: Sequence[str], **options: Any) -> Any:
        place = json.dumps({"Dir": str(self.records / "sdk")})
        return SimpleNamespace(returncode=0, stdout=self.go_version if words[1] == "env" else place)

    def _build(self, go_program: str, module: Any, output: Path, options: Sequence[str], **others: Any) -> None:
        with (self.records / "builds").open("a") as builds:
            print(output.name, *options, file=builds)
        self.while_building()
        if (self.records / "fail").exists():
            raise go.BuildError((self.records / "fail").read_text())
        stamp = _STAMP.search(" ".join(options))
        assert stamp is not None
        program(output, f"{_BUILT}{stamp[1]}\n")


class RealMachine(Machine):
    """One on which the builder runs in a process of its own, with a Go that is a program."""

    def has_go(self) -> None:
        program(self.path / "go", f"#!{sys.executable}\n{_GO}")

    def start(self) -> "subprocess.Popen[str]":
        command = [sys.executable, str(BUILD)]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=self.environment(), stdout=pipe, stderr=pipe, text=True)

    def run(self, *arguments: str, **environment: str) -> Result:
        return finished(self.start())

    def last_build_process(self) -> int:
        return int((self.records / "builds").read_text().split()[-1])


def source(module: GoModule, folder: Path) -> None:
    """Writes into `folder` a source that the edits of a module fit."""
    for edits in tomllib.loads((module.folder / slim.EDITS).read_text()).values():
        texts = dict.fromkeys((*edits.get("removed", ()), *edits.get("replaced", ())), "package upstream\n")
        for name, changes in edits.get("edits", {}).items():
            texts[name] = "".join(f"{each['old']}\n" * each.get("times", 1) + f"{each.get('before', '')}\n" for each in changes)
        places = {place: folder for folder, place in edits.get("folders", {"": ""}).items()}
        for name, text in texts.items():
            place = max((each for each in places if name.startswith(each)), key=len)
            program(folder / places[place] / name.removeprefix(place).lstrip("/"), text)


def _answer(words: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> str:
    """What a program of a test answers: it prints a text and may fail."""
    text = Path(words[0]).read_text()
    if text.startswith(_BUILT):
        return "etcd Version: 3.6.8\n" if Path(words[0]).name == "etcd" else text.removeprefix(_BUILT)
    printed = re.search(r"^echo *(.*)$", text, re.MULTILINE)
    return f"{printed[1]}\n" if printed and "exit" not in printed[1] else ""


def finished(process: "subprocess.Popen[str]") -> Result:
    """Waits for the end of `process`."""
    output, errors = process.communicate(timeout=SECONDS)
    return Result(process.returncode, output, errors)


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def alive(process: int) -> bool:
    """Whether a process with this id runs."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
