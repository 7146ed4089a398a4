"""The embedded Azure's side of a node's agent: starts the process, connects to it, and runs commands through it.

An agent that an earlier server started is found by its lock and continues; what it was running then is told in `adopted`.
"""

import asyncio
import contextlib
import json
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from localazure.arm.store import Body
from localazure.batch.nodes import node_agent, node_journal
from localazure.containers import supervision

_LINE_BYTES = 1 << 24
_POLL_SECONDS = 0.005
_START_SECONDS = 20.0
_END_SECONDS = 5.0


class AgentLostError(Exception):
    """The node's process has ended, and with it what it ran."""


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
    why: str  # "", or one of node_agent's: not-found, not-started, timeout, asked
    message: str


class Connection:
    """One node's agent, living."""

    def __init__(self, folder: Path, lost: Callable[[], None]) -> None:
        """`lost` is called once where the agent ends without having been asked to."""
        self.folder = folder
        self.pid = 0
        self.adopted: dict[str, Body] = {}  # contexts by run: what the agent was running, or has run unheard, at `open`
        self._lost = lost
        self.closed = False
        self._waiting: dict[str, asyncio.Future[Ended]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Starts the agent where none lives, and connects. AgentLostError where it isn't available."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _START_SECONDS
        process: asyncio.subprocess.Process | None = None
        while (reader := await self._hello()) is None:
            if loop.time() > deadline or (process is not None and process.returncode not in (None, 1)):
                raise AgentLostError(f"the node's process in {self.folder} doesn't answer")
            if supervision.holder(self.folder) is None and (process is None or process.returncode is not None):
                process = await self._spawn()
            await asyncio.sleep(_POLL_SECONDS)
        self._reading = asyncio.create_task(self._read(reader))

    async def _hello(self) -> asyncio.StreamReader | None:
        """What the agent tells first; None where none answers, such as one that is just dying."""
        if supervision.holder(self.folder) is None:
            return None
        try:
            with _short(self.folder) as folder:
                reader, self._writer = await asyncio.open_unix_connection(folder / "agent.sock", limit=_LINE_BYTES)
            hello = json.loads(await reader.readline() or b"{}").get("hello")
        except OSError:
            return None
        if hello is None:
            return None
        self.pid = hello["pid"]
        for run in hello["runs"]:
            self.adopted[run["run"]] = run.get("context") or {}
            future = self._future(run["run"])
            if "ended_at" in run:
                future.set_result(_ended(run))
        return reader

    async def run(self, run: str, command: Command) -> Ended:
        """Runs a command to its end. AgentLostError where the node goes meanwhile. Where this is cancelled it continues."""
        future = self._future(run)
        self._ask({"do": "start", "run": run, **command._asdict()})
        return await self.ended(run, future)

    async def ended(self, run: str, future: "asyncio.Future[Ended] | None" = None) -> Ended:
        """Waits for a command that runs already."""
        result = await asyncio.shield(future or self._waiting[run])
        self._waiting.pop(run, None)
        self.adopted.pop(run, None)
        return result

    def forget(self, run: str) -> None:
        """The end of a command was acted upon: the agent needn't tell it again."""
        if not self.closed:
            self._ask({"do": "forget", "run": run})

    def end(self, run: str) -> None:
        self._ask({"do": "end", "run": run})

    def end_all(self, kind: str) -> None:
        """Ends every run of a kind, which is what stands before the last slash of its name."""
        for run in [run for run in self._waiting if run.rpartition("/")[0] == kind]:
            self.end(run)

    def clear(self, run: str) -> None:
        """Ends what a kept command has left behind."""
        if not self.closed:
            self._ask({"do": "clear", "run": run})

    def close(self) -> None:
        """Leaves the agent to itself: the next server takes it up."""
        self.closed = True
        if self._reading is not None:
            self._reading.cancel()
        if self._writer is not None:
            self._writer.close()
        for future in self._waiting.values():
            future.cancel()

    async def quit(self) -> None:
        """Ends the agent and all that it runs; who waits for a command gets AgentLostError."""
        self.closed = True
        self._fail()
        if self._writer is not None:
            with contextlib.suppress(OSError):
                self._writer.write(b'{"do":"quit"}\n')
        await end(self.folder)
        if self._reading is not None:
            self._reading.cancel()
        if self._writer is not None:
            self._writer.close()

    def _future(self, run: str) -> "asyncio.Future[Ended]":
        if run not in self._waiting:
            self._waiting[run] = asyncio.get_running_loop().create_future()
        return self._waiting[run]

    def _ask(self, message: dict[str, Any]) -> None:
        if self.closed or self._writer is None:
            raise AgentLostError(f"the node's process in {self.folder} is gone")
        self._writer.write(json.dumps(message).encode() + b"\n")

    async def _read(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError):
            while line := await reader.readline():
                run = json.loads(line)["ended"]
                future = self._waiting.get(run["run"])
                if future is not None and not future.done():
                    future.set_result(_ended(run))
        if not self.closed:
            self.closed = True
            self._fail()
            self._lost()

    def _fail(self) -> None:
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(AgentLostError(f"the node's process in {self.folder} is gone"))
                future.exception()  # nobody may be waiting for it any more
        self._waiting.clear()

    async def _spawn(self) -> asyncio.subprocess.Process:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # that of a leaving node is deleted before its record
        process = await supervision.spawn(node_agent.__file__, self.folder, "agent.log")
        waiting = asyncio.create_task(process.wait())  # so that it is collected
        _COLLECTING.add(waiting)
        waiting.add_done_callback(_COLLECTING.discard)
        return process


_COLLECTING: set["asyncio.Task[int]"] = set()


async def end(folder: Path) -> None:
    """Ends the agent of a folder, with all that it runs or has left behind."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _END_SECONDS
    told = 0
    while (pid := supervision.holder(folder)) is not None and loop.time() < deadline:
        if pid and pid != told:
            supervision.signal_leader(pid, signal.SIGTERM)
            told = pid
        await asyncio.sleep(_POLL_SECONDS)
    if pid:
        supervision.signal_leader(pid, signal.SIGKILL)
    await asyncio.to_thread(node_journal.settle, folder)


async def reap(folder: Path) -> None:
    """Ends every node below a folder, because the embedded Azure is taken down."""
    await asyncio.gather(*(end(lock.parent) for lock in folder.glob("*/lock")))


def _ended(run: Body) -> Ended:
    return Ended(run["started_at"], run["ended_at"], run["code"], run["why"], run.get("message", ""))


@contextlib.contextmanager
def _short(folder: Path) -> Iterator[Path]:
    """A path to a folder that is short enough for a socket's address, which has about a hundred characters."""
    if len(os.fsencode(folder)) < 80:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="azure-gpu-") as above:
        link = Path(above) / "node"
        link.symlink_to(folder, target_is_directory=True)
        yield link
