"""Runs commands on a Batch node or a virtual machine, which is a folder: each under a small process of its own, see runner.py.

Those outlive this server, and the next one finds them by their folders below `runs`.
"""

import asyncio
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from localazure.arm.store import Body
from localazure.batch.nodes import runner
from localazure.containers import locks, shim_processes as processes, supervision

_RUNS, _UP = "runs", "up"
_COMMAND, _GROUP, _END = "command.json", "group", "end.json"
_MARKS = (b"AZ_BATCH_NODE_ROOT_DIR=", b"LOCAL_MACHINE_ROOT=")  # of a Batch node, and of a virtual machine
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_POLL_SECONDS, _POLL_MOST_SECONDS = 0.005, 0.05
_END_SECONDS = 5.0


class AgentLostError(Exception):
    """The node has gone, or one of its runners was killed: what the node ran has ended."""


class Command(NamedTuple):
    """One command for a node."""

    argv: list[str]
    env: dict[str, str]
    cwd: str
    stdout: str
    stderr: str
    seconds: float | None = None  # after which it is ended
    append: bool = False  # to stdout and stderr
    keep: bool = False  # processes that it leaves behind continue, until `clear`
    context: Body | None = None  # what a later server needs to know of it


class Ended(NamedTuple):
    """How a command ended. `code` is None where it never ran."""

    started_at: str
    ended_at: str
    code: int | None
    why: str  # "", or one of runner's: not-found, not-started, timeout, asked
    message: str


class Agent:
    """What runs on one node. A run is a command under the name that whoever wants it run has given it."""

    def __init__(self, folder: Path, lost: Callable[[], None]) -> None:
        """`lost` is called once where a runner ends without having told its command's end."""
        self.folder = folder
        self.adopted: dict[str, Body] = {}  # contexts by run: what ran, or had ended unheard, when it was taken up
        self.closed = False
        self._lost = lost
        self._waiting: dict[str, asyncio.Future[Ended]] = {}
        self._watching: set[asyncio.Task[None]] = set()

    async def open(self, *, resume: bool = False) -> None:
        """Begins, as a machine that starts: what ran here before is ended. `resume`: it is taken up instead."""
        if not resume:
            await end(self.folder)
        (self.folder / _RUNS).mkdir(mode=0o700, parents=True, exist_ok=True)
        for file in sorted((self.folder / _RUNS).glob(f"*/{_COMMAND}")):
            command = json.loads(file.read_text(encoding="utf-8"))
            self.adopted[command["run"]] = command["context"] or {}
            self._watch(command["run"], None)
        (self.folder / _UP).write_text(_boot(), encoding="utf-8")

    async def run(self, run: str, command: Command) -> Ended:
        """Runs a command to its end. AgentLostError where the node goes meanwhile. Where this is cancelled it continues."""
        if self.closed:
            raise AgentLostError(f"the node in {self.folder} is gone")
        place = self._place(run)
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        (place / _COMMAND).write_text(json.dumps({"run": run, **command._asdict()}), encoding="utf-8")
        self._watch(run, _spawn(place, self.folder / "agent.log"))
        return await self.ended(run)

    async def ended(self, run: str) -> Ended:
        """Waits for a command that runs already."""
        future = self._waiting.get(run)
        if future is None:
            raise AgentLostError(f"the node in {self.folder} is gone")
        result = await asyncio.shield(future)
        self._waiting.pop(run, None)
        self.adopted.pop(run, None)
        return result

    def forget(self, run: str) -> None:
        """The end of a command was acted upon: no later server needs to hear it."""
        if not self.closed:
            (self._place(run) / _COMMAND).unlink(missing_ok=True)
            if not (self._place(run) / _GROUP).exists():
                shutil.rmtree(self._place(run), ignore_errors=True)

    def end(self, run: str) -> None:
        """Requests the end of a command, where it runs."""
        pid = None if self.closed else supervision.holder(self._place(run))
        if pid:
            supervision.signal_leader(pid, signal.SIGTERM)

    def end_all(self, kind: str) -> None:
        """Ends every run of a kind, which is what stands before the last slash of its name."""
        for run in [run for run in self._waiting if run.rpartition("/")[0] == kind]:
            self.end(run)

    def clear(self, run: str) -> None:
        """Ends what a kept command that has ended left behind."""
        if not self.closed and supervision.holder(self._place(run)) is None:
            _end_group(self._place(run))

    def close(self) -> None:
        """Leaves what runs to itself: the next server takes it up."""
        self.closed = True
        for waiting in (*self._watching, *self._waiting.values()):
            waiting.cancel()

    async def quit(self) -> None:
        """Ends all that runs; who waits for a command gets AgentLostError."""
        self._fail()
        await end(self.folder)

    def _place(self, run: str) -> Path:
        return self.folder / _RUNS / quote(run, safe="")

    def _watch(self, run: str, process: "subprocess.Popen[bytes] | None") -> None:
        self._waiting[run] = asyncio.get_running_loop().create_future()
        watching = asyncio.create_task(self._watched(run, process))
        self._watching.add(watching)
        watching.add_done_callback(self._watching.discard)

    async def _watched(self, run: str, process: "subprocess.Popen[bytes] | None") -> None:
        """`process`: the runner, where this server started it."""
        place, pause = self._place(run), _POLL_SECONDS
        while (process.poll() is None) if process else (supervision.holder(place) is not None):
            await asyncio.sleep(pause)
            pause = min(2 * pause, _POLL_MOST_SECONDS)
        future = self._waiting.get(run)
        if (place / _END).exists():
            if future is not None and not future.done():
                future.set_result(Ended(**json.loads((place / _END).read_text(encoding="utf-8"))))
        elif not self.closed:
            self._fail()
            self._lost()

    def _fail(self) -> None:
        self.closed = True
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(AgentLostError(f"the node in {self.folder} is gone"))
                future.exception()  # nobody may be waiting for it any more
        self._waiting.clear()


_CHILDREN: list["subprocess.Popen[bytes]"] = []  # runners that this process has to collect


def _spawn(place: Path, complaints: Path) -> "subprocess.Popen[bytes]":
    """A runner, which has its lock from its first moment on, and is asked to end no earlier than it can hear that."""
    _CHILDREN[:] = [each for each in _CHILDREN if each.poll() is None]
    lock = os.open(place / "lock", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        locks.taken(lock)
        with complaints.open("ab") as output:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
            try:
                process = subprocess.Popen(
                    [sys.executable, "-I", "-S", runner.__file__, str(place), str(lock)],
                    env={"PATH": os.defpath, "LANG": "C.UTF-8"},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                    pass_fds=(lock,),
                )
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        os.write(lock, str(process.pid).encode())
    finally:
        os.close(lock)
    _CHILDREN.append(process)
    return process


def is_up(folder: Path) -> bool:
    """Whether a node went on while no server was there: none has ended it, and this machine wasn't restarted."""
    try:
        return (folder / _UP).read_text(encoding="utf-8") == _boot()
    except FileNotFoundError:
        return False


async def end(folder: Path) -> None:
    """Ends all that runs on a node, or was left behind there."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _END_SECONDS
    while (pids := _runners(folder)) and loop.time() < deadline:
        for pid in pids:
            supervision.signal_leader(pid, signal.SIGKILL)
        await asyncio.sleep(_POLL_SECONDS)
    await asyncio.to_thread(_settle, folder)


async def reap(folder: Path) -> None:
    """Ends every node below a folder, because the embedded Azure is taken down."""
    await asyncio.gather(*(end(one) for one in folder.glob("*/")))


def _runners(folder: Path) -> list[int]:
    # The folder itself had the process of a node of an earlier version.
    found = (supervision.holder(place) for place in (folder, *(folder / _RUNS).glob("*/")))
    return [pid for pid in found if pid is not None]


def _settle(folder: Path) -> None:
    """Ends what runners have left running. What has left its command's group, as a daemon does, goes with the node, too."""
    if is_up(folder):
        for place in (folder / _RUNS).glob("*/"):
            _end_group(place)
    for pid in _daemons(folder):
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
    shutil.rmtree(folder / _RUNS, ignore_errors=True)
    (folder / _UP).unlink(missing_ok=True)


def _end_group(place: Path) -> None:
    try:
        pid, _, started = (place / _GROUP).read_text(encoding="utf-8").partition(" ")
    except FileNotFoundError:
        return
    if processes.start_time(pid) in ("", started):  # else the group is gone, and its number another's
        processes.signal_group(int(pid), signal.SIGKILL)
    shutil.rmtree(place, ignore_errors=True)


def _daemons(folder: Path) -> list[int]:
    """The processes that have this node's root folder in their environment. Where there is no /proc none is found."""
    root, found = (folder / "root").resolve(), []
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            values = [each.partition(b"=")[2] for each in file.read_bytes().split(b"\0") if each.startswith(_MARKS)]
        except OSError:
            continue  # gone, or somebody else's
        if int(file.parent.name) != os.getpid() and root in [Path(os.fsdecode(value)).resolve() for value in values]:
            found.append(int(file.parent.name))
    return found


@functools.cache
def _boot() -> str:
    """Another after each restart of this machine."""
    if _BOOT.exists():
        return _BOOT.read_text(encoding="utf-8")
    return subprocess.run(["sysctl", "-n", "kern.boottime"], capture_output=True, text=True, check=False).stdout
