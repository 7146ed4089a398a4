"""`python -m operations logs NAME` and `fetch NAME`: runs that were started before, by anybody, from any machine.

    logs run-train-20261123-120000-ab12 --stack S     its log from the beginning, and on until it ends; its exit code is ours
    fetch run-train-20261123-120000-ab12 --into out --stack S    what it left, by --output, into a folder

NAME is what `run` calls it: an execution of a job, a Batch job, a Kubernetes Job, a run-command of a machine, a job of a
workspace. `running` lists what runs now. Ctrl-C ends `logs` and not the run.

Exit codes: of `logs` that of the program, 125 where the run failed and not what it ran, 130 after Ctrl-C; of `fetch` 0, 1 where
the run hasn't uploaded everything, and what is there is fetched; 2 where the stack has no such run.
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
from azure_gpu_operations.run.command import on_screen
from azure_gpu_operations.run.protocol import Output, Run
from azure_gpu_operations.stack_view import StackView, view

if TYPE_CHECKING:
    from azure_gpu_operations.azure import Arm


def add_logs_arguments(parser: argparse.ArgumentParser) -> None:
    _add(parser)
    parser.set_defaults(run=_logs, failure_code=FAILED_RUN)


def add_fetch_arguments(parser: argparse.ArgumentParser) -> None:
    _add(parser)
    parser.add_argument("--into", type=Path, required=True, metavar="FOLDER", help="where files go; made where it isn't there")
    parser.set_defaults(run=_fetch)


def _add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="as `run` and `running` call it")
    parser.add_argument("--stack", required=True, help="the stack's name")
    stack_options.add_config_folder(parser)


def _logs(options: argparse.Namespace) -> int:
    from azure_gpu_operations.run.driving import follow

    output = on_screen()
    with _found(options, output) as run:
        return WRONG_COMMAND_LINE if run is None else follow(run, output, options.stack).code


def stop(options: argparse.Namespace) -> int:
    """Ends the run that the options name, as `operations stop` does; the exit code."""
    with _found(options, on_screen()) as run:
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
        message = "the stack has no storage account, in which runs keep files"
        return refuse(Problem("--stack", message, stack.name, fix="add `storage: create` to the stack's foundation"))
    with closing(Arm(stack.connection)) as arm, closing(Blobs(arm, stack.storage)) as blobs:
        is_under_way = carried.is_under_way(blobs, options.name) or on_batch.is_under_way(arm, stack, options.name)
        count = carried.fetch(blobs, options.name, options.into.expanduser())
    if is_under_way:  # asked first: what was uploaded in between is one file too many, and none too few
        print(
            f"error: the run {options.name} hasn't uploaded all that it leaves: it still runs, or was ended before; "
            f"{carried.fetched(count, options.into)}",
            file=sys.stderr,
        )
        return FAILED
    if not count:
        fix = "`run` says under which name a run's files lie; only what --output names is kept"
        return refuse(Problem("NAME", "no file of such a run is kept", options.name, fix=fix, code=Code.NOT_FOUND))
    print(carried.fetched(count, options.into))
    return OK


def is_there(stack: StackView, options: argparse.Namespace) -> bool:
    """Whether the stack has a run with the name that the options give."""
    from azure_gpu_operations.azure import Arm

    with closing(Arm(stack.connection)) as arm:
        return _find(arm, stack, options, on_screen()) is not None


@contextmanager
def _found(options: argparse.Namespace, output: Output) -> Iterator[Run | None]:
    """The run with this name. None if the stack has none; the problem is printed."""
    from azure_gpu_operations.azure import Arm

    stack = view(stack_options.stack_of(options))
    with closing(Arm(stack.connection)) as arm:
        run = _find(arm, stack, options, output)
        if run is None:
            fix = "`running` lists what runs; a run that went well is removed from its pool or cluster when it ends"
            refuse(Problem("NAME", f"the stack {stack.name} has no such run", options.name, fix=fix, code=Code.NOT_FOUND))
        yield run


def _find(arm: "Arm", stack: StackView, options: argparse.Namespace, output: Output) -> Run | None:
    """In every place that the stack has, those first that are asked most quickly."""
    from azure_gpu_operations.clusters import places
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
        or on_cluster.find(arm, stack, places.all_of(stack, stack_options.file_of(options)), name, output)
    )
