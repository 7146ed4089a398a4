"""Finds the programs of a control plane: one folder with a file for each, which `engine/build.py kubernetes` makes.

Nothing is built here.
"""

import shutil
from pathlib import Path

from localazure.folder import LocalFolder

NEEDED = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
MAKE = "make kubernetes"
GROUPS_TOLD = "AZURE_GPU_GROUPS_TOLD"  # the variable with the file that names the folder of controllers and charts of groups


def found(folder: LocalFolder) -> Path | None:
    """The folder that `start` was told, else the one where PATH has them."""
    on_path = shutil.which(NEEDED[1])
    for candidate in (told(folder), Path(on_path).parent if on_path else None):
        if candidate is not None and all((candidate / name).exists() for name in NEEDED):
            return candidate
    return None


def told(folder: LocalFolder) -> Path | None:
    """The folder that `start` was told, whether or not it is still there."""
    try:
        text = folder.kubernetes_bin.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    return Path(text) if text else None
