"""The commands that the pages print, run as they stand in a copy of the checkout, as on a machine of its own: caches are shared,
nothing else is. Each ends with the exit code that the list has, in the weather that a new subscription has."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support import warm_python
from tests.support.embedded import until
from tests.support.page_commands import Step, steps
from tests.support.readme_commands import copied

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2400)]
LIMIT_SECONDS = 900
# What belongs to this run and must not reach another checkout's.
OWN = {"PULUMI_HOME", "PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE", "VIRTUAL_ENV", "PYTHONPATH", "MAKEFLAGS"} | {
    f"ARM_{name}"
    for name in ("METADATA_HOSTNAME", "DISABLE_INSTANCE_DISCOVERY", "SUBSCRIPTION_ID", "TENANT_ID", "CLIENT_ID", "CLIENT_SECRET")
}
# A second `make up` changes nothing, so that the first one's proof of each service is the proof of both.
NOT_PROVED = {"MAKEFLAGS": "PROVED="}
WRITTEN = ("Pulumi.staging.yaml", "train.py")  # by commands, and for them
# What `eval "$(make -s env)"` does, which the list has as well: it takes half a second, and says the same each time.
CONNECTED = "[ .local/evaluated -nt .local/env ] || make -s env > .local/evaluated; . .local/evaluated"
WITHOUT_CLUSTER = ["container group", "Container Apps job", "Batch pool", "Azure ML compute", "Azure ML endpoint"]
# As docs/tour.md shows it fail.
TRAIN = """
for step in (1, 2):
    print("step", step, "of 2")
print("loss 0.31")
raise SystemExit("no such file: data/train.npz")
"""


class Copy(NamedTuple):
    """A git checkout with the files of this one, committed or not, and nothing that git ignores."""

    folder: Path
    installed: bool  # the environment is this checkout's

    def run(self, step: Step, **more: str) -> str:
        """What a command prints. `python` is the checkout's, connected to its embedded Azure where that has been started.

        The engine's programs start in a warm Python, which saves a minute, but for what the first `make` installs: that has to
        work by itself, and what follows starts the same.
        """
        started = (self.folder / ".local" / "env").exists()
        connected = started and not step.command.startswith(("make ", "eval "))
        inherited = {name: value for name, value in os.environ.items() if name not in OWN}
        path = [each for each in inherited["PATH"].split(os.pathsep) if each != str(Path(sys.executable).parent)]
        own = [str(self.folder / ".venv" / "bin")] if "python -m" in step.command else []
        packages = {
            "PYTHONPATH": os.pathsep.join(str(self.folder / room) for room in ("components", "operations")),
            "PULUMI_PYTHON_CMD": str(warm_python.python()),
        }
        done = subprocess.run(
            ["sh", "-c", f"{CONNECTED}\n{step.command}" if connected else step.command],
            cwd=self.folder,
            env={**inherited, "PATH": os.pathsep.join([*own, *path]), **(packages if self.installed or started else {}), **more},
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
        assert done.returncode == step.code, f"{step.command}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stdout + done.stderr, f"{step.command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def git(self, *arguments: str) -> str:
        return subprocess.run(["git", "-C", str(self.folder), *arguments], capture_output=True, text=True, check=True).stdout


@contextmanager
def checkout(folder: Path, *, installed: bool) -> Iterator[Copy]:
    made = Copy(copied(folder, installed=installed), installed)
    made.git("init", "--quiet", "--initial-branch", "main")
    (folder / ".git" / "info" / "exclude").write_text("".join(f"{each}\n" for each in (".venv", *WRITTEN)))
    made.git("add", "--all")
    made.git("-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "--quiet", "--message", "all")
    try:
        yield made
    finally:
        if (folder / ".local" / "endpoint.json").exists():  # where a command failed before the last one
            made.run(Step(".venv/bin/python -m localazure stop"))


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Copy]:
    with checkout(tmp_path / "checkout", installed=True) as made:
        yield made


@pytest.fixture
def new_copy(tmp_path: Path) -> Iterator[Copy]:
    """Whose packages the first `make` installs."""
    with checkout(tmp_path / "checkout", installed=False) as made:
        yield made


def walked(copy: Copy, setting: str, noted: Callable[[str], None] = lambda _: None) -> list[str]:
    """What each command of a setting prints; `noted` is told of each that has ended. The checkout stays as git has it."""
    outputs: list[str] = []
    ran: set[str] = set()
    for step in steps(setting):
        began = time.monotonic()
        outputs.append(copy.run(step, **(NOT_PROVED if step.command in ran else {})))
        ran.add(step.command)
        print(f"{time.monotonic() - began:6.1f} s  {step.command}")  # shown where a test fails, or with -s
        assert copy.git("status", "--porcelain") == "", step.command
        noted(step.command)
    return outputs


def test_commands_that_need_no_azure(copy: Copy) -> None:
    walked(copy, "checkout")


def test_the_local_stack_on_its_first_day(new_copy: Copy) -> None:
    """With what the tour shows of the stack `lite`, which is this one without its cluster."""
    (new_copy.folder / "train.py").write_text(TRAIN)
    text = brought_up_and_down(new_copy, "local")
    assert "10 of 10 digits" in text
    assert proved(text) == [*WITHOUT_CLUSTER[:3], "AKS cluster", *WITHOUT_CLUSTER[3:]]
    assert "waiting until the new role assignment takes effect, up to 15 minutes" in text


def test_the_stack_of_the_documents_at_their_own_dates(copy: Copy) -> None:
    text = brought_up_and_down(copy, "documents")
    assert "quota requested and granted: standardNCFamily of " in text
    assert "Test PASSED" in text


# The job of `dev` installs TensorFlow in its container: 4 minutes of CPU time. `lite` has nothing that `local` hasn't, which
# tests/stack/test_shipped_stacks.py sees.
@pytest.mark.nightly
def test_the_stack_of_a_team_and_the_one_without_a_cluster(copy: Copy) -> None:
    assert proved(brought_up_and_down(copy, "dev")) == WITHOUT_CLUSTER[:3]
    (copy.folder / "train.py").write_text(TRAIN)
    assert proved(brought_up_and_down(copy, "lite")) == WITHOUT_CLUSTER


def brought_up_and_down(copy: Copy, stack: str) -> str:
    """What the first `make up` prints. A second one and a preview change nothing; `make down` leaves no process and no port."""
    commands = [step.command for step in steps(stack)]
    up = f"make up{'' if stack == 'local' else f' STACK={stack}'}"
    began = commands.index(up)
    port = 0
    outputs: list[str] = []

    def noted(command: str) -> None:
        nonlocal port
        if command == up:
            port = json.loads((copy.folder / ".local" / "endpoint.json").read_text())["port"]

    outputs = walked(copy, stack, noted)
    for command, text in list(zip(commands, outputs, strict=True))[began + 1 :]:
        if command.startswith(("make up", "make preview")):
            assert re.search(r"^ +\d+ unchanged$", text, re.MULTILINE), f"{command}\n{text}"
            assert "15 minutes" not in text, "roles are waited for once"
            assert not re.search(r"^ +[-+~]{1,2} ?\d+ (created|updated|replaced|deleted|to )", text, re.MULTILINE), (
                f"{command}\n{text}"
            )
    with socket.socket() as client:
        assert client.connect_ex(("127.0.0.1", port)) != 0, "something still listens on the embedded Azure's port"
    until(lambda: str(copy.folder) not in processes(), "every process of this checkout has ended")
    return outputs[began]


def proved(text: str) -> list[str]:
    """The services of the table, all of which have passed."""
    rows = [re.split(r" {2,}", line) for line in text.splitlines()]
    table = [row for row in rows if len(row) > 3 and row[3] in ("yes", "NO")]
    assert [row for row in table if row[3] == "NO"] == []
    return [row[0] for row in table]


def processes() -> str:
    return subprocess.run(["ps", "-A", "-ww", "-o", "args="], capture_output=True, text=True, check=True).stdout
