"""The request of a run on a stack's Container Apps job. Pure."""

import argparse
from typing import NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu_operations.run.carried import Files
from azure_gpu_operations.run.target import Target
from azure_gpu_operations.stack_view import StackView


class JobRequest(NamedTuple):
    """The request of a run on a job. The default runs the job as declared."""

    target: Target = Target()
    arguments: tuple[str, ...] = ()
    timeout_minutes: float | None = None
    files: Files = Files()


def resolve(options: argparse.Namespace, target: Target, _: StackView | None) -> tuple[JobRequest, list[Problem]]:
    return JobRequest(target, tuple(options.after), options.timeout), []
