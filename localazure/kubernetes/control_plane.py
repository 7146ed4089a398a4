"""Runs one cluster's control plane as processes: starts, inspects and ends it, and finds it after a restart of the server."""

import asyncio
import os
import random
import shutil
import signal
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from localazure.containers import supervision
from localazure.containers.runtime import Runtime
from localazure.folder import SECRET_MODE, read_json, write_json
from localazure.kubernetes import control_plane_supervisor
from localazure.kubernetes.agent import leftovers
from localazure.kubernetes.control_plane_folder import ClusterFolder

_POLL_SECONDS = 0.05
_END_SECONDS = 20.0  # the parts get theirs one after the other
_KILL_SECONDS = 5.0
# Below those that systems give to outgoing connections, which would take a port that a part is just started again on.
_PORTS = range(20_000, 32_000)
_TRIES = 200

_supervisors: set["asyncio.Task[int]"] = set()  # so that ended ones are collected


async def run(folder: ClusterFolder, parts: list[dict[str, Any]], settings: dict[str, Any]) -> bool:
    """Makes the control plane this one. `settings`: what else its parts read, so that they are started again where that differs.

    Whether it was started; False where it ran already as it is to be.
    """
    spec = {"parts": parts, "settings": settings}
    path = folder.supervisor / "spec.json"
    if is_supervised(folder):
        if _without_environment(read_json(path)) == _without_environment(spec):
            return False
        await end(folder)
    await settle(folder)
    (folder.supervisor / "state.json").unlink(missing_ok=True)
    write_json(path, spec, SECRET_MODE)
    process = await supervision.spawn(control_plane_supervisor.__file__, folder.supervisor, "supervisor.log")
    waiting = asyncio.create_task(process.wait())
    _supervisors.add(waiting)
    waiting.add_done_callback(_supervisors.discard)
    return True


def _without_environment(spec: dict[str, Any] | None) -> dict[str, Any]:
    """The next server may be started from another shell; that alone isn't a reason to end what runs."""
    given = spec or {"parts": []}
    return {**given, "parts": [{name: value for name, value in part.items() if name != "env"} for part in given["parts"]]}


def is_supervised(folder: ClusterFolder) -> bool:
    return supervision.holder(folder.supervisor) is not None


async def settle(folder: ClusterFolder, ports: Iterable[int] = ()) -> None:
    """Ends what a killed supervisor has left behind, where none stands over the cluster, and waits until its ports are free."""
    if is_supervised(folder) or not await asyncio.to_thread(control_plane_supervisor.settle, folder.supervisor):
        return
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _KILL_SECONDS
    while not all(is_free(port) for port in ports) and loop.time() < deadline:
        await asyncio.sleep(_POLL_SECONDS)


def state(folder: ClusterFolder) -> dict[str, dict[str, Any]]:
    """Each part by name, as the supervisor tells it: pid, starts, exitCode, ready. Empty where none stands over the cluster."""
    if not is_supervised(folder):
        return {}
    return (read_json(folder.supervisor / "state.json") or {}).get("parts", {})


async def end(folder: ClusterFolder) -> None:
    """Ends all parts in order, and kills what doesn't end. The pods' processes continue: see `end_pods`."""
    if await _await_end(folder, signal.SIGTERM, _END_SECONDS):
        return
    pid = supervision.holder(folder.supervisor)
    if pid:
        supervision.signal_leader(pid, signal.SIGKILL)
    await _await_end(folder, signal.SIGKILL, _KILL_SECONDS)
    await asyncio.to_thread(control_plane_supervisor.settle, folder.supervisor)


async def _await_end(folder: ClusterFolder, number: signal.Signals, seconds: float) -> bool:
    """Signals the supervisor alone, which ends its parts itself, until none stands over the folder. False: not in time."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    told = 0
    while (pid := supervision.holder(folder.supervisor)) is not None:
        if loop.time() > deadline:
            return False
        if pid and pid != told:
            _signal(pid, number)
            told = pid
        await asyncio.sleep(_POLL_SECONDS)
    await asyncio.to_thread(control_plane_supervisor.settle, folder.supervisor)
    return True


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        if os.getsid(pid) == pid:  # each of ours leads a separate session
            os.kill(pid, number)
    except ProcessLookupError:
        return


async def end_pods(folder: ClusterFolder) -> None:
    """Ends the processes of all pods, as when their nodes are switched off; those too that made a session of their own."""
    await Runtime(folder.pods).reap()
    await asyncio.to_thread(leftovers.end_all, folder.pods)


async def remove(folder: ClusterFolder) -> None:
    """Ends everything and removes all that the cluster left."""
    (folder.supervisor / "spec.json").unlink(missing_ok=True)  # a supervisor that comes late finds nothing to do
    await end(folder)
    await end_pods(folder)
    await asyncio.to_thread(shutil.rmtree, folder.root, ignore_errors=True)


async def reap(clusters: Path) -> None:
    """Ends every cluster below a folder, because the embedded Azure is taken down."""
    await asyncio.gather(*(_reap(ClusterFolder(record.parent)) for record in clusters.glob("*/cluster.json")))


async def _reap(folder: ClusterFolder) -> None:
    await end(folder)
    await end_pods(folder)


def last_words(folder: ClusterFolder) -> str:
    """Which part doesn't come up, and what it said last."""
    for name, part in state(folder).items():
        if not part["ready"]:
            lines = _tail(folder.log(name))
            return f"{name} was started {part['starts']} times and isn't ready; {lines or 'no output'}"
    return "; ".join(_tail(folder.supervisor / "supervisor.log").splitlines()[-1:]) or "nothing stands over it"


def _tail(path: Path) -> str:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except FileNotFoundError:
        return ""
    return f"its last line in {path}: {lines[-1].strip()[:300]}" if lines else ""


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
