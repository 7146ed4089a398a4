"""`up --start-jobs`: runs each manually triggered job of a stack once, one after the other."""

from contextlib import closing
from functools import partial

from azure_gpu_operations.azure import Arm
from azure_gpu_operations.exit_codes import INTERRUPTED
from azure_gpu_operations.job_client import Jobs
from azure_gpu_operations.run.driving import drive
from azure_gpu_operations.run.on_job.request import JobRequest
from azure_gpu_operations.run.on_job.run import plan
from azure_gpu_operations.run.protocol import Output, Say
from azure_gpu_operations.stack_view import StackView


def run_each(view: StackView, say: Say) -> list[str]:
    """The failed jobs. KeyboardInterrupt, with the execution stopped, on Ctrl-C."""
    failed: list[str] = []
    output = Output(show=partial(_indented, say), show_error=partial(_indented, say), say=say)
    names = _manual(view, say, failed)
    for name in names:
        driven = drive(partial(plan, view, name, JobRequest()), output, view.name)
        if driven.code == INTERRUPTED:
            raise KeyboardInterrupt
        if driven.code:
            failed.append(f"{name} (exit code {driven.code})")
    if not names:
        say("no job was started")
    return failed


def _manual(view: StackView, say: Say, failed: list[str]) -> list[str]:
    """Those that are started by hand. One that isn't there has failed."""
    names: list[str] = []
    with closing(Arm(view.connection)) as arm:
        jobs = Jobs(arm)
        for name, job_id in view.jobs.items():
            job = jobs.get(job_id)
            if job is None:
                failed.append(f"{name} (Missing)")
            elif job.is_manual:
                names.append(name)
            else:
                say(f"{name}: not started, its trigger is {job.configuration.get('triggerType')}")
    return names


def _indented(say: Say, line: str) -> None:
    say(f"    {line}")
