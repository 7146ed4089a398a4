"""Starts, connects and stops the embedded Azure of a review, and has the engine's environment on it.

`python -m localazure` is run as a command: this package never imports it.
"""

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from azure_gpu.formats import bounded_yaml
from azure_gpu.shared.installation import CHECKOUT
from azure_gpu.stack.keys import FILE_VARIABLE
from azure_gpu_operations import local_connection
from azure_gpu_operations.terminal import last_line

_ROOM = "localazure"
_ENGINE_BIN = ".local/engine-bin"  # where `make engine` writes the folder of the `pulumi` that it has built


class EmbeddedAzureError(Exception):
    """A command of the embedded Azure failed. The message is for the user."""


class EmbeddedAzure:
    """`state`: its folder. `checkout`: what images are built from."""

    def __init__(self, state: Path, checkout: Path) -> None:
        self.state = state
        self._checkout = checkout

    @contextmanager
    def running(self, as_of: str) -> Iterator[None]:
        """From here until the block ends. `as_of`: the day at which services judge."""
        engine = engine_folder()
        self._command(
            "start", "--weather", "calm", "--nothing-runs", "--as-of", as_of, *(["--engine-bin", str(engine)] if engine else [])
        )
        try:
            yield
        finally:
            with contextlib.suppress(EmbeddedAzureError):  # what was found out stays; the next start takes a server that is left
                self._command("stop")

    def connect(self, stack: str, folder: Path) -> Path:
        """A copy of the folder's `Pulumi.<stack>.yaml`, connected to it."""
        return Path(self._command("connect", stack, checkout=folder).strip().splitlines()[-1])

    def place(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Puts what a stack names there: `principals`, and `left_out`."""
        file = self.state / "place.json"
        file.write_text(json.dumps(request), encoding="utf-8")
        return json.loads(self._command("place", str(file)))

    def kubeconfig(self, context: str) -> str:
        """The kubeconfig of a cluster that accepts everything and runs nothing. `context`: the name of its context; "": any."""
        found: dict[str, Any] = bounded_yaml.load((self.state / "still" / "kubeconfig").read_text(encoding="utf-8"))
        if context:
            found["contexts"][0]["name"] = found["current-context"] = context
        return json.dumps(found)

    def environment(self, *packages: Path) -> dict[str, str]:
        """The engine's environment. `packages`: folders of Python packages that come before all others."""
        found = {**os.environ, **local_connection.exported(self.state / local_connection.FILE, os.environ)}
        found["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), found.get("PATH", os.defpath)))
        found.pop("VIRTUAL_ENV", None)
        if packages:
            found["PYTHONPATH"] = os.pathsep.join(map(str, packages))
        return found

    def _command(self, *words: str, checkout: Path | None = None) -> str:
        command = [sys.executable, "-m", _ROOM, "--state", str(self.state), "--checkout", str(checkout or self._checkout), *words]
        done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise EmbeddedAzureError(f"`localazure {words[0]}` failed: {last_line(done.stderr)}")
        return done.stdout


def require_embedded_azure() -> None:
    """EmbeddedAzureError where this installation has no embedded Azure."""
    if CHECKOUT is None or not (CHECKOUT / _ROOM).is_dir():
        raise EmbeddedAzureError(
            "this installation has no embedded Azure, which a review requires; fix: review with --live and a login, "
            "or run it in a checkout of azure-gpu"
        )
    if importlib.util.find_spec("uvicorn") is None:
        raise EmbeddedAzureError(
            "the embedded Azure's packages aren't installed here; fix: `make .venv/ready`, and use `.venv/bin/python`"
        )


def engine_folder() -> Path | None:
    """The folder of the `pulumi` that this checkout has built; None: the one on PATH."""
    file = CHECKOUT / _ENGINE_BIN if CHECKOUT else None
    return Path(file.read_text(encoding="utf-8").strip()) if file is not None and file.is_file() else None


def engine(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], stack_file: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """Runs `pulumi`, however it ends."""
    own = {FILE_VARIABLE: str(stack_file)} if stack_file is not None else {}
    try:
        return subprocess.run(
            ["pulumi", *words, "--non-interactive"],
            cwd=folder,
            env={**environment, **own},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        raise EmbeddedAzureError("`pulumi` isn't on PATH; fix: `make engine` builds it in a checkout, or install it") from None
