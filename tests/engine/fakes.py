"""A machine for the builder's tests: a PATH with a pretended `go` and `pulumi` and nothing else, a cache of its own."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

BUILD = Path(__file__).parents[2] / "engine" / "build.py"
PINNED = "v3.259.0"  # of Pulumi

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
import os, pathlib, re, sys, time
records = pathlib.Path(os.environ["FAKE_RECORDS"])
arguments = sys.argv[1:]
if arguments[0] == "env":
    print(os.environ.get("FAKE_GO_VERSION", "go1.26.3"))
elif arguments[0] == "list":
    print(records / "sdk")
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
    version = re.search(r"(?:version\\.Version|gitVersion|gitTag|actionlint\\.version)=(\\S+)", " ".join(arguments))[1]
    output.write_text(f"#!/bin/sh\\ncase $0 in */etcd) echo etcd Version: 3.6.8;; *) echo {version};; esac\\n")
    output.chmod(0o755)
"""
)


@dataclass
class Machine:
    """A machine with an empty PATH, on which `python3 engine/build.py` runs."""

    folder: Path

    def __post_init__(self) -> None:
        for folder in (self.path, self.records, self.sdk_commands):
            folder.mkdir(parents=True)
        (self.sdk_commands / "pulumi-language-python-exec").write_text("# runs the program\n")

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

    def builds(self) -> list[str]:
        """The names of what Go was asked to build, in order."""
        record = self.records / "builds"
        return [line.split()[0] for line in record.read_text().splitlines()] if record.exists() else []

    def last_build_process(self) -> int:
        return int((self.records / "builds").read_text().split()[-1])

    def has_go(self) -> None:
        program(self.path / "go", f"#!{sys.executable}\n{_GO}")

    def has_pulumi(self, answer: str, folder: Path | None = None, *, host: bool = True) -> None:
        folder = folder or self.path
        program(folder / "pulumi", f"#!/bin/sh\n{answer}\n")
        if host:
            program(folder / "pulumi-language-python", "#!/bin/sh\n")

    def has(self, name: str, answer: str, folder: Path | None = None) -> None:
        """A program that answers this, whatever it is asked."""
        program((folder or self.path) / name, f"#!/bin/sh\necho {answer}\n")

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Starts the builder; `environment` adds to what it runs with."""
        return subprocess.Popen(
            [sys.executable, str(BUILD), *arguments],
            env={
                "PATH": str(self.path),
                "HOME": str(self.folder),
                "XDG_CACHE_HOME": str(self.cache.parent),
                "FAKE_RECORDS": str(self.records),
                **environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return finished(self.start(*arguments, **environment))


def finished(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """Waits for the end of `process`, a minute at most."""
    output, errors = process.communicate(timeout=60)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def wait_until(condition: Callable[[], bool]) -> None:
    """Waits for `condition`, half a minute at most."""
    deadline = time.monotonic() + 30
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("waited 30 seconds in vain")
        time.sleep(0.02)


def alive(process: int) -> bool:
    """Whether a process with this id runs."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
