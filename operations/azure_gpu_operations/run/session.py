"""A run on a stack's job, from what is asked for to the exit code: builds where it must, starts, follows, sums up.

In: a stack's view, the job's name in it, a `Target`. Out: an exit code; the log on standard output, everything else on standard
error. Loaded when a run begins: Azure's clients take longer to load than a command line to be refused.
"""

import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime

from azure_gpu.catalog.prices.price_book import Price
from azure_gpu.catalog.problems import Problem
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations import job_cost
from azure_gpu_operations.azure import Arm
from azure_gpu_operations.job_client import Jobs
from azure_gpu_operations.jobs import FAILED, Job, start_template
from azure_gpu_operations.run import execution as executions, find_job
from azure_gpu_operations.run.command import FAILED_RUN, INTERRUPTED, TIMED_OUT
from azure_gpu_operations.run.errors import RunError, WrongRunError
from azure_gpu_operations.run.execution import End, follow
from azure_gpu_operations.run.lent_secrets import lent
from azure_gpu_operations.run.stack_registry import of_stack
from azure_gpu_operations.run.target import Target
from azure_gpu_operations.stack_view import StackView

Say = Callable[[str], None]


def run(
    view: StackView,
    name: str,
    target: Target,
    arguments: list[str],
    *,
    timeout_minutes: float | None,
    detach: bool,
    show: Say,
    say: Say,
) -> int:
    """The exit code of what ran."""
    with closing(Arm(view.connection)) as arm:
        jobs = Jobs(arm)
        job = _job(jobs, view, name)
        for warning in find_job.check_end(view, name, job, datetime.now(UTC).date()):
            say(f"warning: {warning}")
        image = _image(arm, view, job, target, say)
        with lent(jobs, job, target.secrets) as references:
            template = start_template(
                job, image=image, arguments=arguments, environment=target.environment, secret_refs=references
            )
            price = job_cost.hourly_price(job, jobs.profile_type(job))
            try:
                execution = jobs.start(job, template)
            except KeyboardInterrupt:  # the service may have it already, and hasn't told its name
                say(
                    f"interrupted: an execution of the job {job.name} may run and cost; "
                    f"see: {COMMAND} running --stack {view.name}"
                )
                return INTERRUPTED
            say(f"started {target.described} on job {name}: execution {execution}")
            if detach:
                say(f"it runs on; what became of it: {COMMAND} explain {name} --stack {view.name}")
                return 0
            limit = None if timeout_minutes is None else timeout_minutes * 60
            end = follow(jobs, job, execution, show=show, say=say, limit_seconds=limit)
        return sum_up(view, name, execution, end, price, say)


def run_own_image(jobs: Jobs, job: Job, name: str, *, show: Say, say: Say) -> tuple[End, Price | None]:
    """Starts a job as it is and follows it to its end."""
    price = job_cost.hourly_price(job, jobs.profile_type(job))
    execution = jobs.start(job, None)
    say(f"{name}: started execution {execution}")
    return follow(jobs, job, execution, show=show, say=say), price


def sum_up(view: StackView, name: str, execution: str, end: End, price: Price | None, say: Say) -> int:
    """Says how it ended, how long it took and what it cost. The exit code."""
    cost = job_cost.summary(end.seconds, price, datetime.now(UTC).date())
    if end.stopped == executions.INTERRUPTED:
        over = end.execution is not None and end.execution.is_over
        say(f"{name}: {'stopped' if over else 'left'} at your word; {cost}")
        return INTERRUPTED
    if end.stopped == executions.TIMEOUT and not (end.execution and end.execution.is_over):
        say(f"{name}: its time is over, and nothing says that it has stopped; {cost}")
        return TIMED_OUT
    if end.execution is None:
        raise RunError(f"the execution {execution} isn't there any more: somebody has deleted it, or the job")
    if end.execution.is_over and end.log_lines == 0:
        say("the service streamed no line of log; what the container wrote is in the stack's log workspace within minutes")
    if end.stopped == executions.TIMEOUT:
        say(f"{name}: stopped when its time was over; {cost}")
        return TIMED_OUT
    code = end.execution.exit_code
    if end.execution.status == "Stopped":
        say(f"{name}: somebody stopped it; {cost}")
        return FAILED_RUN
    told = f"exit code {code}" if code is not None else "the service tells no exit code"
    say(f"{name}: {end.execution.status}, {told}; {cost}")
    if code != 0:
        say(f"why: {COMMAND} explain {name} --stack {view.name}")
    return FAILED if code is None else code


def _job(jobs: Jobs, view: StackView, name: str) -> Job:
    job = jobs.get(view.jobs[name])
    if job is None:
        fix = f"run `pulumi up --stack {view.name}`, which makes it again after `pulumi refresh`"
        raise WrongRunError([Problem("--job", "the stack has this job and Azure hasn't: somebody has deleted it", name, fix=fix)])
    return job


def _image(arm: Arm, view: StackView, job: Job, target: Target, say: Say) -> str:
    """The image that the execution gets; "" for the job's own."""
    if target.context is None:
        return target.image
    registry = of_stack(arm, view)
    problems = find_job.check_pull(job, registry.server)
    if problems:
        raise WrongRunError(problems)
    return registry.build(target.context, say)


def say_on_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
