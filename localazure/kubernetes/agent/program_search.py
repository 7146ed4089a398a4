"""Checks that a container's program exists before it is started, as a container runtime does.

The result is the runtime's message, or "".
"""

import os
import shutil
from pathlib import Path
from typing import Any

Body = dict[str, Any]
_PREFIX = "OCI runtime create failed: runc create failed: unable to start container process: "


def missing(spec: Body, folder: Path) -> str:
    """`spec`: the content of a run's spec.json; its files are still those of the image."""
    if not spec["argv"]:
        return "failed to generate container spec: no command specified"
    program = spec["argv"][0]
    own = str(folder / "root")
    mounted = [path for path, _ in spec["mounts"]]
    if os.sep in program:
        inside = program.removeprefix(own) if program.startswith(own) else ""
        if any(inside == path or inside.startswith(path + "/") for path in mounted):
            return ""
        there = Path(spec["image_root"] + inside) if inside else Path(spec["workdir"].replace(own, spec["image_root"])) / program
        if not there.exists():
            return f'{_PREFIX}exec: "{inside or program}": stat {inside or program}: no such file or directory'
        return "" if os.access(there, os.X_OK) else f'{_PREFIX}exec: "{inside or program}": permission denied'
    searched = spec["env"].get("PATH", os.defpath).replace(own, spec["image_root"])
    if shutil.which(program, path=searched) is None:
        return f'{_PREFIX}exec: "{program}": executable file not found in $PATH'
    return ""
