"""The process that keeps the blobs: one Azurite for a state folder, started when it is first needed, again where it was killed.

It listens on a loopback port of its own choice and takes nothing that doesn't carry this folder's secret. It ends when its
standard input does, so it never outlives the embedded Azure by more than it takes to save.
"""

import asyncio
import json
import logging
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

from localazure.folder import read_json, write_json
from localazure.process import ProcessId, start_time

START_SECONDS = 30
END_SECONDS = 10
_RECORD = "process.json"
_SERVE = Path(__file__).with_name("azurite") / "serve.js"
log = logging.getLogger(__name__)


def await_end(folder: Path) -> None:
    """Where a server was killed, what it has left saves what it keeps and ends; this waits for that, and ends it otherwise."""
    last = read_json(folder / _RECORD)
    if last is None:
        return
    process = ProcessId(int(last["pid"]), str(last["started"]))
    if not process.wait(END_SECONDS):
        process.end(END_SECONDS)


class KeeperError(Exception):
    """It could not be started; the message has the reason."""


class Keeper:
    """Azurite, as a child by process id."""

    def __init__(self, folder: Path, logs: Path, url: str, secret: str, installed: Callable[[], Awaitable[Path]]) -> None:
        """`url`: what its lists name as the endpoint. `installed` answers with the folder that holds its `node_modules`."""
        self._folder = folder
        self._logs = logs
        self._url = url
        self._secret = secret
        self._installed = installed
        self._process: asyncio.subprocess.Process | None = None
        self._port = 0
        self._starting = asyncio.Lock()

    @property
    def authorization(self) -> str:
        return f"Local {self._secret}"

    @property
    def has_content(self) -> bool:
        """Whether there was ever a blob or container to keep."""
        return (self._folder / "blobs.json").exists()

    async def port(self) -> int:
        """Where it listens now; started first where it doesn't run. KeeperError where it can't."""
        if not self._runs():
            async with self._starting:
                if not self._runs():
                    await self._start()
        return self._port

    async def stop(self) -> None:
        """Ends it, with everything saved."""
        async with self._starting:
            process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            async with asyncio.timeout(END_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()

    def _runs(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def _start(self) -> None:
        installed = await self._installed()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        await asyncio.to_thread(await_end, self._folder)  # two may never write the same files
        node = shutil.which("node")
        if node is None:
            raise KeeperError("Node.js is not on PATH any more")
        with (self._logs / "blobs.log").open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                node,
                str(_SERVE),
                str(installed),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                cwd=self._folder,
                env={name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TZ") if name in os.environ},
                start_new_session=True,  # an interrupt at the terminal is for the embedded Azure, which ends it then
            )
        write_json(self._folder / _RECORD, {"pid": process.pid, "started": start_time(process.pid)})
        try:
            async with asyncio.timeout(START_SECONDS):
                self._port = await self._port_of(process)
        except (TimeoutError, ValueError, KeyError, OSError) as error:
            if process.returncode is None:
                process.kill()
                await process.wait()
            raise KeeperError(f"Azurite didn't start; see its log {self._logs / 'blobs.log'}") from error
        self._process = process
        log.info("blob storage: Azurite is process %s on port %s", process.pid, self._port)

    async def _port_of(self, process: asyncio.subprocess.Process) -> int:
        if process.stdin is None or process.stdout is None:
            raise ValueError("it was started with pipes")
        settings = {"state": str(self._folder), "secret": self._secret, "url": self._url}
        process.stdin.write(json.dumps(settings).encode() + b"\n")
        await process.stdin.drain()
        return int(json.loads(await process.stdout.readline())["port"])
