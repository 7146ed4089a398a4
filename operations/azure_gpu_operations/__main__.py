"""`python -m operations`: the commands for people and CI beside `pulumi`.

`python -m operations COMMAND --help` has each command's options, examples and exit codes.
"""

import argparse
import os
import sys
from typing import Any

from azure_gpu.shared.installation import COMMAND, COMMAND_IN_A_CHECKOUT
from azure_gpu_operations import local_connection, terminal, verbs
from azure_gpu_operations.command_line import refuse
from azure_gpu_operations.errors import expected, told
from azure_gpu_operations.exit_codes import FAILED

_EXIT_CODES = """\
exit codes: 0 success, 1 something failed (reported in one line), 2 wrong command line. `run` and `logs` return the
program's own code, 2 if nothing was started, 124 after --timeout, 125 if the run itself failed, 130 after Ctrl-C.
`explain` returns 0 if it found no failure, 1 if it explained one, 3 if it can't explain one. `preview --drift` returns 3 if Azure
differs from the state, and so does `end --past` if an expired part remains."""


def main(arguments: list[str] | None = None) -> int:
    with terminal.guarded(os.environ):
        return _main(arguments)


def _main(arguments: list[str] | None) -> int:
    given, after = _split(sys.argv[1:] if arguments is None else arguments)
    if place := verbs.gone(given):
        return refuse(place)
    parser = _parser(next((word for word in given if not word.startswith("-")), ""))
    options, unknown = parser.parse_known_args(given, argparse.Namespace(after=after))
    if unknown:
        what = "; arguments of the script go after --" if options.command == "run" else ""
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{what}")
    try:
        local_connection.use(options)
        return options.run(options)
    except KeyboardInterrupt:
        print("interrupted; run the same command again to continue", file=sys.stderr)
        return FAILED
    except BrokenPipeError:  # the reader of the output, such as `head`, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python fails once more when it flushes
        return FAILED
    except Exception as error:
        if not isinstance(error, expected()):
            raise
        print(f"error: {told(error)}", file=sys.stderr)
        failed: int = getattr(options, "failure_code", FAILED)  # which a command may have set by its options
        return failed


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Splits off the arguments after `--`, which go to the program of `run`."""
    if "run" not in arguments[:1] or "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


class _Parser(argparse.ArgumentParser):
    """Shows the installed command's name in the help: docstrings use the name in a checkout."""

    def format_help(self) -> str:
        return super().format_help().replace(COMMAND_IN_A_CHECKOUT, COMMAND)


def _parser(requested: str) -> argparse.ArgumentParser:
    """`requested`: the command whose arguments are known, "" for none."""
    parser = _Parser(prog=COMMAND, description=__doc__, epilog=_EXIT_CODES, formatter_class=argparse.RawDescriptionHelpFormatter)

    def one(*, prog: str, **more: Any) -> argparse.ArgumentParser:
        """A parser of its own for the requested command alone: the others are listed, and making them takes long."""
        return _Parser(prog=prog, **more) if prog == f"{COMMAND} {requested}" else parser

    parser_class: Any = one
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=parser_class)
    verbs.add_all(commands, requested)
    return parser


if __name__ == "__main__":
    sys.exit(main())
