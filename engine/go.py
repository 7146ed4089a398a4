"""Go: is it there and new enough, and a build with it that shows how far it is.

In: a `GoModule`. Out: a program at the path asked for, or one of the two errors below.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from types import FrameType

from engine.pins import GoModule
from engine.progress import Progress

_SHOWN_LINES = 15  # of a failed build's log
_END_SECONDS = 10  # given to an interrupted build to remove its own temporary files
_SPEED_SECONDS = 20  # of compiling, before anything is said of how long it takes
# A third of a compiler's work is to put functions into each other. What is built here mostly waits, for disks, networks or
# Python, so only Go's own library is compiled that way; and nothing gets what debuggers need, which the linker takes out anyway.
_QUICK = ("-gcflags=all=-l -dwarf=false", "-gcflags=std=-dwarf=false")
_LOOK_SECONDS = 0.02  # between two looks at whether an interrupted build has ended


class MissingGoError(Exception):
    """Go isn't there or is too old; the message is one line that says how to get it."""


class BuildError(Exception):
    """`go build` failed; the message holds its last lines and where its log lies."""


def find_go(oldest: tuple[int, int], what: str) -> str:
    """The path of a `go` that is at least `oldest`, to build `what`; raises `MissingGoError`."""
    wanted = f"Go {oldest[0]}.{oldest[1]} or later"
    remedy = "macOS: brew install go; elsewhere: https://go.dev/dl/"
    go = shutil.which("go")
    if go is None:
        raise MissingGoError(f"missing: {wanted}, to build {what}. {remedy}")
    answer = subprocess.run([go, "env", "GOVERSION"], env=_environment(), capture_output=True, text=True, check=False)
    version = re.match(r"go(\d+)\.(\d+)", answer.stdout)
    if version is None:
        raise MissingGoError(f"missing: {wanted}, to build {what}; {go} doesn't say its version. {remedy}")
    if (int(version[1]), int(version[2])) < oldest:
        raise MissingGoError(f"missing: {wanted}, to build {what}; {go} is {answer.stdout.strip()}. {remedy}")
    return go


def module_folder(go: str, module: GoModule, path: str) -> Path:
    """Where Go keeps the source of the module `path` that `module` requires, which it downloads where it must."""
    command = [go, "mod", "download", "-json", path]
    answer = subprocess.run(command, cwd=module.folder, env=_environment(), capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise BuildError(f"go mod download {path} failed:\n{(answer.stdout + answer.stderr).strip()}")
    return Path(json.loads(answer.stdout)["Dir"])


def build(
    go: str, module: GoModule, output: Path, options: Sequence[str], *, scratch: Path, log: Path, progress: Progress
) -> None:
    """Builds the module's tool as `output`; raises `BuildError`, after writing what Go printed to `log`.

    `scratch` takes Go's temporary files, so that those of a killed build lie where the cache clears them.
    """
    fixed = ["-mod=readonly", "-trimpath", "-buildvcs=false", *_QUICK]
    report = _Report()
    counting = Thread(target=lambda: report.expect(_stale(go, module, [*fixed, *options])), daemon=True)
    process = reader = None
    try:
        # An interruption between the start of Go and its name being known here would leave it running.
        with _uninterrupted():
            process = subprocess.Popen(
                [go, "build", *fixed, "-v", *options, "-o", str(output), module.tool],
                cwd=module.folder,
                env=_environment() | {"GOTMPDIR": str(scratch)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,  # so that its compilers can be ended with it
            )
            reader = Thread(target=report.read, args=(process.stdout,))
            reader.start()
        counting.start()
        while process.poll() is None:
            try:
                process.wait(timeout=progress.interval)
            except subprocess.TimeoutExpired:
                progress.update(f"{output.name}: {report.state()}")
    finally:
        if process is not None and reader is not None:
            with _uninterrupted():
                _end(process)
                reader.join()
    assert process is not None  # else starting it has raised
    if process.returncode != 0:
        log.write_text("".join(report.lines), encoding="utf-8")
        last = "\n".join(f"  {line.rstrip()}" for line in report.lines[-_SHOWN_LINES:])
        raise BuildError(f"go build of {output.name} failed with exit code {process.returncode}:\n{last}\nthe whole log: {log}")


def _stale(go: str, module: GoModule, options: Sequence[str]) -> int:
    """How many packages have to be compiled; 0 where Go doesn't say."""
    command = [go, "list", "-deps", "-f", "{{.Stale}}", *options, module.tool]
    answer = subprocess.run(command, cwd=module.folder, env=_environment(), capture_output=True, text=True, check=False)
    return answer.stdout.split().count("true")


class _Report:
    """Reads what `go build -v` prints: one line for each module it downloads and each package it compiles."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._downloaded = 0
        self._total = 0  # packages to compile, once it is known
        self._started = time.monotonic()

    def read(self, stream: Iterable[str]) -> None:
        for line in stream:
            self.lines.append(line)
            self._downloaded += line.startswith("go: downloading ")

    def expect(self, stale: int) -> None:
        """So many packages are still to be compiled."""
        self._total = stale and stale + len(self.lines) - self._downloaded

    def state(self) -> str:
        compiled, seconds = len(self.lines) - self._downloaded, time.monotonic() - self._started
        of = f" of {self._total}" if self._total else ""
        return f"{self._downloaded} modules downloaded, {compiled}{of} packages compiled{left(compiled, self._total, seconds)}"


def left(done: int, total: int, seconds: float) -> str:
    """How long the rest takes at the speed that this machine has had, once it is known."""
    if seconds < _SPEED_SECONDS or not 0 < done < total:
        return ""
    rest = seconds / done * (total - done)
    return f", about {f'{rest / 60:.0f} minutes' if rest >= 90 else 'a minute' if rest >= 45 else f'{rest:.0f} s'} left"


def _end(process: subprocess.Popen[str]) -> None:
    """Ends a build, where it still runs, and returns once neither Go nor a compiler of it can write any more."""
    for number in (signal.SIGINT, signal.SIGKILL):
        if not _runs(process):
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        deadline = time.monotonic() + _END_SECONDS
        while _runs(process) and time.monotonic() < deadline:
            time.sleep(_LOOK_SECONDS)


def _runs(process: subprocess.Popen[str]) -> bool:
    """Whether Go or a compiler that it started is still there. Go may end before its compilers do."""
    process.poll()  # one that has ended and that nobody has waited for still counts as there
    try:
        os.killpg(process.pid, 0)
    except (ProcessLookupError, PermissionError):  # macOS: PermissionError where all of them have ended
        return False
    return True


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Keeps the signals that interrupt a build until the block has ended; then they do what they did before."""
    came: list[int] = []

    def keep(number: int, _: FrameType | None) -> None:
        came.append(number)

    before = {number: signal.signal(number, keep) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


def _environment() -> dict[str, str]:
    """Ours, with what makes a build the same everywhere: no C compiler, no workspace file, no other Go than the one found."""
    return os.environ | {"CGO_ENABLED": "0", "GOWORK": "off", "GOTOOLCHAIN": "local"}
