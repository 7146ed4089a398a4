"""Scripts that clients run on virtual machines: the action `runCommand`, and managed run commands, which are resources.

The output of managed ones is appended to blobs while they run. Both run as root does, in a folder of their own. Limits and
forms: Microsoft Learn, virtual-machines/linux/run-command (the last 4,096 bytes, 90 minutes, one at a time) and
run-command-managed. A blob that exists is replaced.
"""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple

from localazure.arm.store import Body
from localazure.batch.nodes import runner
from localazure.batch.nodes.agent import AgentLostError, Command, Ended
from localazure.blobs.errors import BlobError
from localazure.blobs.service import Blobs
from localazure.machines.machine import Machine
from localazure.waiting import canceled

LOOK_SECONDS = 0.2


class Stream:
    """One file and its blob. `sent` says how much of the file is there, for a later server to continue with."""

    def __init__(self, file: Path, url: str, principal: str | None, sent: int = 0) -> None:
        self.file = file
        self.url = url
        self.principal = principal
        self.sent = sent
        self._sending: asyncio.Task[None] | None = None

    async def begin(self, blobs: Blobs) -> None:
        """BlobError where it may not, or can't, be written."""
        await blobs.begin_append(self.url, self.principal)
        self.sent = 0

    async def go_on(self, blobs: Blobs) -> bool:
        """Sends what is new. Whether there was something."""
        if self._sending is not None:  # the task that sent it was cancelled: the blob may have it already
            await asyncio.wait([self._sending])
        content = await asyncio.to_thread(self._new)
        if not content:
            return False
        self._sending = asyncio.create_task(self._send(blobs, content))
        await asyncio.shield(self._sending)
        return True

    async def _send(self, blobs: Blobs, content: bytes) -> None:
        await blobs.append(self.url, content, self.principal)
        self.sent += len(content)

    def _new(self) -> bytes:
        try:
            with self.file.open("rb") as file:
                file.seek(self.sent)
                return file.read()
        except FileNotFoundError:
            return b""


async def follow(streams: list[Stream], blobs: Blobs, told: Callable[[], None]) -> None:
    """Sends on until it is cancelled. `told` is called after each piece."""
    while True:
        for stream in streams:
            if await stream.go_on(blobs):
                told()
        await asyncio.sleep(LOOK_SECONDS)


OUTPUT_BYTES = 4096
ACTION_SECONDS = 90 * 60.0
FOLDER = "var/lib/waagent/run-command-handler/download"
ACTION_FOLDER = "var/lib/waagent/run-command/download"
PENDING, RUNNING, SUCCEEDED, FAILED = "Pending", "Running", "Succeeded", "Failed"
TIMED_OUT, CANCELED = "TimedOut", "Canceled"
LOST = "The machine was stopped or started anew while the script ran."
_MESSAGES = {RUNNING: "Execution in progress", SUCCEEDED: "Execution completed", PENDING: "Execution has not begun"}


class Script(NamedTuple):
    """What is to run."""

    text: str
    parameters: tuple[tuple[str, str], ...] = ()  # each is a variable; names may be empty
    arguments: tuple[str, ...] = ()
    seconds: float = ACTION_SECONDS
    output_url: str = ""
    error_url: str = ""
    output_principal: str | None = None  # None: the address carries a signature
    error_principal: str | None = None


class RunCommands:
    """Those of every machine."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._going: dict[tuple[str, str], asyncio.Task[None]] = {}

    # The action

    async def act(self, machine: Machine, script: Script) -> Body:
        """Runs a script to its end; the answer of the action. AgentLostError where the machine stops meanwhile."""
        run = self._next(machine, "action")
        folder = machine.root / ACTION_FOLDER / run.rpartition("/")[2]
        machine.record["action"] = {"run": run, "folder": str(folder)}
        machine.context.save(machine)
        return await self._acted(machine, run, folder, await self._run(machine, run, folder, script))

    async def act_again(self, machine: Machine) -> Body:
        """Resumes an action that a restart of this server cut off."""
        kept = machine.record["action"]
        ended = await machine.ended(kept["run"]) if kept else None
        if kept is None or ended is None:
            raise AgentLostError(LOST)
        return await self._acted(machine, kept["run"], Path(kept["folder"]), ended)

    async def _acted(self, machine: Machine, run: str, folder: Path, ended: Ended) -> Body:
        machine.forget(run)
        machine.record["action"] = None
        machine.context.save(machine)
        out, err = await asyncio.to_thread(_last, folder / "stdout"), await asyncio.to_thread(_last, folder / "stderr")
        if ended.why == runner.TIMEOUT:
            err += "\nThe script ran longer than 90 minutes and was ended.\n"
        elif ended.code is None:
            err += f"\n{ended.message or ended.why}\n"
        message = f"Enable succeeded: \n[stdout]\n{out}\n[stderr]\n{err}"
        shown = {"code": "ProvisioningState/succeeded", "level": "Info", "displayStatus": "Provisioning succeeded"}
        return {"value": [{**shown, "message": message}]}  # also where the script failed: Azure/azure-cli issue 14425

    # Managed run commands

    async def begin(self, machine: Machine, name: str, script: Script) -> None:
        """Starts one, in place of the one before of this name, and returns when it runs. `settled` waits for its end."""
        await self.remove(machine, name)
        run = self._next(machine, f"command/{name}")
        folder = machine.root / FOLDER / name / run.rpartition("/")[2]
        kept: Body = {
            "run": run,
            "folder": str(folder),
            "state": PENDING,
            "message": _MESSAGES[PENDING],
            "start": machine.context.services.clock.stamp(),
            "end": "",
            "code": None,
            "streams": [
                [file, url, principal, 0]
                for file, url, principal in (
                    ("stdout", script.output_url, script.output_principal),
                    ("stderr", script.error_url, script.error_principal),
                )
                if url
            ],
        }
        machine.record["runs"][name] = kept
        machine.context.save(machine)
        begun = asyncio.Event()
        self._go(machine, name, self._managed(machine, kept, script, begun))
        await begun.wait()

    async def settled(self, machine: Machine, name: str) -> Body:
        """Waits until it has ended; what is kept of it."""
        task = self._going.get((machine.key, name))
        if task is not None:
            await asyncio.wait([task])
        return machine.record["runs"].get(name) or {"state": CANCELED, "message": "It was deleted.", "code": None}

    async def remove(self, machine: Machine, name: str) -> None:
        """Ends it where it runs, and forgets it with its files."""
        kept = machine.record["runs"].get(name)
        if kept is not None:
            machine.end(kept["run"])
        task = self._going.pop((machine.key, name), None)
        if task is not None:
            await asyncio.wait([task], timeout=runner.GRACE_SECONDS + 1)
            task.cancel()
        if machine.record["runs"].pop(name, None) is not None:
            machine.context.save(machine)
            await asyncio.to_thread(shutil.rmtree, machine.root / FOLDER / name, ignore_errors=True)

    def view(self, machine: Machine, name: str) -> Body:
        """instanceView."""
        kept = machine.record["runs"].get(name)
        if kept is None:
            return {"executionState": "Unknown", "executionMessage": "", "output": "", "error": "", "statuses": []}
        folder = Path(kept["folder"])
        shown = {"executionState": kept["state"], "executionMessage": kept["message"], "exitCode": kept["code"] or 0}
        shown |= {"output": _last(folder / "stdout"), "error": _last(folder / "stderr"), "startTime": kept["start"]}
        return {**shown, **({"endTime": kept["end"]} if kept["end"] else {}), "statuses": []}

    def adopt(self, machine: Machine, *, alive: bool) -> None:
        """Resumes those that ran when an earlier server ended. `alive`: the machine went on meanwhile."""
        for name, kept in machine.record["runs"].items():
            if kept["state"] != RUNNING:
                continue
            if alive:
                self._go(machine, name, self._taken_up(machine, kept))
            else:
                self._over(machine, kept, FAILED, LOST, None)

    def lost(self, machine: Machine) -> None:
        """The machine's process has ended: so has all that it ran."""
        for kept in machine.record["runs"].values():
            if kept["state"] in (RUNNING, PENDING):
                self._over(machine, kept, FAILED, LOST, None)

    async def close(self) -> None:
        await canceled(*self._going.values())

    # Its own

    def _go(self, machine: Machine, name: str, work: Coroutine[Any, Any, None]) -> None:
        key = (machine.key, name)
        task = self._going[key] = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._going.pop(key, None) if self._going.get(key) is task else None)

    async def _managed(self, machine: Machine, kept: Body, script: Script, begun: asyncio.Event) -> None:
        def running() -> None:
            kept.update(state=RUNNING, message=_MESSAGES[RUNNING])
            machine.context.save(machine)
            begun.set()

        streams = self._streams(kept)
        try:
            for stream in streams:
                await stream.begin(self._blobs)
            work = self._run(machine, kept["run"], Path(kept["folder"]), script, running)
            await self._followed(machine, kept, streams, work)
        except BlobError as error:
            message = f"Execution failed: an append blob could not be written: {error.code}: {error.message}"
            self._over(machine, kept, FAILED, message, -1)
        finally:
            begun.set()

    async def _taken_up(self, machine: Machine, kept: Body) -> None:
        await self._followed(machine, kept, self._streams(kept), machine.ended(kept["run"]))

    async def _followed(self, machine: Machine, kept: Body, streams: list[Stream], work: Awaitable[Ended | None]) -> None:
        def told() -> None:
            for entry, stream in zip(kept["streams"], streams, strict=True):
                entry[3] = stream.sent
            machine.context.save(machine)

        following = asyncio.create_task(follow(streams, self._blobs, told)) if streams else None
        try:
            ended = await work
        except AgentLostError:
            ended = None
        finally:
            await canceled(following)
        message = ""
        try:
            for stream in streams:
                await stream.go_on(self._blobs)
        except BlobError as error:
            message = f" Its output could not be sent on: {error.code}: {error.message}"
        if ended is None:
            self._over(machine, kept, FAILED, LOST + message, None)
            return
        machine.forget(kept["run"])
        self._note(machine, kept, ended, message)

    def _note(self, machine: Machine, kept: Body, ended: Ended, message: str) -> None:
        if ended.why == runner.TIMEOUT:
            self._over(
                machine, kept, TIMED_OUT, f"The script ran longer than timeoutInSeconds and was ended.{message}", ended.code
            )
        elif ended.why == runner.ASKED:
            self._over(machine, kept, CANCELED, f"The script was ended.{message}", ended.code)
        elif ended.code == 0:
            self._over(machine, kept, SUCCEEDED, _MESSAGES[SUCCEEDED] + message, 0)
        else:
            what = f"command terminated with exit status={ended.code}" if ended.code is not None else ended.message or ended.why
            self._over(machine, kept, FAILED, f"Execution failed: failed to execute command: {what}{message}", ended.code)

    def _over(self, machine: Machine, kept: Body, state: str, message: str, code: int | None) -> None:
        kept.update(state=state, message=message, code=code, end=machine.context.services.clock.stamp())
        machine.context.save(machine)

    def _streams(self, kept: Body) -> list[Stream]:
        folder = Path(kept["folder"])
        return [Stream(folder / file, url, principal, sent) for file, url, principal, sent in kept["streams"]]

    async def _run(
        self, machine: Machine, run: str, folder: Path, script: Script, running: Callable[[], None] = lambda: None
    ) -> Ended:
        """`running` is called when the machine is asked to run it, with all that it needs in place."""
        argv = await asyncio.to_thread(machine.written_script, folder / "script.sh", script.text, script.arguments)
        named = {name: value for name, value in script.parameters if name}
        env = {**machine.environment(), **named}
        out, err = str(folder / "stdout"), str(folder / "stderr")
        command = Command(argv, env, str(folder), out, err, seconds=script.seconds, keep=True, context={"run-command": run})
        running()
        return await machine.run(run, command)

    def _next(self, machine: Machine, what: str) -> str:
        machine.record["number"] += 1
        return f"{what}/{machine.record['number']}"


def _last(file: Path) -> str:
    """The end of an output, as much as is shown."""
    try:
        with file.open("rb") as content:
            size = content.seek(0, 2)
            content.seek(max(0, size - OUTPUT_BYTES))
            return content.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
