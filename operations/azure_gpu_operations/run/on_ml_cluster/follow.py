"""Follows a job of a workspace to its end: what it waits for, and its log. KeyboardInterrupt passes through."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from azure_gpu.formats.dates import instant
from azure_gpu_operations.machine_learning import job_log
from azure_gpu_operations.machine_learning.endpoints import API_VERSION
from azure_gpu_operations.run import gpu_confirmation, polling
from azure_gpu_operations.run.blob_tail import BlobTail, Read
from azure_gpu_operations.run.on_ml_cluster import plan
from azure_gpu_operations.run.protocol import Output

DRAIN_SECONDS = 15.0  # how long the log may continue after the job's end
OVER = ("Completed", "Failed", "Canceled", "NotResponding")
# Messages of a job's states before its program starts: allocating a node takes minutes.
_WAITS = {
    "NotStarted": "the job is accepted",
    "Queued": "waiting for a node; an empty cluster gets one within minutes",
    "Provisioning": "the cluster is allocating a node",
    "Preparing": "preparing its environment",
    "Starting": "starting on a node",
}
_QUEUED_FOR_SEVERAL = "waiting for {} free nodes at once; an empty cluster gets them within minutes"
# States in which it uses its nodes.
_ON_NODE = ("Preparing", "Starting", "Running", "Finalizing")


class Api(Protocol):
    """Requests to ARM."""

    def get(self, resource_id: str, api_version: str, **query: str) -> dict[str, Any] | None: ...


class End(NamedTuple):
    """How the job ended."""

    status: str = ""  # one of OVER; "": it was deleted
    exit_code: int | None = None
    seconds: float | None = None  # observed, for which it used its nodes
    nodes: int = 1
    message: str = ""  # of the service


class Follower(polling.Follower[End]):
    """One job."""

    poll_seconds = 1.5

    def __init__(self, arm: Api, job_id: str, read_log: Read, output: Output, **times: Any) -> None:
        super().__init__("the job", output, **times)
        self._arm, self._id = arm, job_id
        self._log = BlobTail(read_log, self._line)
        self._code: int | None = None
        self._status = ""
        self._on_node_at: float | None = None

    def follow(self) -> End:
        return self._drained(super().follow())

    @property
    def seconds(self) -> float | None:
        return None if self._on_node_at is None else self._clock() - self._on_node_at

    def _look(self) -> End | None:
        end = self._state()
        self._log.more()
        return end

    def _state(self) -> End | None:
        """The end; None while it isn't over."""
        body = self._arm.get(self._id, API_VERSION)
        if body is None:
            return End()
        properties = body.get("properties") or {}
        status = str(properties.get("status") or "")
        if status in _ON_NODE and self._on_node_at is None:
            self._on_node_at = self._clock()
        nodes = int((properties.get("resources") or {}).get("instanceCount") or 1)
        if status != self._status and status in _WAITS:
            self._say(_QUEUED_FOR_SEVERAL.format(nodes) if status == "Queued" and nodes > 1 else _WAITS[status])
        self._status = status
        if status not in OVER:
            return None
        return End(
            status, seconds=_reported_seconds(properties) or self.seconds, nodes=nodes, message=job_log.error_of(properties)
        )

    def _drained(self, end: End) -> End:
        """Reads the log's last lines; the very last one has the exit code."""
        waited = 0.0
        while self._code is None and waited < DRAIN_SECONDS and self._on_node_at is not None and end.status != "Canceled":
            self._sleep(self.poll_seconds)
            waited += self.poll_seconds
            self._log.more()
        self._log.finish()
        return end._replace(exit_code=self._code)

    def _line(self, line: str) -> None:
        code = plan.exit_code(line)
        if code is not None:
            self._code = code
            return
        gpu_confirmation.pass_on(line, self._output.show, self._say)


def _reported_seconds(properties: Mapping[str, Any]) -> float | None:
    """Run time reported by the service."""
    more = properties.get("properties") or {}
    began, ended = instant(more.get("StartTimeUtc")), instant(more.get("EndTimeUtc"))
    return max(0.0, (ended - began).total_seconds()) if began is not None and ended is not None else None
