"""`up --start-jobs`: each job of a stack that is started by hand runs once with its own image, one after the other.

In: a stack's view and `say`. Out: their logs and how each ended on the screen; which of them failed, as people read it.
"""

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from functools import partial

from azure_gpu_operations import job_cost
from azure_gpu_operations.azure import Arm
from azure_gpu_operations.job_client import Jobs
from azure_gpu_operations.run import execution as executions
from azure_gpu_operations.run.execution import End
from azure_gpu_operations.run.session import run_own_image
from azure_gpu_operations.stack_view import StackView

Say = Callable[[str], None]


def run_each(view: StackView, say: Say) -> list[str]:
    """Which jobs didn't end well. KeyboardInterrupt, with the execution stopped, where somebody has enough."""
    rows: list[str] = []
    failed: list[str] = []
    with closing(Arm(view.connection)) as arm:
        jobs = Jobs(arm)
        for name, job_id in view.jobs.items():
            job = jobs.get(job_id)
            if job is None:
                failed.append(f"{name} (Missing)")
                continue
            if not job.is_manual:
                say(f"{name}: not started, its trigger is {job.configuration.get('triggerType')}")
                continue
            end, price = run_own_image(jobs, job, name, show=partial(_indented, say), say=say)
            state, code = _state(end)
            rows.append(f"{name}: {state}, exit code {code}, {job_cost.summary(end.seconds, price, datetime.now(UTC).date())}")
            if end.stopped == executions.INTERRUPTED:
                raise KeyboardInterrupt
            if code != "0":
                failed.append(f"{name} ({state})")
    say("\n".join(rows) or "no job was started")
    return failed


def _indented(say: Say, line: str) -> None:
    say(f"    {line}")


def _state(end: End) -> tuple[str, str]:
    if end.execution is None:
        return "Missing", "not known"
    code = end.execution.exit_code
    return end.execution.status, "not known" if code is None else str(code)
