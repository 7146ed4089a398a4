"""`az container exec` at a terminal and `az container attach`: the real Azure CLI in a container that runs."""

import os
import pty
import select
import time
from collections.abc import Iterator

import pytest

from tests.support.azure_cli import AzureCli
from tests.support.patience import SECONDS

pytestmark = pytest.mark.slow
IMAGE = "k8s-gcrio.azureedge.net/cuda-vector-add:v0.1"


@pytest.fixture
def group(az: AzureCli) -> Iterator[str]:
    with az.group("westeurope") as name:
        yield name


def create(az: AzureCli, group: str, command: str) -> None:
    size = ("--os-type", "Linux", "--cpu", "1", "--memory", "1", "--restart-policy", "Never")
    where = ("--resource-group", group, "--name", "talker")
    az.answer("container", "create", *where, "--image", IMAGE, *size, "--command-line", command)


class Terminal:
    """A command at a terminal of its own."""

    def __init__(self, az: AzureCli, *words: str) -> None:
        self.pid, self._handle = pty.fork()
        if self.pid == 0:
            os.execvpe("az", ["az", *words], az.environment)
        self.screen = ""

    def type(self, text: str) -> None:
        os.write(self._handle, text.encode())

    def read_until(self, words: str) -> None:
        """Reads on until `words` have come."""
        deadline = time.monotonic() + SECONDS
        while words not in self.screen:
            assert time.monotonic() < deadline, f"no {words!r} in {self.screen!r}"
            if select.select([self._handle], [], [], 0.5)[0]:
                self.screen += os.read(self._handle, 4096).decode()

    def end(self) -> int:
        """Reads to the end; the command's exit code."""
        try:
            while read := os.read(self._handle, 4096):
                self.screen += read.decode()
        except OSError:  # Linux's way to say that the other side has closed its end
            pass
        os.close(self._handle)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_a_shell_in_a_container_answers_what_is_typed(az: AzureCli, group: str) -> None:
    create(az, group, "sleep 600")
    terminal = Terminal(az, "container", "exec", "-g", group, "-n", "talker", "--exec-command", "/bin/sh")
    terminal.read_until("# ") if os.geteuid() == 0 else terminal.read_until("$ ")
    terminal.type("echo $((6 * 7)) && tty\r")
    terminal.read_until("\r\n42\r\n/dev/")
    terminal.type("exit\r")
    assert terminal.end() == 0


def test_attach_shows_the_log_of_a_container_that_runs_and_ends_with_it(az: AzureCli, group: str) -> None:
    create(az, group, "sh -c 'for each in 1 2 3 4; do echo line $each; sleep 2; done'")
    done = az("container", "attach", "--resource-group", group, "--name", "talker")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "Container 'talker' is in state 'Running'..."
    assert any(line.endswith("Started container") for line in lines)
    assert "Start streaming logs:" in lines
    assert "line 4" in lines


def test_exec_in_a_container_that_has_ended_is_refused(az: AzureCli, group: str) -> None:
    create(az, group, "true")
    words = ("container", "exec", "--resource-group", group, "--name", "talker", "--exec-command", "/bin/sh")
    code, said = az.refusal(*words)
    assert code == 1
    assert "isn't running" in said.splitlines()[0]
