"""One run of one container: as a process below its shim, or as an infrastructure image emulated in this process.

A run's folder holds `run.json` (what it is a run of), `log`, and of a process what its shim writes. A process continues when the
agent ends; the next one finds it by its folder. What is emulated ends with the agent and is begun again under the same number,
as a kubelet's restart doesn't restart containers.
"""

import asyncio
import contextlib
import hashlib
import os
import shutil
import signal
from pathlib import Path
from typing import Any, NamedTuple

from localazure.containers import shim_log, supervision
from localazure.containers.runtime import stand_over
from localazure.folder import SECRET_MODE, read_json, write_json
from localazure.kubernetes.agent import leftovers, times
from localazure.kubernetes.infrastructure.context import Actor, ActorContext

Body = dict[str, Any]
KILLED, NOT_STARTED = 137, 128
_POLL_SECONDS = 0.02
_LOST_SECONDS = 0.5  # between two looks at a shim, where the system has no pidfds
NEVER = "1970-01-01T00:00:00Z"
_MESSAGE_LINES, _MESSAGE_BYTES = 80, 2048  # pkg/kubelet/container: what of a log becomes a termination message


class Known(NamedTuple):
    """What a run is known by."""

    folder: Path
    container_id: str

    @property
    def log(self) -> Path:
        return self.folder / "log"


def known(pod_folder: Path, uid: str, container: str, attempt: int) -> Known:
    digest = hashlib.sha256(f"{uid}/{container}/{attempt}".encode()).hexdigest()
    return Known(pod_folder / f"{container}.{attempt}", f"processes://{digest}")


def attempts(pod_folder: Path, container: str) -> list[int]:
    """The numbers of the runs whose folders are there, in order."""
    found = (path.parent.name.rpartition(".") for path in pod_folder.glob(f"{container}.*/run.json"))
    return sorted(int(number) for name, _, number in found if name == container and number.isdigit())


# Runs that have never begun


def note_failure(one: Known, reason: str, message: str) -> Body:
    """Writes down a run that couldn't be begun. Its `terminated`."""
    terminated = {
        "exitCode": NOT_STARTED,
        "reason": reason,
        "message": message,
        "startedAt": NEVER,
        "finishedAt": times.now(),
        "containerID": one.container_id,
    }
    one.folder.mkdir(mode=0o700, exist_ok=True)
    write_json(one.folder / "run.json", {"kind": "failed", "terminated": terminated}, durable=False)
    return terminated


# Processes


class ProcessRun:
    """Below a shim, which outlives the agent."""

    def __init__(self, one: Known) -> None:
        self.known = one
        self.since = times.whole(str((self._state().get("current") or {}).get("startTime") or times.now()))

    @classmethod
    async def begin(cls, one: Known, spec: Body, record: Body) -> "ProcessRun":
        one.folder.mkdir(mode=0o700, exist_ok=True)
        write_json(one.folder / "spec.json", spec, SECRET_MODE, durable=False)
        write_json(one.folder / "run.json", {"kind": "process", **record}, durable=False)
        await stand_over(one.folder)
        return cls(one)

    @classmethod
    async def adopt(cls, one: Known) -> "ProcessRun":
        """Resumes what an earlier agent began. Where its shim is lost another settles what became of it."""
        run = cls(one)
        if supervision.holder(one.folder) is None and not run.is_over:
            await stand_over(one.folder)
        return cls(one)

    def _state(self) -> Body:
        """As its shim tells it."""
        return read_json(self.known.folder / "state.json") or {}

    @property
    def is_over(self) -> bool:
        return bool(self._state().get("ended")) and supervision.holder(self.known.folder) is None

    async def end(self, seconds: float) -> None:
        """Asks it to end, and kills it after the given seconds; returns when it has ended."""
        ended = asyncio.ensure_future(self.ended())
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        try:
            while not ended.done():
                supervision.signal_leader(supervision.holder(self.known.folder) or 0, signal.SIGTERM)
                await asyncio.wait([ended], timeout=min(2.0, max(0.0, deadline - loop.time())))
                if not ended.done() and loop.time() >= deadline:
                    if pid := int(self._state().get("pid") or 0):
                        with contextlib.suppress(ProcessLookupError, PermissionError):
                            os.killpg(pid, signal.SIGKILL)
                    await asyncio.wait([ended], timeout=1.0)
        finally:
            ended.cancel()

    async def ended(self) -> Body:
        """The `terminated` of its container's state. Where waiting is cancelled the run continues."""
        await _holder_ended(self.known.folder)
        await asyncio.to_thread(leftovers.end, self.known.folder)
        return self.terminated()

    def terminated(self) -> Body:
        state = self._state()
        current = state.get("current") or {}
        code = int(current.get("exitCode", KILLED))
        detail = current.get("detailStatus")
        if code == NOT_STARTED and current.get("startTime") is None:
            failed = next((one["message"] for one in reversed(state.get("events") or []) if one["name"] == "Failed"), "")
            return note_failure(self.known, "ContainerCannotRun", failed)
        found = {
            "exitCode": code,
            "reason": "OOMKilled" if detail == "OOMKilled" else "Completed" if code == 0 else "Error",
            "startedAt": times.whole(str(current.get("startTime") or self.since)),
            "finishedAt": times.whole(str(current.get("finishTime") or times.now())),
            "containerID": self.known.container_id,
        }
        tells = code and (read_json(self.known.folder / "run.json") or {}).get("message_from_log")
        message = _end_of_log(self.known.log) if tells else ""
        return {**found, "message": message} if message else found


async def _holder_ended(folder: Path) -> None:
    """Returns when nobody stands over the folder any more."""
    while (pid := supervision.holder(folder)) is not None:
        if not pid or not hasattr(os, "pidfd_open"):
            await asyncio.sleep(_POLL_SECONDS if not pid else _LOST_SECONDS)
            continue
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            await asyncio.sleep(_POLL_SECONDS)
            continue
        loop = asyncio.get_running_loop()
        gone = loop.create_future()
        loop.add_reader(handle, _done, gone)
        try:
            await gone
        finally:
            loop.remove_reader(handle)
            os.close(handle)


def _done(gone: "asyncio.Future[None]") -> None:
    if not gone.done():
        gone.set_result(None)


def _end_of_log(log: Path) -> str:
    try:
        text = log.read_bytes()[-65536:].decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    kept = [line[shim_log.STAMP :] for line in shim_log.lines(text)[-_MESSAGE_LINES:]]
    return "".join(kept).encode()[-_MESSAGE_BYTES:].decode("utf-8", errors="replace")


# What is emulated


class ActorRun:
    """Inside this process."""

    def __init__(self, one: Known, actor: Actor, context: ActorContext, record: Body) -> None:
        one.folder.mkdir(mode=0o700, exist_ok=True)
        before = read_json(one.folder / "run.json") or {}
        self.known = one
        self.since: str = before.get("since") or times.now()
        write_json(one.folder / "run.json", {"kind": "actor", "since": self.since, **record}, durable=False)
        self._context = context
        self._log = (one.folder / "log").open("ab", buffering=0)
        context.log = self._write
        self._task = asyncio.create_task(self._act(actor), name=one.folder.name)
        self._terminated: Body | None = None

    async def ended(self) -> Body:
        await asyncio.wait([self._task])
        if self._terminated is None:
            code = self._code()
            self._terminated = {
                "exitCode": code,
                "reason": "Completed" if code == 0 else "Error",
                "startedAt": self.since,
                "finishedAt": times.now(),
                "containerID": self.known.container_id,
            }
            record = read_json(self.known.folder / "run.json") or {}
            write_json(self.known.folder / "run.json", {**record, "terminated": self._terminated}, durable=False)
            self._log.close()
        return self._terminated

    async def end(self, seconds: float) -> None:
        self._context.stopping.set()
        await asyncio.wait([self._task], timeout=seconds)
        self._task.cancel()
        await self.ended()

    async def leave(self) -> None:
        """The agent ends: the next one acts it out again."""
        self._task.cancel()
        await asyncio.wait([self._task])
        self._log.close()

    async def _act(self, actor: Actor) -> int:
        try:
            return await actor(self._context)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - a program that fails, as any other
            self._write(f"panic: {type(error).__name__}: {error}")
            return 2

    def _code(self) -> int:
        if self._task.cancelled():
            return 0 if self._context.stopping.is_set() else KILLED
        return self._task.result()

    def _write(self, line: str) -> None:
        if not self._log.closed:
            text = "".join(f"{times.micro()} {one}\n" for one in line.rstrip("\n").split("\n"))
            self._log.write(text.encode())


def forget(one: Known) -> None:
    shutil.rmtree(one.folder, ignore_errors=True)
