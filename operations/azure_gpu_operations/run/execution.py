"""One execution followed to its end: its log on the screen, its end noticed, stopped where it takes too long or somebody has
enough.

In: a `Jobs` client, a job, the name of an execution, and functions that show a line of log and a line about it. Out: an `End`.
"""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

import requests
from azure.core.exceptions import AzureError as AzureCoreError

from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.azure import AzureError, first_line
from azure_gpu_operations.job_client import POLL_SECONDS, Jobs
from azure_gpu_operations.jobs import Execution, Job
from azure_gpu_operations.run import asking
from azure_gpu_operations.run.log_stream import LogStream

Say = Callable[[str], None]

STOP_SECONDS = 60  # how long to wait for the service to stop it
DRAIN_SECONDS = 10  # how long the log may go on after the execution has ended
TIMEOUT = "timeout"
INTERRUPTED = "interrupted"
QUIET_POLLS = 15  # so often it is asked for before somebody is told that the service is still at it


class End(NamedTuple):
    """How it ended."""

    execution: Execution | None  # None: it isn't there any more
    stopped: str = ""  # why we stopped it: TIMEOUT or INTERRUPTED
    log_lines: int = 0

    @property
    def seconds(self) -> float | None:
        return self.execution.seconds(datetime.now(UTC)) if self.execution else None


def follow(
    jobs: Jobs,
    job: Job,
    name: str,
    *,
    show: Say,
    say: Say,
    limit_seconds: float | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> End:
    """Shows the log until the execution ends. At Ctrl-C, and when its time is over, it is stopped in Azure too."""
    stream = LogStream(jobs, job, name)
    over = threading.Event()
    reader = threading.Thread(target=_stream, args=(stream, over, show), daemon=True)
    reader.start()
    stopped = ""
    try:
        execution, in_time = _wait(jobs, job, name, limit_seconds, say, sleep)
        if not in_time:
            stopped = TIMEOUT
            say(f"it has run as long as it may ({(limit_seconds or 0) / 60:g} minutes): stopping the execution {name}")
            execution = _stop(jobs, job, name, say, sleep)
    except KeyboardInterrupt:
        stream.leave()
        return End(_stop_by_hand(jobs, job, name, say, sleep), INTERRUPTED, stream.given)
    finally:
        over.set()
    rest = _drain(stream, reader, show)
    if rest.cut:
        say(
            "lines were written faster than the service streams them; all of them are in the stack's log workspace within minutes"
        )
    return End(execution, stopped, rest.given)


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
            say(f"still waiting for a GPU: {waits}")
        return None

    return asking.until_found(
        look,
        unasked="Azure can't be asked about the execution",
        unknown=f"the execution {name} may still run and cost",
        say=say,
        poll_seconds=POLL_SECONDS,
        sleep=sleep,
    )


def _waits(execution: Execution) -> str:
    """What an execution waits for, by the service's own words where it has some; "" where a container runs."""
    if any(each.status != "Waiting" for each in execution.containers):
        return ""
    told = next((each.information for each in execution.containers if each.information), "")
    return told or "the service is getting a machine and pulling the image, which takes minutes"


def _stop_by_hand(jobs: Jobs, job: Job, name: str, say: Say, sleep: Callable[[float], None]) -> Execution | None:
    say(f"stopping the execution {name}")
    found = _stop(jobs, job, name, say, sleep)
    if found is not None and found.is_over:
        say(f"the execution {name} is stopped")
    return found


def _stop(jobs: Jobs, job: Job, name: str, say: Say, sleep: Callable[[float], None]) -> Execution | None:
    """Whoever has it stopped is owed to hear that it costs nothing any more, or that it may."""
    try:
        jobs.stop(job, name)
        found = jobs.wait_until_over(job, name, limit_seconds=STOP_SECONDS, sleep=sleep)
    except (KeyboardInterrupt, AzureError, AzureCoreError, requests.RequestException) as error:
        reason = f" ({first_line(error)})" if str(error) else ""
        say(f"the execution {name} may still run and cost{reason}; see: {COMMAND} running")
        return None
    if found is not None and not found.is_over:
        say(f"the execution {name} was told to stop and is {found.status}; see: {COMMAND} running")
    return found


def _stream(stream: LogStream, over: threading.Event, show: Say) -> None:
    """Reads until the execution is over. A stream that isn't there yet, or breaks off, is opened again."""
    while not over.is_set():
        try:
            for line in stream.read(follow=True):
                show(line)
        except (requests.RequestException, AzureError, AzureCoreError, OSError):
            pass
        over.wait(POLL_SECONDS / 2)


def _drain(stream: LogStream, reader: threading.Thread, show: Say) -> LogStream:
    """Shows the lines that came at the very end, which a stream that was followed may have missed."""
    reader.join(DRAIN_SECONDS)
    rest = stream.leave()
    try:
        for line in rest.read(follow=False):
            show(line)
    except (requests.RequestException, AzureError, AzureCoreError, OSError):
        pass  # the log may be gone with the container; what was shown stays
    return rest
