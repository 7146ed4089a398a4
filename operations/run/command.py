"""`python -m operations run`: runs a script, a workload or an image on a stack's GPU job, as if it ran here.

    run ./train.py --requirements requirements.txt --on job --stack S -- --epochs 3    a script, which is the normal case
    run mnist --on job --stack S -- --steps 1000                                       a workload of this repository
    run docker.io/library/python:3.11-slim --on job --stack S -- python -c "print(1)"  an image that Azure can pull
    run --on job --stack S                                                             the job's own image

A script is put into an image together with its requirements, a workload or a folder with a Dockerfile is sent whole; the stack's
registry builds it, once for each content. What it writes comes to standard output while it runs. Minutes and cost come to
standard error at its end. Ctrl-C stops it, in Azure too.

Exit codes: that of the container; 2 the command line is wrong, or the stack can't take it: nothing was started; 124 it took
longer than --timeout and was stopped; 125 the run failed and not what it ran, such as an image that can't be built; 130 stopped
by Ctrl-C. A container may end with these codes too: the last lines on standard error say which it was.
"""

import argparse
import logging
import os
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from catalog.problems import Problem
from operations.run import find_job
from operations.run.target import Asked, resolve
from operations.stack import EngineError, Stack
from operations.stack_view import StackView, view

PROJECT_FOLDER = Path(__file__).resolve().parents[2]
WRONG_COMMAND_LINE = 2
FAILED_RUN = 125
INTERRUPTED = 130  # as a shell has it for Ctrl-C
TARGETS = ("job",)


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "run",
        help="run a script, a workload or an image on the stack's GPU job",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="python -m operations run [TARGET] --on job --stack STACK [options] [-- ARGUMENT ...]",
    )
    parser.set_defaults(run=run, failure_code=FAILED_RUN)
    parser.add_argument("target", nargs="?", metavar="TARGET", help="a script, a workload, a folder, or an image")
    parser.add_argument("--on", choices=TARGETS, required=True, help="where it runs: job is the stack's Container Apps job")
    parser.add_argument("--stack", required=True, help="the stack's name")
    parser.add_argument("--job", help="which of the stack's jobs (default: its only one)")
    parser.add_argument("--config-folder", type=Path, help="where Pulumi.<stack>.yaml lies (default: the project's own folder)")
    parser.add_argument("--requirements", metavar="FILE", help="what pip installs for the script")
    parser.add_argument("--base", metavar="IMAGE", help="the image that the script's is made from, with Python in it")
    parser.add_argument("--env", action="append", default=[], metavar="KEY=VALUE", help="a variable; may be repeated")
    parser.add_argument(
        "--secret-env",
        action="append",
        default=[],
        metavar="KEY",
        help="a variable whose value is taken from the environment here",
    )
    parser.add_argument("--timeout", type=float, metavar="MINUTES", help="stop it after so long (the job's own limit holds too)")
    parser.add_argument("--detach", action="store_true", help="start it and leave it running")


def run(options: argparse.Namespace) -> int:
    before = signal.signal(signal.SIGTERM, _interrupt)  # who ends us from outside means what runs in Azure too
    try:
        return _run(options)
    except KeyboardInterrupt:  # before there was an execution to stop
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(options: argparse.Namespace) -> int:
    asked = Asked(
        options.target or "",
        options.requirements or "",
        options.base or "",
        tuple(options.env),
        tuple(options.secret_env),
        options.timeout,
    )
    target, problems = resolve(asked, PROJECT_FOLDER, os.environ)
    problems += _empty(options)
    problems += _detached(options)
    found, more = _view(options)
    problems += more
    name = ""
    if found is not None:
        name, more = find_job.choose(found, options.job or "")
        problems += [*more, *find_job.check(found, builds=target.context is not None)]
    if problems or found is None:
        return _refused(problems)

    from operations.run import session  # here, because Azure's clients take seconds to load

    logging.getLogger("azure.identity").setLevel(logging.ERROR)  # what is wrong with a sign-in is said in a line
    try:
        return session.run(
            found,
            name,
            target,
            options.after,
            timeout_minutes=options.timeout,
            detach=options.detach,
            show=partial(print, flush=True),
            say=session.say_on_stderr,
        )
    except session.WrongRunError as error:
        return _refused(error.problems)


def _view(options: argparse.Namespace) -> tuple[StackView | None, list[Problem]]:
    folder: Path | None = options.config_folder
    stack = Stack(PROJECT_FOLDER, options.stack, folder.resolve() / f"Pulumi.{options.stack}.yaml" if folder else None)
    try:
        return view(stack), []
    except EngineError as error:
        return None, [Problem("--stack", str(error))]


def _empty(options: argparse.Namespace) -> list[Problem]:
    """A word without a letter, as an unset variable of a shell leaves it. Taken for nothing it would start something else."""
    words = {"TARGET": options.target, "--job": options.job, "--requirements": options.requirements, "--base": options.base}
    fix = "say which, or leave it out"
    return [
        Problem(path, "it is empty", value=word, fix=fix) for path, word in words.items() if word is not None and not word.strip()
    ]


def _detached(options: argparse.Namespace) -> list[Problem]:
    if not options.detach:
        return []
    problems: list[Problem] = []
    if options.secret_env:
        fix = "leave out one of the two, or give the job `secret_environment` in the stack's file"
        problems.append(Problem("--detach", "the job holds a --secret-env only as long as this command waits", fix=fix))
    if options.timeout is not None:
        fix = "leave out one of the two; `timeout_minutes` of the job in the stack's file holds for every run"
        problems.append(Problem("--detach", "nobody is left to stop it after --timeout", value=options.timeout, fix=fix))
    return problems


def _refused(problems: Sequence[Problem]) -> int:
    heading = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    print(f"error: {heading}, nothing was started:", file=sys.stderr)
    for problem in problems:
        print(f"  - {problem}", file=sys.stderr)
    return WRONG_COMMAND_LINE


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt
