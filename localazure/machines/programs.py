"""The programs of a virtual machine that precede this machine's own: those that are emulated, and those that are refused.

They lie in the folder's `bin`, which is first on the machine's PATH, with `nvidia-smi` where a driver is installed.
"""

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from localazure.folder import write_json
from localazure.kubernetes.gpu_programs import PROGRAM, Programs
from localazure.kubernetes.node_gpus import Visible, gpus
from localazure.machines import machine_program
from localazure.machines.model import MachineSettings

HOST = "machine"  # the key of the machine itself among those that see its GPUs; containers are `docker`
NAME = "host"
_INSTALLS = ("apt", "apt-get", "aptitude", "dpkg", "dnf", "rpm", "snap", "tdnf", "yum", "zypper")
_MANAGES = (
    "adduser",
    "insmod",
    "iptables",
    "modprobe",
    "halt",
    "mount",
    "poweroff",
    "reboot",
    "rmmod",
    "service",
    "shutdown",
    "swapoff",
    "sysctl",
    "systemctl",
    "ufw",
)
_USERS = ("groupadd", "passwd", "useradd", "userdel", "usermod", "visudo")
_NO_DRIVER_HERE = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is "
    "installed and running."
)
_SUDO = """#!/bin/sh
while [ $# -gt 0 ]; do
  case "$1" in
    -u|-g|-p|-h|--user|--group|--prompt|--host) shift 2 ;;
    --) shift; break ;;
    -*) shift ;;
    *) break ;;
  esac
done
[ $# -eq 0 ] || exec env "$@"
"""
_CLOUD_INIT = """#!/bin/sh
# Tells the status of cloud-init, which the embedded Azure acts out.
status() {{ cat {file} 2>/dev/null || echo 'not started'; }}
[ "$1" = status ] || {{ echo "cloud-init: the embedded Azure only implements 'status'" >&2; exit 2; }}
for option in "$@"; do
  if [ "$option" = --wait ] || [ "$option" = -w ]; then
    while [ "$(status)" = running ] || [ "$(status)" = 'not started' ]; do sleep 0.1; done
  fi
done
echo "status: $(status)"
[ "$(status)" != error ]
"""


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
    scripts |= {name: _refused(name, "installs no packages on its machines") for name in _INSTALLS}
    scripts |= {name: _refused(name, "doesn't act it out on its machines") for name in (*_MANAGES, *_USERS)}
    scripts["sudo"] = _SUDO
    scripts["cloud-init"] = _CLOUD_INIT.format(file=shlex.quote(str(status_of_cloud_init(folder))))
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


def _refused(name: str, why: str) -> str:
    return f'#!/bin/sh\necho "{name}: the embedded Azure {why}" >&2\nexit 100\n'


def _write(file: Path, text: str) -> None:
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.unlink(missing_ok=True)
        file.write_text(text, encoding="utf-8")
    file.chmod(0o755)
