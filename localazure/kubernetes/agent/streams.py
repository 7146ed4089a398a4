"""exec and port-forward: passed on to `node-streams`, which uses Kubernetes' own library.

The connection is passed to it. The process is started when the first of these comes, and ends with the agent.
"""

import asyncio
import base64
import contextlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from localazure.kubernetes.agent.node_http import Request

Body = dict[str, Any]
_HEADER = "X-Node-Stream"
_CHUNK = 1 << 16
_END_SECONDS = 5.0


class NoStreamsError(Exception):
    """The program isn't available."""


class Streams:
    """Of one agent."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs = programs
        self._log = folder / "node-streams.log"
        self._starting = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._folder = ""

    async def lead(self, request: Request, told: Body) -> None:
        """Until either side has ended."""
        reader, writer = await asyncio.open_unix_connection(await self._socket())
        header = base64.b64encode(json.dumps(told).encode()).decode("ascii")
        lines = [f"{request.method} {request.target} HTTP/1.1", f"{_HEADER}: {header}"]
        lines += [f"{name}: {text}" for name, text in request.headers if name.lower() != _HEADER.lower()]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        both = [asyncio.create_task(pump(request.reader, writer)), asyncio.create_task(pump(reader, request.writer))]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait([both[1]], timeout=_END_SECONDS)  # all that the program says has been said, or nobody hears it
        finally:
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)
            writer.close()

    async def close(self) -> None:
        if self._process is not None and self._process.returncode is None:
            assert self._process.stdin is not None, "it is a pipe"
            self._process.stdin.close()  # it ends what it runs, and itself
            try:
                async with asyncio.timeout(_END_SECONDS):
                    await self._process.wait()
            except TimeoutError:
                self._process.kill()
                await self._process.wait()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    async def _socket(self) -> str:
        async with self._starting:
            if self._process is None or self._process.returncode is not None:
                await self._start()
        return f"{self._folder}/streams.sock"

    async def _start(self) -> None:
        """A socket's path has about a hundred characters, so it lies in a temporary folder of its own."""
        self._folder = self._folder or tempfile.mkdtemp(prefix="azure-gpu-")
        socket = Path(self._folder) / "streams.sock"
        socket.unlink(missing_ok=True)
        program = self._programs / "node-streams"
        command = [str(program)] if program.exists() else [str(self._programs / "kubernetes"), "node-streams"]
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                str(socket),
                stdin=asyncio.subprocess.PIPE,  # its end tells that the agent has ended
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env={"PATH": os.defpath, "GOMAXPROCS": "2", "GOMEMLIMIT": "64MiB"},
                start_new_session=True,
            )
        assert self._process.stdout is not None, "it is a pipe"
        if not await self._process.stdout.readline():
            raise NoStreamsError(f"node-streams doesn't start; see {self._log}")


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copies bytes until the reader's end, which the writer is told, or until one of the two is gone."""
    with contextlib.suppress(OSError):
        while chunk := await reader.read(_CHUNK):
            writer.write(chunk)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
