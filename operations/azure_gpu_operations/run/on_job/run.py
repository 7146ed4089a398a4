"""A run on a stack's Container Apps job: an execution with the requested image and arguments, followed to its end.

Imported when a run starts, because Azure's clients load slowly. KeyboardInterrupt passes through.

Secrets are added to the job for one execution, and removed afterwards: readers of the job can see the variables of an execution,
but not a job's secrets. Other secrets of the job are kept.
"""

import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

import requests
from azure.core.exceptions import AzureError as AzureCoreError

from azure_gpu.catalog import transient_errors
from azure_gpu.catalog.problems import Problem
from azure_gpu.shared.installation import COMMAND
from azure_gpu.shared.polling import poll_until
from azure_gpu_operations import job_cost
from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.exit_codes import FAILED, FAILED_RUN, TIMED_OUT
from azure_gpu_operations.job_bodies import Execution, Job, start_template
from azure_gpu_operations.job_client import POLL_SECONDS, Jobs
from azure_gpu_operations.one_part import JOB
from azure_gpu_operations.run import carried, used_part
from azure_gpu_operations.run.log_lines import LogStream
from azure_gpu_operations.run.on_job.request import JobRequest
from azure_gpu_operations.run.protocol import Cost, Outcome, Output, Say, WrongRunError
from azure_gpu_operations.run.service_run import REFUSED, ServiceRun
from azure_gpu_operations.run.target import Target
from azure_gpu_operations.run.used_part import registry_of
from azure_gpu_operations.stack_view import StackView

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
        execution, in_time = _until_over(jobs, job, name, limit_seconds, output.say, sleep)
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


def _until_over(
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

    return poll_until(
        look,
        errors=REFUSED,
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


@contextmanager
def lent(jobs: Jobs, job: Job, values: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yields the names of the secrets by variable; the job has them while the block runs."""
    if not values:
        yield {}
        return
    names = {variable: _secret_name(variable) for variable in values}
    jobs.set_secrets(job, [*jobs.secrets(job), *({"name": names[key], "value": value} for key, value in values.items())])
    try:
        yield names
    finally:
        ours = set(names.values())
        jobs.set_secrets(job, [each for each in jobs.secrets(job) if each.get("name") not in ours])


def _secret_name(variable: str) -> str:
    """A name of lowercase letters, digits and hyphens, with a random suffix for parallel runs."""
    word = re.sub(r"[^a-z0-9]+", "-", variable.lower()).strip("-")
    return f"run-{word}-{secrets.token_hex(3)}".replace("--", "-")


@contextmanager
def plan(view: StackView, name: str, request: JobRequest, output: Output) -> Iterator["JobRun"]:
    """Builds the image, and adds the secrets to the job while the block runs."""
    with closing(Arm(view.connection)) as arm:
        jobs = Jobs(arm)
        job = jobs.get(view.jobs[name])
        if job is None:
            raise used_part.missing(JOB, view, name)
        body = job.body
        used_part.accepted(used_part.expired(JOB, view, name, lambda: body), output.say)
        target, identity = request.target, partial(used_part.carrier_of, JOB, name, body)
        with carried.carrying(arm, view.storage, target, request.arguments, request.files, identity) as carrying:
            image = _image(arm, view, job, carrying.target, output.say)
            with lent(jobs, job, target.secrets) as references:
                template = start_template(
                    job,
                    image=image,
                    arguments=carrying.arguments,
                    environment=carrying.target.environment,
                    secret_refs=references,
                )
                files = carrying.files
                yield JobRun(view.name, name, output, request, jobs, job, template=template, files=files)


@dataclass
class JobRun(ServiceRun[JobRequest]):
    """One execution. With secrets it can't be left: the job has them only while this command is running."""

    jobs: Jobs
    job: Job
    template: Mapping[str, Any] | None = field(kw_only=True, default=None)
    sleep: Callable[[float], None] = field(kw_only=True, default=time.sleep)
    noun = "execution"
    owner = "job"
    stopped = "is stopped"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._price = job_cost.hourly_price(self.job, self.jobs.profile_type(self.job))
        self._end = End(None)

    @property
    def can_be_left(self) -> bool:
        return self.is_sent and not self.request.target.secrets

    @property
    def called(self) -> str:
        return super().called if self.name else f"an execution of the job {self.job.name}"

    def _send(self) -> str:
        self.name = self._started()
        return f"{self.request.target.described} on job {self.place}"

    def _started(self) -> str:
        """Starts it, with retries until the role for pulling the image works; returns its name."""
        tried = 0
        while True:
            try:
                return self.jobs.start(self.job, self.template)
            except AzureError as error:
                tried += 1
                passing = transient_errors.find(str(error))
                if passing is None or passing.is_over(tried):
                    raise
            if tried == 1:
                self.say(passing.message)
            self.sleep(transient_errors.pause(tried))

    def follow(self) -> Outcome:
        minutes = self.request.timeout_minutes
        limit = None if minutes is None else minutes * 60
        self._end = end = follow(
            self.jobs, self.job, self.name, self.output, limit_seconds=limit, at_limit=self._at_limit, sleep=self.sleep
        )
        if not end.in_time:
            is_over = end.execution is not None and end.execution.is_over
            return Outcome(TIMED_OUT, f"{'stopped' if is_over else 'told to stop'} after its timeout")
        if end.execution is None:
            raise self.gone()
        if end.log_lines == 0:
            self.say("the service streamed no log; the container's output is in the stack's log workspace within minutes")
        self.end_files()
        return outcome_of(end.execution)

    def _at_limit(self) -> Execution | None:
        self.say(f"timeout of {self.request.timeout_minutes:g} minutes reached")
        self.stop()
        return self._end.execution

    def stop(self) -> bool:
        if self.may_run and self.name:
            self.say(f"stopping {self.called}")
        return super().stop()

    def _cancel(self) -> None:
        if not self.name:
            raise AzureError("")  # the service may have started it without returning its name
        self.jobs.stop(self.job, self.name)
        found = self.jobs.wait_until_over(self.job, self.name, limit_seconds=STOPPING_SECONDS, sleep=self.sleep)
        self._end = self._end._replace(execution=found)
        if found is not None and not found.is_over:
            raise AzureError(f"it was told to stop and is {found.status}")

    def cost(self) -> Cost:
        return self.cost_of(self._end.seconds, self._price)

    def settle(self) -> None:
        """Keeps the execution in the job's history, whose size the service limits."""
        if self._end.in_time and self._end.execution is not None and self._end.execution.exit_code != 0:
            self.say(f"why: {self.explain(self.place)}")


def outcome_of(execution: Execution) -> Outcome:
    """The outcome of an ended execution."""
    code = execution.exit_code
    if execution.status == "Stopped":
        return Outcome(FAILED_RUN, "stopped from outside")
    text = f"exit code {code}" if code is not None else "no exit code reported"
    return Outcome(FAILED if code is None else code, f"{execution.status}, {text}")


def find(arm: Arm, view: StackView, name: str, output: Output) -> JobRun | None:
    """The execution of this name of any of the stack's jobs."""
    jobs = Jobs(arm)
    for place, job_id in view.jobs.items():
        job = jobs.get(job_id) if name.startswith(job_id.rsplit("/", 1)[-1]) else None
        if job is not None and jobs.execution(job, name) is not None:
            return JobRun(view.name, place, output, JobRequest(), jobs, job, name=name, is_sent=True)
    return None


def _image(arm: Arm, view: StackView, job: Job, target: Target, say: Say) -> str:
    """The image of the execution; "" for the job's."""
    if target.context is None:
        return target.image
    registry = registry_of(arm, view)
    if registry.server.lower() not in job.registry_servers:
        raise WrongRunError([no_pull(job, registry.server)])
    return registry.build(target.context, say)


def no_pull(job: Job, server: str) -> Problem:
    """The problem of a job without credentials for the registry that its image comes from."""
    return Problem(
        path="--job",
        message=f"the job {job.name} has no identity to pull from {server}",
        allowed=", ".join(sorted(job.registry_servers)) or "public images",
        fix="add `identity: create` to the stack's foundation and run `pulumi up`",
    )
