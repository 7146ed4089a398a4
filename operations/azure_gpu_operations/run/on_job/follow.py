"""Follows an execution to its end, and shows its log. KeyboardInterrupt passes through."""

import re
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

import requests
from azure.core.exceptions import AzureError as AzureCoreError

from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.azure import AzureError
from azure_gpu_operations.job_client import POLL_SECONDS, Jobs
from azure_gpu_operations.jobs import Execution, Job
from azure_gpu_operations.run import polling
from azure_gpu_operations.run.on_job.log_stream import LogStream
from azure_gpu_operations.run.protocol import Output, Say

STOPPING_SECONDS = 60  # how long to wait for the service to stop it
DRAIN_SECONDS = 10  # how long the log may continue after the execution's end
READER = "reads the log of an execution"  # the thread's name
# What Container Apps says where an environment has no GPU quota: "Maximum Allowed Cores exceeded ... limit 0, used 0, asked 1".
_NO_QUOTA = re.compile(r"quota|maximum allowed cores", re.IGNORECASE)
_MORE_QUOTA = (
    f"; the environment's GPU quota is used up or 0: `{COMMAND} preflight` says how more is requested; on the embedded Azure "
    "`python -m localazure request-quotas`"
)
QUIET_POLLS = 15  # polls before the reason of the wait is shown


class End(NamedTuple):
    """The execution at its end, or after its timeout."""

    execution: Execution | None  # None: it was deleted
    in_time: bool = True
    log_lines: int = 0
    ran: bool = True  # false: it still waited for a machine at its end or timeout, and so cost nothing

    @property
    def seconds(self) -> float | None:
        if not self.ran:
            return 0.0
        return self.execution.seconds(datetime.now(UTC)) if self.execution else None


def follow(
    jobs: Jobs,
    job: Job,
    name: str,
    output: Output,
    *,
    limit_seconds: float | None = None,
    at_limit: Callable[[], Execution | None],
    sleep: Callable[[float], None] = time.sleep,
) -> End:
    """Shows the log until the execution ends, or `at_limit` has stopped it."""
    stream = LogStream(jobs, job, name)
    over = threading.Event()
    reader = threading.Thread(target=_stream, args=(stream, over, output.show), name=READER, daemon=True)
    reader.start()
    try:
        execution, in_time = _wait(jobs, job, name, limit_seconds, output.say, sleep)
        ran = execution is None or not (execution.containers and _waits(execution))
        if not in_time:
            execution = at_limit()
    except BaseException:  # else lines would be shown behind the error, or behind Ctrl-C
        stream.leave()
        raise
    finally:
        over.set()
    rest = _drain(stream, reader, output.show)
    if rest.cut:
        output.say(
            "the service dropped lines that were written too fast; all lines are in the stack's log workspace within minutes"
        )
    return End(execution, in_time, rest.given, ran)


def _wait(
    jobs: Jobs, job: Job, name: str, limit_seconds: float | None, say: Say, sleep: Callable[[float], None]
) -> tuple[Execution | None, bool]:
    """The execution, and whether it ended in time."""
    deadline = None if limit_seconds is None else time.monotonic() + limit_seconds
    polls = 0

    def look() -> tuple[Execution | None, bool] | None:
        nonlocal polls
        found = jobs.execution(job, name)
        polls += 1
        if found is None or found.is_over:
            return found, True
        waits = _waits(found) if polls == QUIET_POLLS and (found.containers or not jobs.replicas(job, name)) else ""
        if deadline is not None and time.monotonic() >= deadline:
            return found, False
        if waits:
            say(f"still waiting for a GPU: {waits}{_MORE_QUOTA if _NO_QUOTA.search(waits) else ''}")
        return None

    return polling.poll_until(
        look,
        unreachable="Azure can't be reached",
        on_give_up=f"the execution {name} may still be running and billed",
        say=say,
        poll_seconds=POLL_SECONDS,
        sleep=sleep,
    )


def _waits(execution: Execution) -> str:
    """What an execution waits for, if possible in the service's words; "" if a container is running."""
    if any(each.status != "Waiting" for each in execution.containers):
        return ""
    information = next((each.information for each in execution.containers if each.information), "")
    return information or "the service is allocating a machine and pulling the image, which takes minutes"


def _stream(stream: LogStream, over: threading.Event, show: Say) -> None:
    """Reads until the execution is over; reopens a missing or broken stream."""
    while not over.is_set():
        try:
            for line in stream.read(follow=True):
                show(line)
        except (requests.RequestException, AzureError, AzureCoreError, OSError):
            pass
        over.wait(POLL_SECONDS / 2)


def _drain(stream: LogStream, reader: threading.Thread, show: Say) -> LogStream:
    """Shows the last lines, which the followed stream may have missed."""
    reader.join(DRAIN_SECONDS)
    rest = stream.leave()
    try:
        for line in rest.read(follow=False):
            show(line)
    except (requests.RequestException, AzureError, AzureCoreError, OSError):
        pass  # the log may be gone with the container; what was shown stays
    return rest
