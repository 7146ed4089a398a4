"""Scripts that clients run on virtual machines: the action `runCommand`, and managed run commands, which are resources.

The output of managed ones is appended to blobs while they run. Both run as root does, in a folder of their own. Limits and
forms: Microsoft Learn, virtual-machines/linux/run-command (the last 4,096 bytes, 90 minutes, one at a time) and
run-command-managed. A blob that exists is replaced.
"""

import asyncio
import shutil
from collections.abc import Awaitable, Coroutine
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
    """One file and its blob. `kept`: the file's name, the address, who writes it (None: the address carries a signature), and how
    much of the file is there, for a later server to continue with."""

    def __init__(self, folder: Path, kept: list[Any]) -> None:
        name, self._url, self._principal, _ = kept
        self._file = folder / name
        self._kept = kept
        self._sending: asyncio.Task[None] | None = None

    async def begin(self, blobs: Blobs) -> None:
        """BlobError where it may not, or can't, be written."""
        await blobs.begin_append(self._url, self._principal)

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
        await blobs.append(self._url, content, self._principal)
        self._kept[3] += len(content)

    def _new(self) -> bytes:
        try:
            with self._file.open("rb") as file:
                file.seek(self._kept[3])
                return file.read()
        except FileNotFoundError:
            return b""


OUTPUT_BYTES = 4096
ACTION_SECONDS = 90 * 60.0
FOLDER = "var/lib/waagent/run-command-handler/download"
ACTION_FOLDER = "var/lib/waagent/run-command/download"
PENDING, RUNNING, SUCCEEDED, FAILED = "Pending", "Running", "Succeeded", "Failed"
TIMED_OUT, CANCELED = "TimedOut", "Canceled"
ACTION = ""  # the name of the action's script among those of a machine
LOST = "The machine was stopped or started anew while the script ran."
_FAILED = "Execution failed: failed to execute command: "
_MESSAGES = {RUNNING: "Execution in progress", SUCCEEDED: "Execution completed", PENDING: "Execution has not begun"}


class Script(NamedTuple):
    """What is to run."""

    text: str
    parameters: tuple[tuple[str, str], ...] = ()  # each is a variable; names may be empty
    arguments: tuple[str, ...] = ()
    seconds: float = ACTION_SECONDS
    streams: tuple[list[Any], ...] = ()  # as `Stream` keeps them


class RunCommands:
    """Those of every machine."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._going: dict[tuple[str, str], asyncio.Task[None]] = {}

    # The action

    async def act(self, machine: Machine, script: Script) -> Body:
        """Runs a script to its end; the answer of the action. AgentLostError where the machine stops meanwhile."""
        await self.begin(machine, ACTION, script)
        return await self.acted(machine)

    async def acted(self, machine: Machine) -> Body:
        """The answer of an action that has begun, maybe on a server before this one."""
        kept = await self.settled(machine, ACTION)
        if kept["state"] not in (SUCCEEDED, FAILED, TIMED_OUT) or kept["message"].startswith(LOST):
            raise AgentLostError(LOST)
        machine.record["runs"].pop(ACTION)
        machine.context.save(machine)
        out, err = [await asyncio.to_thread(_last, Path(kept["folder"]) / name) for name in ("stdout", "stderr")]
        if kept["state"] == TIMED_OUT:
            err += "\nThe script ran longer than 90 minutes and was ended.\n"
        elif kept["code"] is None:
            err += f"\n{kept['message'].removeprefix(_FAILED)}\n"
        message = f"Enable succeeded: \n[stdout]\n{out}\n[stderr]\n{err}"
        shown = {"code": "ProvisioningState/succeeded", "level": "Info", "displayStatus": "Provisioning succeeded"}
        return {"value": [{**shown, "message": message}]}  # also where the script failed: Azure/azure-cli issue 14425

    # Managed run commands

    async def begin(self, machine: Machine, name: str, script: Script) -> None:
        """Starts one, in place of the one before of this name, and returns when it runs. `settled` waits for its end."""
        await self.remove(machine, name)
        machine.record["number"] += 1
        number = str(machine.record["number"])
        above = f"{FOLDER}/{name}" if name else ACTION_FOLDER
        kept: Body = {
            "run": f"command/{name}/{number}" if name else f"action/{number}",
            "folder": str(machine.root / above / number),
            "state": PENDING,
            "message": _MESSAGES[PENDING],
            "start": machine.context.services.clock.stamp(),
            "end": "",
            "code": None,
            "streams": list(script.streams),
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
            if not task.cancelled():
                task.result()  # an error of this server's own
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
        if kept is not None and machine.record["runs"].pop(name, None) is not None:
            machine.context.save(machine)
            await asyncio.to_thread(shutil.rmtree, Path(kept["folder"]), ignore_errors=True)

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
                self._go(machine, name, self._followed(machine, kept, self._streams(kept), machine.ended(kept["run"])))
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
        streams = self._streams(kept)
        try:
            for stream in streams:
                await stream.begin(self._blobs)
            await self._followed(machine, kept, streams, self._run(machine, kept, script, begun))
        except BlobError as error:
            message = f"Execution failed: an append blob could not be written: {error.code}: {error.message}"
            self._over(machine, kept, FAILED, message, -1)
        finally:
            begun.set()

    async def _followed(self, machine: Machine, kept: Body, streams: list[Stream], work: Awaitable[Ended | None]) -> None:
        """To the end of the script, whose output is sent on meanwhile."""

        async def follow() -> None:
            while True:
                for stream in streams:
                    if await stream.go_on(self._blobs):
                        machine.context.save(machine)
                await asyncio.sleep(LOOK_SECONDS)

        following = asyncio.create_task(follow()) if streams else None
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
            self._over(machine, kept, FAILED, f"{_FAILED}{what}{message}", ended.code)

    def _over(self, machine: Machine, kept: Body, state: str, message: str, code: int | None) -> None:
        kept.update(state=state, message=message, code=code, end=machine.context.services.clock.stamp())
        machine.context.save(machine)

    def _streams(self, kept: Body) -> list[Stream]:
        return [Stream(Path(kept["folder"]), each) for each in kept["streams"]]

    async def _run(self, machine: Machine, kept: Body, script: Script, begun: asyncio.Event) -> Ended:
        run, folder = kept["run"], Path(kept["folder"])
        argv = await asyncio.to_thread(machine.written_script, folder / "script.sh", script.text, script.arguments)
        env = {**machine.environment(), **{name: value for name, value in script.parameters if name}}
        out, err = str(folder / "stdout"), str(folder / "stderr")
        command = Command(argv, env, str(folder), out, err, seconds=script.seconds, keep=True, context={"run-command": run})
        kept.update(state=RUNNING, message=_MESSAGES[RUNNING])
        machine.context.save(machine)
        begun.set()
        return await machine.run(run, command)


def _last(file: Path) -> str:
    """The end of an output, as much as is shown."""
    try:
        with file.open("rb") as content:
            size = content.seek(0, 2)
            content.seek(max(0, size - OUTPUT_BYTES))
            return content.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
