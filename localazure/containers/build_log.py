"""The log of a build, written as steps print, and the failure that ends a build."""

import asyncio
import os
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

# Runs its arguments, and beside them somebody who kills the whole group when standard input ends: the other end of that pipe is
# ours, and closes however this server ends.
_LEASHED = 'exec 3<&0 </dev/null; (read -r end <&3; kill -9 0) & watcher=$!; exec 3<&-; "$@"; code=$?; kill $watcher; exit $code'
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
        """Runs a program to its end, what it prints into the log. BuildFailedError where it fails.

        It is killed, with all that it started, where we stop or are killed ourselves.
        """
        last: deque[str] = deque(maxlen=KEPT_LINES)
        process = None
        leash, held = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                "/bin/sh",
                "-c",
                _LEASHED,
                "sh",
                *argv,
                cwd=folder,
                env=dict(environment),
                stdin=leash,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
            await self._copy(process, last)
            code = await process.wait()
        finally:
            os.close(leash)
            os.close(held)
            if process is not None:
                await process.wait()
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
