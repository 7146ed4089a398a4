"""Runs one cluster's control plane as containers of this machine run, each part under a shim: starts, inspects and ends it.

A part that dies is started again by its shim; one whose shim is lost, by whoever runs the cluster the next time.
"""

import asyncio
import random
import shutil
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from localazure.containers import supervision
from localazure.containers.runtime import Runtime
from localazure.containers.shim_processes import start_time
from localazure.folder import read_json
from localazure.kubernetes.agent import leftovers
from localazure.kubernetes.control_plane_folder import ClusterFolder

STORE, SERVER, CONTROLLERS = "store", "server", "controllers"  # the parts by groups, in the order of their start
_LAST_FIRST = (CONTROLLERS, SERVER, STORE)
_STOP_SECONDS = 4.0
_FIRST_BACKOFF_SECONDS, _MOST_BACKOFF_SECONDS = 0.25, 8.0
_FILES = "files"  # the empty image of every part
# Below those that systems give to outgoing connections, which would take a port that a part is just started again on.
_PORTS = range(20_000, 32_000)
_TRIES = 200
_POLL_SECONDS = 0.05


class Part(NamedTuple):
    """One program of the control plane."""

    name: str
    argv: list[str]
    env: dict[str, str]
    cwd: Path
    files: Path  # an empty folder
    settings: Mapping[str, Any] = {}  # what else it reads, so that it is started again where that differs

    def on_disk(self, folder: Path) -> dict[str, Any]:
        """As a shim reads it. The next server may be started from another shell; that alone isn't a reason to end what runs."""
        before = read_json(folder / "spec.json") or {}
        return {
            "name": self.name,
            "run": "",
            "argv": self.argv,
            "env": before.get("env", self.env),
            "image_root": str(self.files),
            "workdir": str(self.cwd),
            "restart_policy": "Always",
            "events": [],
            "stop_seconds": _STOP_SECONDS,
            "backoff_seconds": _FIRST_BACKOFF_SECONDS,
            "backoff_most_seconds": _MOST_BACKOFF_SECONDS,
            "settings": dict(self.settings),
        }


def files(folder: ClusterFolder) -> Path:
    return folder.control_plane / _FILES


async def run(folder: ClusterFolder, group: str, parts: list[Part]) -> None:
    """Makes the parts of a group these: starts what is new, differs or has lost its shim."""
    files(folder).mkdir(exist_ok=True)
    await Runtime(folder.control_plane).start(group, parts)


async def end_earlier(folder: ClusterFolder) -> None:
    """Ends the parts that an embedded Azure before December 2026 left running: under one supervisor, which kills them as soon as
    its specification is gone."""
    (folder.control_plane / "spec.json").unlink(missing_ok=True)
    for _ in range(_TRIES):
        if supervision.holder(folder.control_plane) is None:
            return
        await asyncio.sleep(_POLL_SECONDS)


def is_whole(folder: ClusterFolder) -> bool:
    """Whether all parts were started, and a shim stands over each."""
    found = [supervision.holder(part) is not None for part in _parts(folder)]
    return all(found) and any(folder.control_plane.glob(f"{CONTROLLERS}-*/"))


def runs(folder: ClusterFolder) -> bool:
    """Whether one of its processes is there, be it without a shim."""
    states = (read_json(part / "state.json") or {} for part in _parts(folder))
    return any(one.get("pid") and start_time(one["pid"]) == one["started"] for one in states)


async def end(folder: ClusterFolder) -> None:
    """Ends all parts in order. The pods' processes continue: see `end_pods`."""
    for group in _LAST_FIRST:
        await Runtime(folder.control_plane).remove(group)


async def end_pods(folder: ClusterFolder) -> None:
    """Ends the processes of all pods, as when their nodes are switched off; those too that made a session of their own."""
    await Runtime(folder.pods).reap()
    await asyncio.to_thread(leftovers.end_all, folder.pods)


async def remove(folder: ClusterFolder) -> None:
    """Ends everything and removes all that the cluster left."""
    await end(folder)
    await end_pods(folder)
    await asyncio.to_thread(shutil.rmtree, folder.root, ignore_errors=True)


async def reap(clusters: Path) -> None:
    """Ends every cluster below a folder, because the embedded Azure is taken down."""
    await asyncio.gather(*(_reap(ClusterFolder(record.parent)) for record in clusters.glob("*/cluster.json")))


async def _reap(folder: ClusterFolder) -> None:
    await end_earlier(folder)
    for group in _LAST_FIRST:
        await Runtime(folder.control_plane).reap(f"{group}-*")
    await end_pods(folder)


def last_words(folder: ClusterFolder) -> str:
    """What the part that was started most often said last."""
    starts = {part: 1 + (read_json(part / "state.json") or {}).get("restart_count", 0) for part in _parts(folder)}
    if not starts:
        return "no part of it was started"
    part = max(starts, key=lambda one: starts[one])
    log = part / "log"
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if log.exists() else []
    said = f"its last line in {log}: {lines[-1].strip()[:300]}" if lines else "no output"
    return f"{part.name} was started {starts[part]} times; {said}"


def _parts(folder: ClusterFolder) -> Iterator[Path]:
    return (spec.parent for spec in sorted(folder.control_plane.glob("*/*/spec.json")))


def free_port(taken: set[int]) -> int:
    """A loopback port that nobody listens on now and that isn't in `taken`."""
    for _ in range(_TRIES):
        port = random.choice(_PORTS)  # noqa: S311 - no secret
        if port not in taken and is_free(port):
            return port
    raise OSError(f"no free port in {_TRIES} tries between {_PORTS.start} and {_PORTS.stop}")


def is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # one that was closed just now is free
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
