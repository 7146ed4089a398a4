"""The policy pack as a clone of this repository has it, ready to run."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.support.embedded import CHECKOUT
from tests.support.installed import UV

PYTHON = CHECKOUT / ".venv" / "bin" / "python"


def installed(folder: Path, engine_bin: Path) -> Path:
    """The pack's folder below this one, with the environment that `pulumi install` makes."""
    pack = _copied(folder)
    environment = {**os.environ, "PATH": f"{PYTHON.parent}:{engine_bin}:{os.environ['PATH']}"}
    done = subprocess.run(["pulumi", "install"], cwd=pack, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return pack


def ready(folder: Path) -> Path:
    """The same with an environment that is made in a tenth of the time."""
    pack = _copied(folder)
    for command in (
        ["venv", "-q", "--seed", "--python", PYTHON, pack / "venv"],
        ["pip", "install", "-q", "--python", pack / "venv" / "bin" / "python", "-r", pack / "requirements.txt"],
    ):
        done = subprocess.run([UV, *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return pack


def _copied(folder: Path) -> Path:
    for each in ("azure_gpu", "policy"):
        ignored = shutil.ignore_patterns("__pycache__", "venv")
        shutil.copytree(CHECKOUT / "components" / each, folder / "components" / each, ignore=ignored)
    return folder / "components" / "policy"
