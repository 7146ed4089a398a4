"""NVIDIA's driver on a node as its tasks see it: `nvidia-smi` on their PATH, with the GPUs of the pool's size.

A node has a driver where its image brings one, an extension of its pool installs one, or its start task calls an installer.
"""

import shutil
from pathlib import Path

from localazure.batch.pool_settings import PoolSettings
from localazure.kubernetes.gpu_programs import Programs
from localazure.kubernetes.node_gpus import Visible, gpus
from localazure.machines.model import gpu_node

FOLDER = "gpu"
_NODE, _TASKS = "node", "tasks"  # all tasks of a node see the same


def install(node_folder: Path, node_id: str, allocated: str, settings: PoolSettings) -> None:
    """Puts the program on a node that has a driver, and takes it from one that has none."""
    record = gpu_node(settings.size, node_id, allocated, settings.driver)
    found, folder = tuple(gpus(record)), node_folder / FOLDER
    if not found:
        shutil.rmtree(folder, ignore_errors=True)
        return
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    Programs(folder, lambda: record).note(_NODE, _TASKS, Visible("all", found), host_pid=True, pod="")


def programs(folder: Path) -> Path | None:
    """The folder for PATH of a node whose files lie in `folder`; None where it has no driver."""
    found = folder / FOLDER / "programs" / _NODE / _TASKS
    return found if found.is_dir() else None
