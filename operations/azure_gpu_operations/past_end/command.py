"""`python -m operations end --past [--stack S] [--yes]`: list or destroy the expired parts of stacks.

    end --past                       list them, in every stack of this project in the backend; changes nothing
    end --past --stack S             in one stack
    end --past --yes                 destroy them
    end --past --as-of 2026-12-31    judge by the beginning of that day in UTC instead of now
    end --past --json                one JSON object on standard output

A part has expired when its tag `expires-at`, set by its `expires_after`, is past. Only the part's own resources are deleted.
Protected parts stay and are listed with the reason: protected by `pulumi`, holds data, locked in Azure, or needed by another
part. The stack file isn't changed: the next `up` reports the destroyed part and creates it again only with a later
`expires_after`. If every part of a stack has expired, the whole stack is destroyed, provided that it is short-lived
(`protect_data: false`) and contains nothing protected, locked or created by others; use `down` for other stacks.

On a terminal it asks for confirmation; elsewhere it destroys only with --yes.

Exit codes: 0 nothing has expired, or all of it was destroyed; 1 something failed; 2 wrong command line; 3 an expired part
remains.
"""

import argparse
import json
import sys
from datetime import UTC, datetime, time
from functools import partial

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu_operations import stack_options
from azure_gpu_operations.command_line import day, refuse
from azure_gpu_operations.project import project
from azure_gpu_operations.stack import Stack, stack_names
from azure_gpu_operations.stack_options import stack_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--past", action="store_true", required=True, help="expired parts")
    stack_options.add_stack(parser, "one stack (default: every stack of this project in the backend)", required=False)
    parser.add_argument("--yes", action="store_true", help="destroy them without confirmation")
    parser.add_argument("--as-of", type=day, metavar="DAY", help="judge expiry by this day, YYYY-MM-DD (default: now)")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from azure_gpu_operations.commands import mend_backend  # here: Azure's clients load slowly
    from azure_gpu_operations.past_end import taking
    from azure_gpu_operations.past_end.report import as_json, exit_code, lines

    say = partial(print, flush=True, file=sys.stderr if options.json else sys.stdout)
    now = datetime.combine(options.as_of, time(), UTC) if options.as_of else datetime.now(UTC)
    if options.yes:
        mend_backend(say)  # before the first command, which reads every state
    there = stack_names(project().program)
    if options.stack and options.stack not in there:
        known = ", ".join(there) or "none"
        return refuse(Problem("--stack", "stack not found", options.stack, allowed=known, code=Code.NOT_FOUND))
    stacks: list[Stack] = [stack_of(options, name) for name in ([options.stack] if options.stack else there)]
    if options.yes:
        found = [taking.taken_down(stack, now, say, quiet=options.json) for stack in stacks]
    else:
        found = [taking.listed(stack, now) for stack in stacks]
        if not options.json and any(each.judged.going for each in found) and sys.stdin is not None and sys.stdin.isatty():
            for line in lines(found, now):
                say(line)
            if not _confirmed():
                say("nothing was destroyed")
                return exit_code(found)
            mend_backend(say)
            found = [taking.taken_down(stack, now, say, quiet=False) for stack in stacks]
    if options.json:
        print(json.dumps(as_json(found, now), indent=2))
    else:
        for line in lines(found, now):
            say(line)
    return exit_code(found)


def _confirmed() -> bool:
    print("destroy the parts that aren't kept? Type yes to continue: ", end="", flush=True)
    try:
        return input().strip() == "yes"
    except EOFError:
        return False
