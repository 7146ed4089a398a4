"""Shows the lines of a task's file while the task writes it.

Each read continues at the last position; a file that has become shorter belongs to a retry of the task and is read from the
start.
"""

from collections.abc import Callable

from azure_gpu_operations.batch.account import BatchAccount

PART = 4 * 1024 * 1024  # bytes at once
Show = Callable[[str], None]


class Tail:
    """One file. `lines`: number of lines shown."""

    def __init__(self, account: BatchAccount, job_id: str, task_id: str, path: str, show: Show) -> None:
        self._account = account
        self._names = (job_id, task_id, path)
        self._show = show
        self._at = 0
        self._open = b""  # an incomplete line
        self.lines = 0

    def read(self) -> None:
        """Shows the new complete lines."""
        size = self._account.task_file_size(*self._names)
        if size is None:
            return
        if size < self._at:
            self._at, self._open = 0, b""
        while self._at < size:
            part = self._account.task_file(*self._names, start=self._at, end=min(size, self._at + PART))
            if not part:
                return
            self._at += len(part)
            *whole, self._open = (self._open + part).split(b"\n")
            for line in whole:
                self._line(line)

    def finish(self) -> None:
        """Shows the rest, including a last line without line break."""
        self.read()
        if self._open:
            self._line(self._open)
            self._open = b""

    def _line(self, line: bytes) -> None:
        self.lines += 1
        self._show(line.decode("utf-8", errors="replace").rstrip("\r"))
