"""A build's log, and the failure that ends a build. What a step prints goes into the log as it comes."""

import asyncio
import os
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

KEPT_LINES = 20  # the last output of a failed step that its error repeats


class BuildFailedError(Exception):
    """A build that ended early. `step` is the Dockerfile's line as `line 12: RUN cmake --build build`."""

    def __init__(self, step: str, message: str) -> None:
        super().__init__(f"{step}: {message}" if step else message)
        self.step = step
        self.message = message


class BuildLog:
    """The log of one build, in a file."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a", encoding="utf-8", errors="replace")
        self.path = path

    def say(self, text: str) -> None:
        self._file.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {text}\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    async def run(self, step: str, argv: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        """Runs a program to its end, what it prints into the log. BuildFailedError where it fails; it is killed where we stop."""
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=folder,
            env=dict(environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        last: deque[str] = deque(maxlen=KEPT_LINES)
        try:
            await self._copy(process, last)
            code = await process.wait()
        except BaseException:
            _kill(process.pid)
            await process.wait()
            raise
        if code != 0:
            printed = "\n".join(last)
            raise BuildFailedError(step, f"{argv[0].rsplit('/', 1)[-1]} ended with exit code {code}. Its last output:\n{printed}")

    async def _copy(self, process: asyncio.subprocess.Process, last: deque[str]) -> None:
        if process.stdout is None:
            raise ValueError("the process was started with a pipe")
        rest = ""
        while chunk := await process.stdout.read(65536):
            *lines, rest = (rest + chunk.decode(errors="replace")).split("\n")
            for line in lines:
                self.say(line)
                last.append(line)
        if rest:
            self.say(rest)
            last.append(rest)


def _kill(pid: int) -> None:
    """The process and what it started: each step is a session of its own."""
    try:
        os.killpg(pid, 9)
    except ProcessLookupError:
        return
