"""Ends language hosts that outlive a killed `pulumi`.

A host ends by itself only minutes after its engine. Its command line has the engine's address; if nothing listens there any more,
the host is orphaned.
"""

import os
import re
import signal
import socket
import subprocess
from collections.abc import Callable, Iterable
from pathlib import PurePath

# A host in front has the served one below it, which is given the engine's address too.
_HOST = re.compile(r"pulumi-language-[a-z]+(-served)?")
CONNECT_SECONDS = 1.0


def end_orphaned_hosts() -> list[int]:
    """Ends this user's language hosts whose engine is gone; returns their process ids."""
    table = subprocess.run(["ps", "-xww", "-o", "pid=,args="], capture_output=True, text=True, check=True).stdout
    return [pid for pid in orphaned(table.splitlines(), answers) if _told_to_end(pid)]


def _told_to_end(pid: int) -> bool:
    """False where the process has ended since it was listed, by itself or by another of us."""
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return False
    return True


def orphaned(rows: Iterable[str], answers: Callable[[str], bool]) -> list[int]:
    """The process ids among `rows` (id, then command line) of hosts whose engine doesn't answer."""
    found: list[int] = []
    for row in rows:
        pid, _, command = row.strip().partition(" ")
        words = command.split()
        # The last argument is the engine's address: `pulumi-language-python 127.0.0.1:33621`.
        if len(words) > 1 and _HOST.fullmatch(PurePath(words[0]).name) and ":" in words[-1] and not answers(words[-1]):
            found.append(int(pid))
    return found


def answers(address: str) -> bool:
    """Whether somebody listens at `host:port` on this machine."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS).close()
    except OSError:
        return False
    return True
