"""The packages as their users have them: the wheels of a checkout, and an environment with nothing else in it."""

import subprocess
import sys
from pathlib import Path

from tests.support.embedded import CHECKOUT

UV = Path(sys.executable).with_name("uv")
LOCKED = CHECKOUT / "requirements-local.txt"  # the versions that this environment has, so that they are in the cache


def built_wheel(checkout: Path, folder: Path, package: str = "components") -> Path:
    """The wheel of a package of `checkout`, written to `folder`."""
    command = [UV, "build", "-q", "--wheel", "--no-build-isolation", "--python", sys.executable, "-o", folder, package]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [wheel] = folder.glob("azure_gpu_operations-*.whl" if package == "operations" else "azure_gpu-*.whl")
    return wheel


def environment(wheel: Path, folder: Path, *, extra: str = "", verbs: Path | None = None, pip: bool = False) -> Path:
    """The Python of a new environment in `folder` with the wheel, the packages of `extra`, and what these depend on. `verbs`: the
    wheel with the command. `pip`: with pip too, which a language host asks for what is installed."""
    python = folder / "bin" / "python"
    wanted = [f"azure-gpu{f'[{extra}]' if extra else ''} @ {wheel.as_uri()}"]
    wanted += [f"azure-gpu-operations @ {verbs.as_uri()}"] if verbs else []
    for command in (
        ["venv", "-q", "--allow-existing", *(["--seed"] if pip else []), "--python", sys.executable, folder],
        ["pip", "install", "-q", "--python", python, "-c", LOCKED, *wanted],
    ):
        done = subprocess.run([UV, *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return python
