"""A container's log file: each line behind its time, the newer half kept where it grows beyond what the service keeps."""

# ruff: noqa: PTH105, PTH123 - pathlib and contextlib would cost every container its memory

import os

from localazure.containers.shim_processes import now

LOG_BYTES = (
    4 * 1024 * 1024
)  # the service keeps as much: Microsoft Learn, container-instances-get-logs (limit of 4 MB a container)
STAMP = 28  # characters of a line's time with the space behind it


def lines(text):
    """The lines of a log, each with its time and its end. A line ends with a line feed alone: what shows progress in one line
    prints carriage returns, and those have no time behind them."""
    found = text.split("\n")
    rest = found.pop()
    return [*(line + "\n" for line in found), *([rest] if rest else [])]


class Log:
    """The file `log` in the working folder, begun again."""

    def __init__(self):
        self.closed = False  # the container has closed its output, or is gone
        self._file = open("log", "wb", buffering=0)  # noqa: SIM115 - open for as long as the run lasts
        self._line_open = False

    def copy(self, reader):
        """Appends what the container printed. False where there is nothing more."""
        try:
            chunk = os.read(reader, 65536)
        except BlockingIOError:
            return False
        if not chunk:
            self.closed = True
            return False
        stamp = now().encode() + b" "
        lines = chunk.split(b"\n")
        text = b"" if self._line_open else stamp
        text += (b"\n" + stamp).join(lines)
        self._line_open = lines[-1] != b""
        try:
            self._file.write(text if self._line_open else text[: -len(stamp)])
            if self._file.tell() > LOG_BYTES:
                self._shorten()
        except OSError:  # such as on a full disk: what is printed is lost, and the container goes on
            pass
        return True

    def drain(self, reader):
        while self.copy(reader):
            pass
        self._file.close()

    def _shorten(self):
        """Keeps the newer half of the log, from a line's start on."""
        with open("log", "rb") as file:
            file.seek(-LOG_BYTES // 2, os.SEEK_END)
            kept = file.read().partition(b"\n")[2]
        with open("log.new", "wb") as file:
            file.write(kept)
        os.replace("log.new", "log")
        self._file.close()
        self._file = open("log", "ab", buffering=0)  # noqa: SIM115
