"""A run on a stack's Container Apps job: an execution with the requested image and arguments.

Imported when a run starts, because Azure's clients load slowly.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any

import requests
from azure.core.exceptions import AzureError as AzureCoreError

from azure_gpu.catalog import transient_errors
from azure_gpu.catalog.prices.price_book import Price
from azure_gpu.catalog.problems import Problem
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations import job_cost
from azure_gpu_operations.azure import Arm, AzureError, first_line
from azure_gpu_operations.exit_codes import FAILED, FAILED_RUN, TIMED_OUT
from azure_gpu_operations.job_client import Jobs
from azure_gpu_operations.jobs import Execution, Job, start_template
from azure_gpu_operations.run import carried
from azure_gpu_operations.run.carried import NO_FILES, RunFiles
from azure_gpu_operations.run.errors import RunError, WrongRunError
from azure_gpu_operations.run.on_job import find_job
from azure_gpu_operations.run.on_job.follow import STOPPING_SECONDS, End, follow
from azure_gpu_operations.run.on_job.lent_secrets import lent
from azure_gpu_operations.run.on_job.request import JobRequest
from azure_gpu_operations.run.protocol import Cost, Outcome, Output, Say
from azure_gpu_operations.run.stack_registry import of_stack
from azure_gpu_operations.run.target import Target
from azure_gpu_operations.stack_view import StackView


@contextmanager
def plan(view: StackView, name: str, request: JobRequest, output: Output) -> Iterator["JobRun"]:
    """Builds the image, and adds the secrets to the job while the block runs."""
    with closing(Arm(view.connection)) as arm:
        jobs = Jobs(arm)
        job = _job(jobs, view, name)
        for warning in find_job.check_end(view, name, job, datetime.now(UTC).date()):
            output.say(f"warning: {warning}")
        target = request.target
        files, client_id = request.files, partial(_client_id, job)
        with carried.carrying(arm, view.storage, target, request.arguments, files, client_id) as carrying:
            image = _image(arm, view, job, carrying.target, output.say)
            with lent(jobs, job, target.secrets) as references:
                template = start_template(
                    job,
                    image=image,
                    arguments=carrying.arguments,
                    environment=carrying.target.environment,
                    secret_refs=references,
                )
                yield JobRun(jobs, job, view.name, name, output, template=template, request=request, files=carrying.files)


def _client_id(job: Job) -> str:
    """Client id of the identity that transfers files; "" for a system-assigned one. WrongRunError without an identity."""
    identity = job.body.get("identity") or {}
    given = (identity.get("userAssignedIdentities") or {}).values()
    found = next((str(each.get("clientId") or "") for each in given), "")
    if not found and not identity.get("principalId"):
        fix = "add `identity: create` to the stack's foundation and run `pulumi up`"
        raise WrongRunError([Problem("--job", "the job has no identity to transfer files", job.name, fix=fix)])
    return found


class JobRun:
    """One execution. `execution`: its name, if it was started earlier."""

    def __init__(
        self,
        jobs: Jobs,
        job: Job,
        stack: str,
        place: str,
        output: Output,
        *,
        template: Mapping[str, Any] | None = None,
        request: JobRequest = JobRequest(),  # noqa: B008 - immutable
        files: RunFiles = NO_FILES,
        execution: str = "",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._jobs, self._job, self._stack, self._output = jobs, job, stack, output
        self._template, self._request, self._files, self._sleep = template, request, files, sleep
        self._price: Price | None = job_cost.hourly_price(job, jobs.profile_type(job))
        self._end = End(None)
        self._is_sent = bool(execution)
        self.place, self.name = place, execution

    @property
    def kept_as(self) -> str:
        return self._files.kept_as

    @property
    def can_be_left(self) -> bool:
        """Not with secrets, which the job has only while this command is running."""
        return not self._request.target.secrets

    def start(self) -> None:
        self._is_sent = True  # even after an error it may exist
        self.name = self._started()
        self._output.say(f"started {self._request.target.described} on job {self.place}: execution {self.name}")
        self._files.tell(self._output.say)

    def _started(self) -> str:
        """Starts it, with retries until the role for pulling the image works; returns its name."""
        tried = 0
        while True:
            try:
                return self._jobs.start(self._job, self._template)
            except AzureError as error:
                tried += 1
                passing = transient_errors.find(str(error))
                if passing is None or passing.is_over(tried):
                    raise
            if tried == 1:
                self._output.say(passing.message)
            self._sleep(transient_errors.pause(tried))

    def follow(self) -> Outcome:
        minutes = self._request.timeout_minutes
        limit = None if minutes is None else minutes * 60
        self._end = follow(
            self._jobs, self._job, self.name, self._output, limit_seconds=limit, at_limit=self._at_limit, sleep=self._sleep
        )
        if not self._end.in_time:
            is_over = self._end.execution is not None and self._end.execution.is_over
            return Outcome(TIMED_OUT, f"{'stopped' if is_over else 'told to stop'} after its timeout")
        outcome = self._outcome(self._end)
        self._files.end(self._output.say, self._stack)
        return outcome

    def _at_limit(self) -> Execution | None:
        minutes = self._request.timeout_minutes
        self._output.say(f"timeout of {minutes:g} minutes reached")
        self.stop()
        return self._end.execution

    def stop(self) -> bool:
        if not self._is_sent:
            return False
        if not self.name:  # the service may have started it without returning its name
            self._may_run(f"an execution of the job {self._job.name}", "")
            return False
        execution = f"the execution {self.name}"
        self._output.say(f"stopping {execution}")
        try:
            self._jobs.stop(self._job, self.name)
            found = self._jobs.wait_until_over(self._job, self.name, limit_seconds=STOPPING_SECONDS, sleep=self._sleep)
        except (KeyboardInterrupt, AzureError, AzureCoreError, requests.RequestException) as error:
            self._may_run(execution, f" ({first_line(error)})" if str(error) else "")
            return False
        self._end = self._end._replace(execution=found)
        if found is not None and not found.is_over:
            self._output.say(f"{execution} was told to stop but is {found.status}; see: {self._running}")
            return False
        self._output.say(f"{execution} is stopped")
        return True

    def cost(self) -> Cost:
        seconds = self._end.seconds
        words = job_cost.summary(seconds, self._price, datetime.now(UTC).date())
        return Cost(words, job_cost.cost(self._price, seconds), seconds)

    def settle(self) -> None:
        """Keeps the execution in the job's history, whose size the service limits."""
        if self._end.in_time and self._end.execution is not None and self._end.execution.exit_code != 0:
            self._output.say(f"why: {COMMAND} explain {self.place} --stack {self._stack}")

    @property
    def _running(self) -> str:
        return f"{COMMAND} running --stack {self._stack}"

    def _may_run(self, what: str, why: str) -> None:
        self._output.say(f"{what} may still be running and billed{why}; see: {self._running}")

    def _outcome(self, end: End) -> Outcome:
        execution = end.execution
        if execution is None:
            raise RunError(f"the execution {self.name} doesn't exist any more; it or its job was deleted outside the stack")
        if end.log_lines == 0:
            self._output.say("the service streamed no log; the container's output is in the stack's log workspace within minutes")
        return outcome_of(execution)


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
            return JobRun(jobs, job, view.name, place, output, execution=name)
    return None


def _job(jobs: Jobs, view: StackView, name: str) -> Job:
    job = jobs.get(view.jobs[name])
    if job is None:
        fix = f"run `pulumi refresh --stack {view.name}`, then `pulumi up` to create it again"
        raise WrongRunError([Problem("--job", "the job is in the stack's state but not in Azure", name, fix=fix)])
    return job


def _image(arm: Arm, view: StackView, job: Job, target: Target, say: Say) -> str:
    """The image of the execution; "" for the job's."""
    if target.context is None:
        return target.image
    registry = of_stack(arm, view)
    problems = find_job.check_pull(job, registry.server)
    if problems:
        raise WrongRunError(problems)
    return registry.build(target.context, say)
