"""The real Azure CLI on an embedded Azure: installed and signed in by the same code as `operations shell`."""

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from select import select
from typing import Any

from azure_gpu_operations.connection import connection_from
from azure_gpu_operations.shell import cli, environment
from azure_gpu_operations.shell.cli import sign_in
from tests.support.embedded import CHECKOUT, EmbeddedAzure
from tests.support.patience import SECONDS

_WARM = Path(__file__).with_name("warm_azure_cli.py")
_say = partial(print, file=sys.stderr, flush=True)


class AzureCli:
    """`az` with a configuration in the server's own state folder, so that no two tests' workers share one.

    `warm`: commands are run by a process that has the CLI's modules loaded, where this project has installed the CLI.
    """

    def __init__(self, azure: EmbeddedAzure, *, warm: bool = True) -> None:
        self.azure = azure
        outside = connected(azure)
        found = connection_from({}, outside)
        folder = environment.configuration_folder(azure.state, found)
        alone = str(azure.state / "ca" / "ca.pem")  # read anew for each connection, and the system's authorities are many
        trusting = {"SSL_CERT_FILE": alone, "REQUESTS_CA_BUNDLE": alone}
        az = cli.folder_of_az(outside, _say)
        self.environment = environment.variables(outside, folder, az, found) | trusting
        self._python = az.parent / "bin" / "python" if az and warm else None
        self._warm: subprocess.Popen[str] | None = None
        assert sign_in(self.environment, found, azure.client_secret, _say)

    def __call__(self, *words: str, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
        """Runs `az`, which warns and fails on standard error."""
        if self._python is not None:
            return self._run_warm(self._python, words, cwd)
        return subprocess.run(
            ["az", *words],
            cwd=cwd,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def _run_warm(self, python: Path, words: tuple[str, ...], cwd: Path | None) -> "subprocess.CompletedProcess[str]":
        if self._warm is None:
            self._warm = subprocess.Popen(
                [python, "-I", _WARM],
                env={**self.environment, "AZ_INSTALLER": "PIP"},  # as bin/az sets it
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        assert self._warm.stdin is not None
        assert self._warm.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            output, errors = Path(folder, "output"), Path(folder, "errors")
            asked = {"words": words, "folder": str(cwd or Path.cwd()), "output": str(output), "errors": str(errors)}
            self._warm.stdin.write(json.dumps(asked) + "\n")
            self._warm.stdin.flush()
            if not select([self._warm.stdout], [], [], SECONDS)[0]:
                self.close()
                raise subprocess.TimeoutExpired(["az", *words], SECONDS)
            code = int(self._warm.stdout.readline())
            return subprocess.CompletedProcess(["az", *words], code, output.read_text(), errors.read_text())

    def close(self) -> None:
        """Ends the process that has the modules loaded, and a command that it still runs."""
        if self._warm is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._warm.pid, signal.SIGKILL)
            self._warm.communicate()
            self._warm = None

    def answer(self, *words: str, cwd: Path | None = None) -> Any:
        """What a command that has to succeed prints, read as JSON; None where it prints nothing."""
        done = self(*words, "--output", "json", cwd=cwd)
        assert done.returncode == 0, f"az {shlex.join(words)}: {done.stdout}{done.stderr}"
        return json.loads(done.stdout) if done.stdout.strip() else None

    def refusal(self, *words: str, cwd: Path | None = None) -> tuple[int, str]:
        """Exit code and standard error of a command that has to fail."""
        done = self(*words, cwd=cwd)
        assert done.returncode != 0, f"az {shlex.join(words)}: {done.stdout}"
        return done.returncode, done.stderr

    @contextmanager
    def group(self, location: str, *tags: str) -> Iterator[str]:
        """The name of a resource group that is there for as long as the block runs."""
        name = f"rg-{uuid.uuid4().hex[:12]}"
        self.answer("group", "create", "--name", name, "--location", location, *(["--tags", *tags] if tags else []))
        yield name
        self.answer("group", "delete", "--name", name, "--yes", "--no-wait")


def connected(azure: EmbeddedAzure) -> dict[str, str]:
    """This process's environment and the connection to the server, as after `eval "$(make -s env)"`; for `operations` too."""
    lines = azure.command("env").stdout.splitlines()
    pairs = (shlex.split(line)[1].split("=", 1) for line in lines if not line.startswith("export PATH="))
    return {**os.environ, **dict(pairs), "PYTHONPATH": str(CHECKOUT)}
