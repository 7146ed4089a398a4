"""Runs containers as processes of this machine: starts, stops, inspects, and finds them after a restart of the server.

Each container has a folder and a shim (`shim.py`) that stands over it. The shim's lock file is what says whether it lives: it
can't outlive its process, and a second shim can't take it, so that a container is never started twice. CPU limits aren't
imposed.
"""

import asyncio
import hashlib
import json
import shutil
import signal
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from localazure.containers import shim, shim_log, supervision
from localazure.containers.volumes import Volumes
from localazure.folder import SECRET_MODE, read_json, write_json
from localazure.process import start_time

State = dict[str, Any]  # as shim.py writes it: current, previous, restart_count, events, ended

_POLL_SECONDS, _LONGEST_POLL_SECONDS = 0.02, 0.2
_SHIM_TRIES = 5
_GRACE_SECONDS = 3.0  # on top of what the container itself may take to end


async def stand_over(folder: Path) -> None:
    """Starts a shim, and another where it gave up on its lock: whoever looks whether a shim lives holds it for an instant,
    and on a busy machine a process that is forked meanwhile for longer. Without a shim the container would never begin."""
    for _ in range(_SHIM_TRIES):
        process = await supervision.spawn(shim.__file__, folder, "shim.log")
        wait = _POLL_SECONDS
        while process.returncode is None and (read_json(folder / "state.json") or {}).get("shim") != process.pid:
            await asyncio.sleep(wait)  # until the container has begun, so that nobody meets one without a state
            wait = min(wait * 1.3, _LONGEST_POLL_SECONDS)  # many that start at once leave each other the machine
        gave_up = process.returncode == shim.LOCKED and (folder / "spec.json").exists()
        other = supervision.holder(folder)
        if not gave_up or (other and start_time(other)):  # another shim stands over it
            return


class Spec(Protocol):
    """What is to run: a `ContainerSpec`, or another program that is kept running like one."""

    @property
    def name(self) -> str: ...

    def on_disk(self, folder: Path) -> dict[str, Any]:
        """The content of `spec.json`."""
        ...


class Runtime:
    """The containers below one state folder, in groups that are known by a key such as an ARM id."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def start(self, group: str, specs: Sequence[Spec], volumes: Volumes | None = None) -> None:
        """Makes the group's containers these: starts what is new or differs, leaves what is the same, ends what isn't named.

        MountFailedError where a volume can't be made; then none of them runs.
        """
        folder = self._group(group)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_json(folder / "group.json", {"key": group})
        names = {spec.name for spec in specs}
        await self._remove([one for one in _containers(folder) if one.name not in names])
        if volumes is not None:
            await self._remove([one for one in _containers(folder) if _run_of(one) != volumes.run])  # they use what is emptied
            await asyncio.to_thread(volumes.prepare, folder)
        await asyncio.gather(*(self._start(folder / spec.name, spec) for spec in specs))

    async def stop(self, group: str) -> None:
        """Ends the group's containers; their states and logs stay."""
        await asyncio.gather(*(_end(folder) for folder in _containers(self._group(group))))

    async def remove(self, group: str) -> None:
        """Ends the group's containers and removes all that they left."""
        folder = self._group(group)
        await self._remove(_containers(folder))
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    def states(self, group: str) -> dict[str, State]:
        """The state of each container by name; one that hasn't begun has an empty `current`."""
        return {folder.name: read_json(folder / "state.json") or _not_begun() for folder in _containers(self._group(group))}

    def logs(self, group: str, container: str, tail: int | None = None, *, timestamps: bool = False) -> str:
        """What the container's last run printed, or its last `tail` lines."""
        try:
            content = (self._group(group) / container / "log").read_bytes()
        except FileNotFoundError:
            return ""
        lines = shim_log.lines(content.decode("utf-8", errors="replace"))
        chosen = lines if tail is None else lines[len(lines) - min(tail, len(lines)) :]
        return "".join(line if timestamps else line[shim_log.STAMP :] for line in chosen)

    def folder_of(self, group: str, container: str) -> Path:
        """Where a container's files lie."""
        return self._group(group) / container

    async def adopt(self, groups: Iterable[str]) -> None:
        """Resumes what an earlier server left: containers of `groups` without a shim get one again, other groups are ended."""
        requested = set(groups)
        for folder in sorted(self.folder.glob("*/")):
            record = read_json(folder / "group.json")
            if record is None or record["key"] not in requested:
                await self._remove(_containers(folder))
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
                continue
            for container in _containers(folder):
                if supervision.holder(container) is None and not (read_json(container / "state.json") or _not_begun())["ended"]:
                    await stand_over(container)

    async def reap(self, groups: str = "*") -> None:
        """Ends every container, because the embedded Azure is taken down. `adopt` runs again what its restart policy says.

        `groups`: a pattern of their folders' names.
        """
        containers = [container for folder in self.folder.glob(f"{groups}/") for container in _containers(folder)]
        await asyncio.gather(*(_end(container, signal.SIGINT) for container in containers))

    async def _start(self, folder: Path, spec: Spec) -> None:
        content = spec.on_disk(folder)
        before = read_json(folder / "spec.json")
        if before is not None and what_runs(before) != what_runs(content):
            await self._remove([folder])
            before = None
        if before is None:
            folder.mkdir(mode=0o700, exist_ok=True)
            write_json(folder / "spec.json", content, SECRET_MODE)
        if supervision.holder(folder) is None:
            await stand_over(folder)

    async def _remove(self, containers: list[Path]) -> None:
        await asyncio.gather(*(_end(folder) for folder in containers))
        for folder in containers:
            (folder / "spec.json").unlink(missing_ok=True)  # without it there is no container, and a shim that comes late ends
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    def _group(self, group: str) -> Path:
        """A folder name that a person recognises and that no two groups share."""
        return self.folder / f"{group.rsplit('/', 1)[-1]}-{hashlib.sha256(group.encode()).hexdigest()[:12]}"


def _containers(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.glob("*/spec.json"))


def _run_of(folder: Path) -> str:
    return (read_json(folder / "spec.json") or {}).get("run", "")


def _not_begun() -> State:
    return {"current": {}, "previous": None, "restart_count": 0, "events": [], "ended": False}


def what_runs(spec: dict[str, Any]) -> dict[str, Any]:
    """Without events, which carry times, and pip's settings, which are those of the server that starts the container."""
    return {name: value for name, value in spec.items() if name not in ("events", "pip")}


async def _end(folder: Path, number: signal.Signals = signal.SIGTERM) -> None:
    """Asks the shim to end its container, and kills both where it doesn't. What the signals mean is in shim.py."""
    spec = read_json(folder / "spec.json")
    if spec is None:
        return
    pid = await supervision.ended(folder, number, spec["stop_seconds"] + _GRACE_SECONDS, _POLL_SECONDS)
    if pid:
        state = json.loads((folder / "state.json").read_text(encoding="utf-8")) if (folder / "state.json").exists() else {}
        supervision.signal_leader(pid, signal.SIGKILL)
        supervision.signal_leader(state.get("pid") or 0, signal.SIGKILL)
