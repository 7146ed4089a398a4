"""Shows the lines of a log that grows, each once: of a blob or a file, of a pod's container, of an execution of a job.

A pod's lines have timestamps: a new stream starts at the last second, and lines that were already shown are skipped.

The format of an execution's stream, according to public code that reads it (the service doesn't document it): plain text; each
line has the container's timestamp and the stream's name, `2026-10-09T21:15:44.4795058Z stdout F line 1`; the first lines are the
service's, `2026-10-09T21:16:02.38246  Connecting to the container 'c'...`; the service closes the stream of a silent container,
which is then reopened.
"""

import re
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

import requests

from azure_gpu.formats import arm_ids
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.job_bodies import Job
from azure_gpu_operations.job_client import Jobs

_KEPT = 4096  # bytes of the end, to compare with

Read = Callable[[int], bytes | None]  # from this byte on; None: there is no such blob (yet)


class BlobTail:
    """One blob. Repeated reads show only new lines."""

    def __init__(self, read: Read, show: Callable[[str], None]) -> None:
        self._read, self._show = read, show
        self._at = 0
        self._rest = self._end = b""
        self.lines = 0

    @property
    def found(self) -> bool:
        """Whether anything was read."""
        return self._at > 0

    def more(self) -> bool:
        """Shows new complete lines. Returns whether there was new content."""
        content = self._read(self._at)
        if not content:
            return False
        self._at += len(content)
        self._end = (self._end + content)[-_KEPT:]
        *lines, self._rest = (self._rest + content).split(b"\n")
        for line in lines:
            self._tell(line)
        return True

    def again(self) -> None:
        """It is written anew: reads it from the start."""
        self._at, self._rest = 0, b""

    def ends_with(self, text: str) -> bool:
        """Whether the content read so far ends with `text`, ignoring white space."""
        return self._end.decode("utf-8", errors="replace").rstrip().endswith(text.rstrip()[-_KEPT // 4 :])

    def finish(self) -> None:
        """Shows what is left, and the last line if it has no line break."""
        while self.more():
            pass
        if self._rest:
            self._tell(self._rest)
            self._rest = b""

    def _tell(self, line: bytes) -> None:
        self.lines += 1
        self._show(line.removesuffix(b"\r").decode("utf-8", errors="replace"))


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


MOST_LINES = 300  # the service's own limit for `tailLines`, as the Azure CLI checks it
CONNECT_SECONDS = 15
SILENCE_SECONDS = 300  # after which the stream is opened again

_LINE_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?"
_CONTAINER_LINE = re.compile(rf"{_LINE_TIME} (?:stdout|stderr) [FP] ?(.*)", re.DOTALL)
_SERVICE_LINE = re.compile(
    rf"(?:{_LINE_TIME}\s+)?(?:Connecting to the container|Successfully Connected to container|Connecting to stream)"
)


class LogStream:
    """One execution's log. Repeated calls of `read` continue after the lines that were already yielded."""

    def __init__(self, jobs: Jobs, job: Job, execution: str) -> None:
        self._jobs = jobs
        self._job = job
        self._execution = execution
        self._given: deque[str] = deque(maxlen=MOST_LINES)
        self._token = ""
        self._left = False
        self.given = 0  # lines
        self.cut = False  # lines are missing, because more than MOST_LINES were written between two reads

    def read(self, *, follow: bool) -> Iterator[str]:
        """Yields the current lines, and with `follow` new ones until the stream ends. Nothing without a container.

        Raises requests' exceptions if the stream breaks or is rejected.
        """
        address = self._address()
        if not address:
            return
        known = set(self._given)
        opened = ""  # time of the first line
        tail = 0  # lines from before the stream was opened
        met = False  # whether one of them was yielded before
        for line in self._lines(address, follow=follow):
            if self._left:
                return
            opened = opened or datetime.now(UTC).isoformat()
            tail += line < opened  # both begin with an instant in UTC
            if line in known:  # sent before: each line carries the time at which it was written
                met = True
                continue
            self.cut = self.cut or (tail == MOST_LINES and not met)
            known.clear()
            self._given.append(line)
            text = program_text(line)
            if text is not None:
                self.given += 1
                yield text

    def leave(self) -> "LogStream":
        """Stops a `read` in another thread, and returns a stream that continues after it.

        The thread itself can't be woken, since closing a response waits for its reader.
        """
        self._left = True
        other = LogStream(self._jobs, self._job, self._execution)
        other._given.extend(self._given)
        other.given, other.cut = self.given, self.cut
        return other

    def _lines(self, address: str, *, follow: bool) -> Iterator[str]:
        query = {"follow": str(follow).lower(), "tailLines": str(MOST_LINES), "output": "text"}
        self._token = self._token or self._jobs.log_token(self._job)
        with requests.get(
            address,
            params=query,
            headers={"Authorization": f"Bearer {self._token}"},
            stream=True,
            timeout=(CONNECT_SECONDS, SILENCE_SECONDS),
        ) as answer:
            if answer.status_code == 401:
                self._token = ""  # expired; the next try gets another
            answer.raise_for_status()
            answer.encoding = "utf-8"
            # A chunked response delivers each line at once; others are read byte by byte, to avoid waiting for a full buffer.
            size: Any = None if getattr(answer.raw, "chunked", False) else 1
            for line in answer.iter_lines(chunk_size=size):
                yield line.decode("utf-8", errors="replace")

    def _address(self) -> str:
        """URL of the log of the newest replica's first container; "" without one."""
        replicas = self._jobs.replicas(self._job, self._execution)
        if not replicas:
            return ""
        replica = max(replicas, key=lambda each: str((each.get("properties") or {}).get("createdTime") or ""))
        container = container_of(replica, self._job)
        return container and stream_address(self._job, self._execution, replica["name"], container)


def program_text(line: str) -> str | None:
    """The container's text; None for a line of the service."""
    found = _CONTAINER_LINE.fullmatch(line)
    if found:
        return found[1]
    return None if _SERVICE_LINE.match(line) else line


def container_of(replica: dict[str, Any], job: Job) -> str:
    """The first container's name, "" before the replica has a started one."""
    names = [str(each.get("name", "")) for each in (replica.get("properties") or {}).get("containers") or []]
    first = str(job.containers[0]["name"]) if job.containers else ""
    return first if first in names else names[0] if names else ""


def stream_address(job: Job, execution: str, replica: str, container: str) -> str:
    """URL as in `az containerapp job logs show`: the host of the job's event stream, and a path without `/providers`."""
    endpoint = urlsplit(str(job.properties.get("eventStreamEndpoint") or ""))
    parsed = arm_ids.parse(job.id)
    if not endpoint.netloc or parsed is None:
        return ""
    # The path before `/subscriptions` belongs to the endpoint.
    base = f"{endpoint.scheme}://{endpoint.netloc}{endpoint.path.partition('/subscriptions/')[0]}"
    parts = [
        *("subscriptions", parsed.subscription, "resourceGroups", parsed.resource_group, "jobs", parsed.name),
        *("executions", execution, "replicas", replica, "containers", container, "logstream"),
    ]
    return f"{base}/{'/'.join(quote(part, safe='') for part in parts)}"
