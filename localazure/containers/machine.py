"""This machine's resources for containers: NVIDIA GPUs, and the variables that package tools need."""

import os
import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # of an image that names no other, as Docker's


def gpu_count() -> int:
    """The NVIDIA GPUs whose device files are there. 0 where there is no driver."""
    return sum(1 for device in Path("/dev").glob("nvidia[0-9]*") if device.name.removeprefix("nvidia").isdigit())


def has_nvidia_driver() -> bool:
    return gpu_count() > 0 or shutil.which("nvidia-smi") is not None


_TOOLS = tomllib.loads(Path(__file__).with_name("package_tools.toml").read_text("utf-8"))


def fetching_environment() -> dict[str, str]:
    """The variables with which packages are fetched: indexes, caches, proxies, authorities. No secret of ours is among them."""
    kept = {name: value for name, value in os.environ.items() if name.upper().startswith(tuple(_TOOLS["fetching"]))}
    return {**kept, "PATH": os.environ.get("PATH", os.defpath), "HOME": str(Path.home())}


def pip_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """How pip in a container reaches packages, where this machine says it in its variables. A container on Azure needs none."""
    found = {name: [environment[one] for one in given if environment.get(one)] for name, given in _TOOLS["pip"].items()}
    return {name: " ".join(values[0].split()) for name, values in found.items() if values}


def build_environment(home: Path) -> dict[str, str]:
    """The variables of a build step: the machine's tools and nothing of this server's."""
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "LANG": "C.UTF-8", "TMPDIR": str(home)}
