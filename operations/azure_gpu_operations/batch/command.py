"""`python -m operations drain POOL` and `python -m operations package push`: maintenance of a stack's Batch pools.

    drain train --stack S                                                       remove a pool's nodes when their tasks have ended
    package push ./driver --application GPUDriver --version 411.82 --stack S    push a folder or a file as an application package

A drained pool has no nodes until `pulumi up --refresh` restores the configuration of the stack's file.

Exit codes: 0 success, 1 something failed or the pool still has nodes, 2 wrong command line.
"""

import argparse
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from azure_gpu.catalog.problems import Problem
from azure_gpu_operations import one_part, stack_options
from azure_gpu_operations.command_line import refuse
from azure_gpu_operations.stack import EngineError
from azure_gpu_operations.stack_view import StackView, view

WAIT_MINUTES = 60.0


def add_package_arguments(parser: argparse.ArgumentParser) -> None:
    packages = parser.add_subparsers(dest="what", required=True)
    push = packages.add_parser(
        "push",
        help="zip, upload and activate an application package",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    push.set_defaults(run=_push)
    push.add_argument(
        "content", metavar="FOLDER|FILE", type=Path, help="content of the package; a .zip file is uploaded as it is"
    )
    push.add_argument("--application", required=True, metavar="APPID", help="the application's id, such as GPUDriver")
    push.add_argument("--version", required=True, metavar="V", help="the package's version, such as 411.82")
    push.add_argument("--default", action="store_true", help="make it the application's default version")
    _stack_options(push)


def add_drain_arguments(drain: argparse.ArgumentParser) -> None:
    drain.set_defaults(run=_drain)
    drain.add_argument("pool", metavar="POOL", help="the pool's name in the stack")
    drain.add_argument(
        "--wait-minutes", type=float, default=WAIT_MINUTES, help=f"how long to wait for running tasks (default {WAIT_MINUTES:g})"
    )
    _stack_options(drain)


def _stack_options(parser: Any) -> None:
    parser.add_argument("--stack", required=True, help="the stack's name")
    stack_options.add_config_folder(parser)


def _drain(options: argparse.Namespace) -> int:
    found = _view(options)
    if isinstance(found, Problem):
        return refuse(found)
    name, problems = one_part.choose(one_part.POOL, found, options.pool, stack_options.file_of(options), "POOL")
    if problems:
        return refuse(*problems)

    from azure_gpu_operations.azure import Arm  # here, because Azure's clients load slowly
    from azure_gpu_operations.batch.account import BatchAccount, batch_account_of
    from azure_gpu_operations.batch.drain import drain

    pool_id = found.pools[name]
    with closing(Arm(found.connection)) as arm, closing(BatchAccount(arm, batch_account_of(pool_id))) as account:
        done = drain(account, pool_id.rsplit("/", 1)[-1], name, _say, limit_seconds=options.wait_minutes * 60)
    _say(f"to get nodes again: pulumi up --refresh --stack {found.name}")
    return 0 if done else 1


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

    from azure_gpu_operations.azure import Arm  # here, as in `_drain`
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
