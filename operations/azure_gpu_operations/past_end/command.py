"""`python -m operations end --past [--stack S] [--yes]`: what lies past its end, listed or taken down.

    end --past                       lists it, in every stack of the backend that is of this project; nothing is changed
    end --past --stack S             in one stack
    end --past --yes                 takes it down
    end --past --as-of 2026-12-31    judged by the beginning of that day in UTC, and not by now
    end --past --json                one JSON object on standard output

A part is past its end when its tag `expires-at` is, which its `expires_after` gave it. The engine deletes what belongs to the
part, and nothing else. What is protected stays and is listed with the reason: what `pulumi` protects, what holds data, what a
management lock of Azure keeps, what another part depends on. The stack file isn't changed: the next `up` says that the part was
taken down, and brings it back only by a later `expires_after`. A stack whose every part is past goes as a whole where
`protect_data: false` makes it a short-lived one, and nothing in it is protected, locked or made by others; of any other one
`down` takes the rest.

On a terminal it asks; elsewhere only --yes takes anything down.

Exit codes: 0 nothing is past its end, or all of it was taken down; 1 something failed; 2 the command line is wrong; 3 something
past its end is still there.
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
    parser.add_argument("--past", action="store_true", required=True, help="what lies past its end")
    parser.add_argument("--stack", help="one stack (default: every stack of the backend that is of this project)")
    stack_options.add_config_folder(parser)
    parser.add_argument("--yes", action="store_true", help="take it down, and don't ask")
    parser.add_argument("--as-of", type=day, metavar="DAY", help="the day at which ends are judged, YYYY-MM-DD (default: now)")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from azure_gpu_operations.commands import mend_backend  # here: Azure's clients take longer to load than a wrong command line
    from azure_gpu_operations.past_end import taking
    from azure_gpu_operations.past_end.report import as_json, exit_code, lines

    say = partial(print, flush=True, file=sys.stderr if options.json else sys.stdout)
    now = datetime.combine(options.as_of, time(), UTC) if options.as_of else datetime.now(UTC)
    if options.yes:
        mend_backend(say)  # before the first command, which reads every state
    there = stack_names(project().program)
    if options.stack and options.stack not in there:
        known = ", ".join(there) or "none"
        return refuse(Problem("--stack", "there is no such stack", options.stack, allowed=known, code=Code.NOT_FOUND))
    stacks: list[Stack] = [stack_of(options, name) for name in ([options.stack] if options.stack else there)]
    if options.yes:
        found = [taking.taken_down(stack, now, say, quiet=options.json) for stack in stacks]
    else:
        found = [taking.listed(stack, now) for stack in stacks]
        if not options.json and any(each.judged.going for each in found) and sys.stdin is not None and sys.stdin.isatty():
            for line in lines(found, now):
                say(line)
            if not _asked():
                say("nothing was taken down")
                return exit_code(found)
            mend_backend(say)
            found = [taking.taken_down(stack, now, say, quiet=False) for stack in stacks]
    if options.json:
        print(json.dumps(as_json(found, now), indent=2))
    else:
        for line in lines(found, now):
            say(line)
    return exit_code(found)


def _asked() -> bool:
    print("take down what doesn't stay? Type yes to go on: ", end="", flush=True)
    try:
        return input().strip() == "yes"
    except EOFError:
        return False
