"""`python -m operations logs NAME`: the log of an earlier run, or its files, from any machine.

    logs run-train-20261123-120000-ab12 --stack S     show its log from the beginning until it ends; returns its exit code
    logs run-train-20261123-120000-ab12 --into out --stack S    in place of that, download its output files (--output) to a folder

NAME is the name shown by `run`: an execution of a job, a Batch job, a Kubernetes Job, a run-command of a virtual machine, or a
job of a workspace. `running` lists current runs. Ctrl-C ends `logs` but not the run.

Exit codes: the program's, 125 if the run itself failed, 130 after Ctrl-C; with --into 0, or 1 if the run hasn't uploaded all its
files (the available ones are downloaded); 2 if the stack has no such run.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu_operations import stack_options
from azure_gpu_operations.command_line import refuse
from azure_gpu_operations.exit_codes import FAILED, FAILED_RUN, OK, WRONG_COMMAND_LINE
from azure_gpu_operations.run.protocol import Output, Run, on_screen
from azure_gpu_operations.stack_view import StackView, view

if TYPE_CHECKING:
    from azure_gpu_operations.azure import Arm


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=_run, failure_code=FAILED_RUN)
    parser.add_argument("name", metavar="NAME", help="the run's name, as shown by `run` and `running`")
    parser.add_argument("--stack", required=True, help="the stack's name")
    stack_options.add_config_folder(parser)
    text = "download its output files to this folder, in place of showing its log; created if it doesn't exist"
    parser.add_argument("--into", type=Path, metavar="FOLDER", help=text)


def _run(options: argparse.Namespace) -> int:
    from azure_gpu_operations.run.driving import follow

    if options.into is not None:
        options.failure_code = FAILED  # of this command, not of the run
        return _fetch(options)
    output = on_screen()
    with _found(options, output) as run:
        return WRONG_COMMAND_LINE if run is None else follow(run, output, options.stack).code


def stop(options: argparse.Namespace, others: str) -> int:
    """`operations stop` of a run; returns the exit code. `others`: names that it takes beside those of runs."""
    with _found(options, on_screen(), others) as run:
        if run is None:
            return WRONG_COMMAND_LINE
        return OK if run.stop() else FAILED


def _fetch(options: argparse.Namespace) -> int:
    from azure_gpu_operations.azure import Arm
    from azure_gpu_operations.batch.blobs import Blobs
    from azure_gpu_operations.run import carried
    from azure_gpu_operations.run.on_batch import run as on_batch

    stack = view(stack_options.stack_of(options))
    if not stack.storage:
        message = "the stack has no storage account for the files of runs"
        return refuse(Problem("--stack", message, stack.name, fix="add `storage: create` to the stack's foundation"))
    with closing(Arm(stack.connection)) as arm, closing(Blobs(arm, stack.storage)) as blobs:
        is_under_way = carried.is_under_way(blobs, options.name) or on_batch.is_under_way(arm, stack, options.name)
        count = carried.fetch(blobs, options.name, options.into.expanduser())
    if is_under_way:  # read before the download, so that no file can be missed
        print(
            f"error: the run {options.name} hasn't uploaded all its files: it is still running or was stopped early; "
            f"{carried.fetched(count, options.into)}",
            file=sys.stderr,
        )
        return FAILED
    if not count:
        fix = "`run` shows the name of a run's files; only files that match --output are kept"
        return refuse(Problem("NAME", "no files are stored under this name", options.name, fix=fix, code=Code.NOT_FOUND))
    print(carried.fetched(count, options.into))
    return OK


def is_there(stack: StackView, options: argparse.Namespace) -> bool:
    """Whether the stack has a run of this name."""
    from azure_gpu_operations.azure import Arm

    with closing(Arm(stack.connection)) as arm:
        return _find(arm, stack, options, on_screen()) is not None


@contextmanager
def _found(options: argparse.Namespace, output: Output, others: str = "") -> Iterator[Run | None]:
    """The run of this name; None after printing the problem if the stack has none."""
    from azure_gpu_operations.azure import Arm

    stack = view(stack_options.stack_of(options))
    with closing(Arm(stack.connection)) as arm:
        run = _find(arm, stack, options, output)
        if run is None:
            fix = "list current runs with `running`; a successful run is removed from its pool or cluster when it ends"
            message, allowed = f"the stack {stack.name} has no run of this name", f"a run, {others}" if others else ""
            refuse(Problem("NAME", message, options.name, allowed, fix, code=Code.NOT_FOUND))
        yield run


def _find(arm: "Arm", stack: StackView, options: argparse.Namespace, output: Output) -> Run | None:
    """Searches all services of the stack, the fastest first."""
    from azure_gpu_operations.clusters import targets
    from azure_gpu_operations.run.on_batch import run as on_batch
    from azure_gpu_operations.run.on_cluster import run as on_cluster
    from azure_gpu_operations.run.on_job import run as on_job
    from azure_gpu_operations.run.on_ml_cluster import run as on_ml_cluster
    from azure_gpu_operations.run.on_vm import run as on_vm

    name = str(options.name)
    return (
        on_job.find(arm, stack, name, output)
        or on_batch.find(arm, stack, name, output)
        or on_ml_cluster.find(arm, stack, name, output)
        or on_vm.find(arm, stack, name, output)
        or on_cluster.find(arm, stack, targets.all_of(stack, stack_options.file_of(options)), name, output)
    )
