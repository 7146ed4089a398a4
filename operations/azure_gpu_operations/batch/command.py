"""Pushes an application package to a stack's Batch account, which nodes get by `packages` of their pool.

    upload package ./driver --application GPUDriver --version 411.82 --stack S    a folder, or a file

Exit codes: 0 success, 1 something failed, 2 wrong command line.
"""

import argparse
from contextlib import closing
from functools import partial
from pathlib import Path

from azure_gpu.catalog.problems import Problem
from azure_gpu_operations import stack_options
from azure_gpu_operations.command_line import refuse
from azure_gpu_operations.stack import EngineError
from azure_gpu_operations.stack_view import StackView, view


def add_arguments(push: argparse.ArgumentParser) -> None:
    push.set_defaults(run=_push)
    push.add_argument(
        "content", metavar="FOLDER|FILE", type=Path, help="content of the package; a .zip file is uploaded as it is"
    )
    push.add_argument("--application", required=True, metavar="APPID", help="the application's id, such as GPUDriver")
    push.add_argument("--version", required=True, metavar="V", help="the package's version, such as 411.82")
    push.add_argument("--default", action="store_true", help="make it the application's default version")
    push.add_argument("--stack", required=True, help="the stack's name")
    stack_options.add_config_folder(push)


def _push(options: argparse.Namespace) -> int:
    from azure_gpu_operations.batch import packing

    content, problems = packing.read(options.content, options.application, options.version)
    found = _view(options)
    if isinstance(found, Problem):
        problems.append(found)
    elif not found.batch_account:
        fix = "add `batch_account: create` to its file and run `pulumi up`"
        problems.append(Problem("--stack", "the stack has no Batch account", value=found.name, fix=fix))
    if problems or content is None or isinstance(found, Problem):
        return refuse(*problems)

    from azure_gpu_operations.azure import Arm  # here, because Azure's clients load slowly
    from azure_gpu_operations.batch.packages import Packages, RefusedError

    with closing(Arm(found.connection)) as arm:
        try:
            Packages(arm.login, found.batch_account).push(
                options.application, options.version, content, _say, make_default=options.default
            )
        except RefusedError as error:
            return refuse(error.problem)
    for line in packing.how_to_use(options.application, options.version):
        _say(line)
    return 0


def _view(options: argparse.Namespace) -> StackView | Problem:
    try:
        return view(stack_options.stack_of(options))
    except EngineError as error:
        return Problem("--stack", str(error))


_say = partial(print, flush=True)
