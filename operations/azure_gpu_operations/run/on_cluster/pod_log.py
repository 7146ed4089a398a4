"""Shows the log of a pod's container, each line once, even if the stream breaks.

Lines have timestamps: a new stream starts at the last second, and lines that were already shown are skipped.
"""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Protocol

from azure_gpu_operations.clusters.errors import ClusterError

AGAIN_SECONDS = 1.0
_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)")
Show = Callable[[str], None]


class Logs(Protocol):
    def log(
        self, namespace: str, pod: str, container: str, *, follow: bool = False, since: str = "", tail: int | None = None
    ) -> Iterator[str]: ...


class PodLog:
    """One container. `lines`: number of lines shown."""

    def __init__(self, api: Logs, namespace: str, pod: str, container: str, show: Show) -> None:
        self._api = api
        self._names = (namespace, pod, container)
        self._show = show
        self._last = ("", "")  # timestamp of the last line: second, and fraction
        self._at_last = 0  # lines with that timestamp
        self._since = ""
        self._reading = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self.lines = 0

    def start(self) -> None:
        """Shows lines in a thread until `finish`."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._follow, daemon=True)
            self._thread.start()

    def finish(self, wait_seconds: float) -> None:
        """Shows the rest. A stream that doesn't end in time is abandoned."""
        if self._thread is not None:
            self._thread.join(wait_seconds)
        self._ended.set()
        with suppress(ClusterError):  # the pod may be gone; what was shown stays
            self._read(follow=False)

    def leave(self) -> None:
        """Stops showing lines."""
        self._ended.set()

    def _follow(self) -> None:
        """Reads to the end of the stream, which ends with the container; reopens a broken one."""
        while not self._ended.is_set():
            try:
                self._read(follow=True)
                return
            except ClusterError:
                self._ended.wait(AGAIN_SECONDS)

    def _read(self, *, follow: bool) -> None:
        skipped = 0
        for line in self._api.log(*self._names, follow=follow, since=self._since):
            with self._reading:
                if follow and self._ended.is_set():
                    return
                stamp, _, text = line.partition(" ")
                found = _STAMP.fullmatch(stamp)
                if found is None:
                    self._line(line)
                    continue
                at = (found[1], (found[2] or "").ljust(9, "0"))
                if at < self._last:
                    continue
                if at == self._last and skipped < self._at_last:
                    skipped += 1
                    continue
                if at > self._last:
                    self._last, self._at_last = at, 0
                    skipped = 0
                    self._since = f"{found[1]}{found[3]}"
                self._at_last += 1
                skipped += 1
                self._line(text)

    def _line(self, text: str) -> None:
        self.lines += 1
        self._show(text.rstrip("\r"))
