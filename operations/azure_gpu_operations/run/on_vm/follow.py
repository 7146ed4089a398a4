"""Follows a run-command to its end, and shows its output from the machine's blobs. KeyboardInterrupt passes through."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from azure_gpu.formats.dates import instant
from azure_gpu_operations.run import gpu_confirmation, polling
from azure_gpu_operations.run.blob_tail import BlobTail
from azure_gpu_operations.run.protocol import Output
from azure_gpu_operations.virtual_machines import API_VERSION

DRAIN_SECONDS = 10.0  # how long output may arrive after the program's end
OVER = ("Succeeded", "Failed", "TimedOut", "Canceled")
TIMED_OUT = "TimedOut"

ReadBlob = Callable[[str, int], bytes | None]  # (stream, start) -> content


class Api(Protocol):
    """Requests to ARM."""

    def get(self, resource_id: str, api_version: str, **query: str) -> dict[str, Any] | None: ...


class End(NamedTuple):
    """How the run-command ended."""

    state: str = ""  # one of OVER; "": it was deleted
    exit_code: int | None = None
    started: datetime | None = None
    ended: datetime | None = None
    message: str = ""  # of the service
    output: str = ""  # its end, as the service returns it
    error: str = ""
    streamed: bool = False  # whether the blobs had output

    @property
    def seconds(self) -> float | None:
        if self.started is None or self.ended is None:
            return None
        return max(0.0, (self.ended - self.started).total_seconds())


class Follower(polling.Follower[End]):
    """One run-command."""

    billed = ""

    def __init__(self, arm: Api, command_id: str, read: ReadBlob, output: Output, **times: Any) -> None:
        super().__init__("the program", output, **times)
        self._arm, self._id = arm, command_id
        self._tails = (
            BlobTail(lambda at: read("stdout", at), output.show),
            BlobTail(lambda at: read("stderr", at), self._error),
        )

    def follow(self) -> End:
        return self._drained(super().follow())

    def _look(self) -> End | None:
        """The end; None while it is running."""
        body = self._arm.get(self._id, API_VERSION, **{"$expand": "instanceView"})
        found = End() if body is None else end_of(body)
        for tail in self._tails:
            tail.more()
        return found if body is None or found.state in OVER else None

    def _drained(self, end: End) -> End:
        """Reads the last output, which the machine writes every few seconds."""
        waited = 0.0
        while waited < DRAIN_SECONDS and not self._has_all(end):
            self._sleep(self.poll_seconds)
            waited += self.poll_seconds
            for tail in self._tails:
                tail.more()
        for tail in self._tails:
            tail.finish()
        return end._replace(streamed=any(tail.found for tail in self._tails))

    def _has_all(self, end: End) -> bool:
        """Whether the end of the output, as the service returns it, was read."""
        return all(tail.ends_with(text) for tail, text in zip(self._tails, (end.output, end.error), strict=True))

    def _error(self, line: str) -> None:
        gpu_confirmation.pass_on(line, self._output.show_error, self._say)


def end_of(body: Mapping[str, Any]) -> End:
    view = (body.get("properties") or {}).get("instanceView") or {}
    return End(
        state=str(view.get("executionState") or ""),
        exit_code=view.get("exitCode"),
        started=instant(view.get("startTime")),
        ended=instant(view.get("endTime")),
        message=str(view.get("executionMessage") or ""),
        output=str(view.get("output") or ""),
        error=str(view.get("error") or ""),
    )
