"""The programs of a virtual machine that precede this machine's own: those that are emulated, and those that are refused.

They lie in the folder's `bin`, which is first on the machine's PATH, with `nvidia-smi` where a driver is installed.
"""

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from localazure import tables
from localazure.folder import write_json
from localazure.kubernetes.gpu_programs import PROGRAM, Programs
from localazure.kubernetes.node_gpus import Visible, gpus
from localazure.machines import machine_program
from localazure.machines.model import MachineSettings

HOST = "machine"  # the key of the machine itself among those that see its GPUs; containers are `docker`
NAME = "host"
_OWN = Path(__file__).with_name("bin")  # scripts that every machine has
_REFUSED = tables.rows(__file__, "refused_programs.tsv")
_NO_DRIVER_HERE = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is "
    "installed and running."
)


def bin_of(folder: Path) -> Path:
    return folder / "bin"


def status_of_cloud_init(folder: Path) -> Path:
    return folder / "cloud-init-status"


def gpu_programs(folder: Path, settings: MachineSettings, driver: str) -> Programs:
    return Programs(folder / "gpu", lambda: settings.node(driver))


def install(folder: Path, settings: MachineSettings, driver: str, reach: Mapping[str, str]) -> None:
    """Makes the folder of programs what it has to be now. `reach`: how they reach the embedded Azure."""
    target = bin_of(folder)
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    config = folder / "programs.json"
    write_json(config, {**reach, "root": str(folder / "root")}, 0o600)

    def acted(name: str) -> str:
        words = [sys.executable, "-I", "-S", machine_program.__file__, str(config), name]
        return f'#!/bin/sh\nexec {" ".join(shlex.quote(word) for word in words)} "$@"\n'

    scripts = {"az": acted("az"), "docker": acted("docker") if settings.image_has_docker else _missing("docker")}
    scripts |= dict.fromkeys(("nvidia-ctk", "nvidia-container-cli"), _missing("nvidia-container-toolkit's programs"))
    scripts |= {name: f'#!/bin/sh\necho "{name}: the embedded Azure {why}" >&2\nexit 100\n' for name, why in _REFUSED}
    scripts |= {each.name: each.read_text(encoding="utf-8") for each in _OWN.iterdir()}
    if not driver:
        scripts[PROGRAM] = _missing(PROGRAM)
    elif not settings.has_nvidia:
        scripts[PROGRAM] = f"#!/bin/sh\necho {shlex.quote(_NO_DRIVER_HERE)}\nexit 9\n"
    else:
        (target / PROGRAM).unlink(missing_ok=True)
    for name, script in scripts.items():
        _write(target / name, script)
    _see_gpus(folder, settings, driver)


def _see_gpus(folder: Path, settings: MachineSettings, driver: str) -> None:
    """The machine itself sees all of its GPUs, and the processes of its containers."""
    found = tuple(gpus(settings.node(driver))) if driver and settings.has_nvidia else ()
    (folder / "gpu").mkdir(mode=0o700, exist_ok=True)
    programs = gpu_programs(folder, settings, driver)
    programs.note(HOST, NAME, Visible("all", found), host_pid=True, pod="")


def path_of(folder: Path, machines_path: str) -> str:
    return f"{bin_of(folder)}:{folder / 'gpu' / 'programs' / HOST / NAME}:{machines_path}"


def _missing(name: str) -> str:
    return f'#!/bin/sh\necho "$(basename "$0"): command not found ({name} isn\'t installed on this machine)" >&2\nexit 127\n'


def _write(file: Path, text: str) -> None:
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.unlink(missing_ok=True)
        file.write_text(text, encoding="utf-8")
    file.chmod(0o755)
