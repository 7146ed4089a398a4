"""Whose a run is, and until when: tags of its resource group, by which nobody deletes a run that works.

`TAG` is on everything of a run. A run of this checkout whose process has gone is over, and any run after its time.
"""

import os
import secrets
import socket
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from azure_gpu_operations.repair import process_lives

TAG = "azure-gpu-conformance"
_BY, _UNTIL = f"{TAG}-by", f"{TAG}-until"


class Lease(NamedTuple):
    """Of a run: the host and checkout that it runs on, its process, and when its group goes, whoever is still there."""

    run: str
    host: str
    checkout: str
    process: int
    until: datetime

    def tags(self) -> dict[str, str]:
        return {TAG: self.run, _BY: f"{self.host}/{self.checkout}/{self.process}", _UNTIL: self.until.isoformat()}


def of_this_process(run: str, state: Path, until: datetime) -> Lease:
    return Lease(run, socket.gethostname().split(".")[0], checkout(state), os.getpid(), until)


def checkout(state: Path) -> str:
    """What names this checkout: a host's name may be another's too."""
    file = state / "checkout"
    if not file.exists():
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.write_text(secrets.token_hex(6), encoding="utf-8")
    return file.read_text(encoding="utf-8")


def read(tags: Mapping[str, str]) -> Lease | None:
    """None: no group of a run, or one whose time isn't known."""
    try:
        host, of, process = tags[_BY].split("/")
        return Lease(tags[TAG], host, of, int(process), datetime.fromisoformat(tags[_UNTIL]))
    except (KeyError, ValueError):
        return None


def is_over(lease: Lease, here: str, now: datetime, runs: Callable[[int], bool] = process_lives) -> bool:
    """`here`: this checkout."""
    return now >= lease.until or (lease.checkout == here and not runs(lease.process))
