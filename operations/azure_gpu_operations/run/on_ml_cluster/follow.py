"""A job of a workspace followed to its end: what it waits for, and its log while it runs.

In: a signed-in `Arm`, the job's ARM id, a function that reads its log, and functions that show output and say a line about it.
Out: an `End`; KeyboardInterrupt passes through.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from azure_gpu.formats.dates import instant
from azure_gpu_operations.machine_learning.endpoints import API_VERSION
from azure_gpu_operations.run import asking, gpu_confirmation
from azure_gpu_operations.run.blob_tail import BlobTail, Read
from azure_gpu_operations.run.on_ml_cluster import plan

POLL_SECONDS = 1.5
DRAIN_SECONDS = 15.0  # how long the log may come after the job has ended
OVER = ("Completed", "Failed", "Canceled", "NotResponding")
# What a job does before its program starts, for whoever waits: a node from zero takes minutes.
_WAITS = {
    "NotStarted": "the job is taken",
    "Queued": "it waits for a node: a cluster of none gets one within minutes",
    "Provisioning": "the cluster gets a node",
    "Preparing": "its environment is made ready",
    "Starting": "a node takes it",
}
_QUEUED_FOR_SEVERAL = "it waits until {} nodes are free at once: a cluster of none gets them within minutes"
# From these on the node works for it.
_ON_NODE = ("Preparing", "Starting", "Running", "Finalizing")

Say = Callable[[str], None]


class Api(Protocol):
    """What is asked of ARM."""

    def get(self, resource_id: str, api_version: str, **query: str) -> dict[str, Any] | None: ...


class End(NamedTuple):
    """How it ended."""

    status: str = ""  # one of OVER; "": it isn't there any more
    exit_code: int | None = None
    seconds: float | None = None  # for which its nodes worked for it, as far as we saw
    nodes: int = 1
    message: str = ""  # the service's own


class Follower:
    """One job."""

    def __init__(
        self,
        arm: Api,
        job_id: str,
        read_log: Read,
        *,
        show: Say,
        say: Say,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._arm, self._id, self._say, self._sleep, self._clock = arm, job_id, say, sleep, clock
        self._show = show
        self._log = BlobTail(read_log, self._line)
        self._code: int | None = None
        self._status = ""
        self._on_node_at: float | None = None

    def follow(self) -> End:
        return self._drained(
            asking.until_found(
                self._look,
                unasked="Azure can't be asked about the job",
                unknown="the job may still run and cost",
                say=self._say,
                poll_seconds=POLL_SECONDS,
                sleep=self._sleep,
                clock=self._clock,
            )
        )

    @property
    def seconds(self) -> float | None:
        return None if self._on_node_at is None else self._clock() - self._on_node_at

    def _look(self) -> End | None:
        end = self._state()
        self._log.more()
        return end

    def _state(self) -> End | None:
        """Its end; None while it isn't over."""
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
        return End(status, seconds=_told_seconds(properties) or self.seconds, nodes=nodes, message=message_of(properties))

    def _drained(self, end: End) -> End:
        """The log's last lines; the very last one has the code."""
        waited = 0.0
        while self._code is None and waited < DRAIN_SECONDS and self._on_node_at is not None and end.status != "Canceled":
            self._sleep(POLL_SECONDS)
            waited += POLL_SECONDS
            self._log.more()
        self._log.finish()
        return end._replace(exit_code=self._code)

    def _line(self, line: str) -> None:
        code = plan.exit_code(line)
        if code is not None:
            self._code = code
            return
        gpu_confirmation.pass_on(line, self._show, self._say)


def message_of(properties: Mapping[str, Any]) -> str:
    """Why the service says that it failed: in one of the places where it says so."""
    more = properties.get("properties") or {}
    if more.get("azureml.error.message"):
        return ": ".join(str(more[key]) for key in ("azureml.error.code", "azureml.error.message") if more.get(key))
    error = properties.get("error") or more.get("azureml.error") or {}
    if not isinstance(error, Mapping):
        return str(error)
    inner = error.get("error") or error
    return ": ".join(str(inner[key]) for key in ("code", "message") if inner.get(key))


def _told_seconds(properties: Mapping[str, Any]) -> float | None:
    """As the service has it, where it tells."""
    more = properties.get("properties") or {}
    began, ended = instant(more.get("StartTimeUtc")), instant(more.get("EndTimeUtc"))
    return max(0.0, (ended - began).total_seconds()) if began is not None and ended is not None else None
