"""The programs of a node that precede the machine's own on its tasks' PATH: `nvidia-smi` and `hostname`.

A node has NVIDIA's driver, with the GPUs of the pool's size, where its image brings one, an extension of its pool installs one,
or its start task calls an installer. `hostname` reports the node's own addresses: all nodes are processes of one machine, which
has every address of theirs, so that a task couldn't tell which one is its node's.
"""

import shlex
import shutil
from pathlib import Path

from localazure.batch.pool_settings import PoolSettings
from localazure.batch.task_environment import machines_path
from localazure.kubernetes.gpu_programs import Programs
from localazure.kubernetes.node_gpus import Visible, gpus
from localazure.machines.model import gpu_node

FOLDER, ADDRESS_FOLDER = "gpu", "address"
_NODE, _TASKS = "node", "tasks"  # all tasks of a node see the same


def install_gpus(node_folder: Path, node_id: str, allocated: str, settings: PoolSettings) -> None:
    """Puts the program on a node that has a driver, and takes it from one that has none."""
    record = gpu_node(settings.size, node_id, allocated, settings.driver)
    found, folder = tuple(gpus(record)), node_folder / FOLDER
    if not found:
        shutil.rmtree(folder, ignore_errors=True)
        return
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    Programs(folder, lambda: record).note(_NODE, _TASKS, Visible("all", found), host_pid=True, pod="")


def gpu_programs(folder: Path) -> Path | None:
    """The folder for PATH of a node whose files lie in `folder`; None where it has no driver."""
    found = folder / FOLDER / "programs" / _NODE / _TASKS
    return found if found.is_dir() else None


def install_hostname(folder: Path, node_id: str, address: str) -> None:
    """Writes `hostname` below a node's folder. Requests for anything but addresses go to the machine's own program."""
    own = shutil.which("hostname", path=machines_path())
    programs_folder = folder / ADDRESS_FOLDER
    programs_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    rest = f'exec {shlex.quote(own)} "$@"' if own else f"echo {shlex.quote(node_id)}"
    script = f'#!/bin/sh\ncase "$1" in\n-I | -i | --all-ip-addresses | --ip-address) echo {address} ;;\n*) {rest} ;;\nesac\n'
    program = programs_folder / "hostname"
    program.write_text(script, encoding="utf-8")
    program.chmod(0o700)


def hostname_program(folder: Path) -> Path | None:
    """The folder for PATH of a node whose files lie in `folder`; None before it has come up."""
    found = folder / ADDRESS_FOLDER
    return found if found.is_dir() else None
