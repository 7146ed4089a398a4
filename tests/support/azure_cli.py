"""The real Azure CLI on an embedded Azure: installed and signed in by the same code as `operations shell`."""

import json
import os
import shlex
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from azure_gpu_operations.shell import cli, connections, environment
from azure_gpu_operations.shell.sign_in import sign_in
from tests.support.embedded import CHECKOUT, EmbeddedAzure
from tests.support.times import STARTED

LIMIT_SECONDS = 120
_say = partial(print, file=sys.stderr, flush=True)


class AzureCli:
    """`az` with a configuration in the server's own state folder, so that no two tests' workers share one."""

    def __init__(self, azure: EmbeddedAzure) -> None:
        self.azure = azure
        outside = connected(azure)
        found = connections.connection({}, outside)
        folder = environment.configuration_folder(azure.state, found)
        self.environment = environment.variables(outside, folder, cli.folder_of_az(outside, _say), found)
        assert sign_in(self.environment, found, azure.client_secret, _say)

    def __call__(self, *words: str, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
        """Runs `az`, which warns and fails on standard error."""
        STARTED["az"] += 1
        return subprocess.run(
            ["az", *words],
            cwd=cwd,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )

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
