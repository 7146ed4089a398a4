"""The program `hostname` on the PATH of a node's tasks, which reports the node's own addresses.

All nodes are processes of one machine, which has every address of theirs, so that a task couldn't tell which one is its node's.
"""

import shlex
import shutil
from pathlib import Path

from localazure.batch.task_environment import machines_path

FOLDER = "address"


def install(folder: Path, node_id: str, address: str) -> None:
    """Writes `hostname` below a node's folder. Requests for anything but addresses go to the machine's own program."""
    own = shutil.which("hostname", path=machines_path())
    programs_folder = folder / FOLDER
    programs_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    rest = f'exec {shlex.quote(own)} "$@"' if own else f"echo {shlex.quote(node_id)}"
    script = f'#!/bin/sh\ncase "$1" in\n-I | -i | --all-ip-addresses | --ip-address) echo {address} ;;\n*) {rest} ;;\nesac\n'
    program = programs_folder / "hostname"
    program.write_text(script, encoding="utf-8")
    program.chmod(0o700)


def programs(folder: Path) -> Path | None:
    """The folder for PATH of a node whose files lie in `folder`; None before it has come up."""
    found = folder / FOLDER
    return found if found.is_dir() else None
