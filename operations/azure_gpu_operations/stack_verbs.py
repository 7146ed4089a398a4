"""`python -m operations up`, `preview` and `down`: deploy, preview and destroy a stack.

    up --stack S                       clean up after a killed run, reject the loss of data, run `pulumi up`, wait
    up --stack S --replace NAME        the same, and allow NAME, which holds data or serves traffic, to be replaced
    up --stack S --plan FILE           the same, and do exactly what the plan contains, or nothing
    preview --stack S                  clean up as `up` does, then run `pulumi preview --diff`
    preview --stack S --save-plan FILE the same, and write the plan for a later `up`
    preview --stack S --drift          list how Azure differs from the stack's state; change neither
    down --stack S                     run `pulumi destroy` and remove the stack; asks first, requires --yes off a terminal
    down --all --yes                   every stack of the backend, if all of them are on the embedded Azure

A plan holds the planned changes, with encrypted secrets, and the state they are for: `up --plan` rejects it after another update.

Changes that services make by themselves aren't drift: the number of nodes of an autoscaled pool, a stopped cluster. An endpoint
stopped by `stop` is listed but isn't drift.

Exit codes: 0 success, 1 something failed, 2 wrong command line, 3 --drift found differences, 4 the state has changed since the
plan was made.
"""

import argparse
import sys
from functools import partial
from pathlib import Path

from azure_gpu_operations import saved_plan, stack_options
from azure_gpu_operations.command_line import refuse
from azure_gpu_operations.exit_codes import STALE_PLAN
from azure_gpu_operations.guard import losses
from azure_gpu_operations.project import project
from azure_gpu_operations.stack import stack_names
from azure_gpu_operations.stack_options import stack_of

WAIT_MINUTES = 10.0

_say = partial(print, flush=True)  # in step with what `pulumi` writes to the same terminal


def add_up_arguments(parser: argparse.ArgumentParser) -> None:
    stack_options.add_stack(parser)
    text = f"how long to wait for container groups (default {WAIT_MINUTES:g})"
    parser.add_argument("--wait-minutes", type=float, default=WAIT_MINUTES, help=text)
    for option, does in ((losses.REPLACE, "replaced"), (losses.DELETE, "deleted")):
        text = f"allow NAME, which holds data or serves traffic, to be {does}; repeatable; such as foundation-storage"
        parser.add_argument(option, action="append", default=[], metavar="NAME", help=text)
    text = "a plan written by `preview --save-plan`; any other change is rejected"
    parser.add_argument("--plan", type=Path, metavar="FILE", help=text)
    parser.add_argument("--start-jobs", action="store_true", help="start each manual job once and show its log")
    parser.set_defaults(run=_up)


def add_preview_arguments(parser: argparse.ArgumentParser) -> None:
    stack_options.add_stack(parser)
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--save-plan", type=Path, metavar="FILE", help="write the plan to FILE, for `up --plan FILE`")
    shown.add_argument("--drift", action="store_true", help="list how Azure differs from the stack's state, and change nothing")
    text = "with --drift: count undeclared resources in the stack's resource groups as differences"
    parser.add_argument("--undeclared", action="store_true", help=text)
    parser.set_defaults(run=_preview)


def add_down_arguments(parser: argparse.ArgumentParser) -> None:
    stack_options.add_stack(parser, required=False)
    text = "remove objects on unreachable clusters, such as an edge that is off, from the state only"
    parser.add_argument("--forget-unreachable", action="store_true", help=text)
    parser.add_argument("--yes", action="store_true", help="skip the confirmation")
    text = "every stack of the backend, if all of them are on the embedded Azure; includes protected resources"
    parser.add_argument("--all", action="store_true", help=text)
    parser.set_defaults(run=_down)


def _up(options: argparse.Namespace) -> int:
    from azure_gpu_operations.commands import bring_up  # here: a wrong command line is rejected before Azure's clients are loaded
    from azure_gpu_operations.guard.update_check import UnknownNameError

    allowed = losses.Allowed(tuple(options.replace), tuple(options.delete))
    stack = stack_of(options)
    try:
        plan = saved_plan.read(options.plan, stack.name) if options.plan else None
        bring_up(stack, options.wait_minutes * 60, _say, start_jobs=options.start_jobs, allowed=allowed, plan=plan)
    except (UnknownNameError, saved_plan.PlanError) as error:
        return refuse(error)
    except saved_plan.StalePlanError as error:
        print(f"error: {error}", file=sys.stderr)
        return STALE_PLAN
    return 0


def _preview(options: argparse.Namespace) -> int:
    if options.drift:
        from azure_gpu_operations import drift

        return drift.show(stack_of(options), count_undeclared=options.undeclared)
    if options.undeclared:
        return refuse("--undeclared requires --drift")
    from azure_gpu_operations.commands import preview

    preview(stack_of(options), _say, options.save_plan)
    return 0


def _down(options: argparse.Namespace) -> int:
    if options.all == bool(options.stack):
        return refuse("down takes either --stack NAME or --all" if options.all else _which_stack())
    from azure_gpu_operations.commands import bring_down, mend_backend
    from azure_gpu_operations.guard import ending

    mend_backend(_say)  # before the first command, which reads every state
    there = stack_names(project().program)
    if options.stack and options.stack not in there:
        _say(f"stack {options.stack} doesn't exist")
        return 0
    stacks = [stack_of(options, name) for name in (there if options.all else [options.stack])]
    try:
        if options.all:
            ending.refuse_elsewhere(stacks)
        else:
            for stack in stacks:  # before the confirmation
                ending.refuse_protected(stack, stack.deployment())
        if stacks and not options.yes and not ending.confirmed(stacks):
            _say("nothing was destroyed")
            return 1
    except ending.WrongRequestError as error:
        return refuse(error)
    for stack in stacks:
        bring_down(stack, _say, forget_unreachable=options.forget_unreachable, let_go=options.all)
    return 0


def _which_stack() -> str:
    names = stack_names(project().program)
    return f"down takes --stack NAME; existing stacks: {', '.join(names) or 'none'}"
