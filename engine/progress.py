"""What is seen of a long build, on standard error: a line that is rewritten on a terminal, one every 15 seconds elsewhere."""

import sys
import time
from typing import TextIO

_ERASE_LINE = "\r\x1b[K"


class Progress:
    """Reports to `stream`. `interval` is the number of seconds between two calls of `update`."""

    def __init__(self, stream: TextIO = sys.stderr) -> None:
        self._stream = stream
        self._rewrites = stream.isatty()
        self._started = time.monotonic()
        self.interval = 1.0 if self._rewrites else 15.0

    def say(self, line: str) -> None:
        """A line that stays."""
        print((_ERASE_LINE if self._rewrites else "") + line, file=self._stream, flush=True)

    def update(self, state: str) -> None:
        """How far it is, with the time since the start; on a terminal the next line takes its place."""
        line = f"{self.elapsed()}: {state}"
        if self._rewrites:
            print(_ERASE_LINE + line, end="", file=self._stream, flush=True)
        else:
            self.say(line)

    def elapsed(self) -> str:
        """The time since the start, as `m:ss`."""
        minutes, seconds = divmod(int(time.monotonic() - self._started), 60)
        return f"{minutes}:{seconds:02}"
