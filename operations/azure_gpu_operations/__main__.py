"""`python -m operations`: what people and CI do beside `pulumi`.

`python -m operations COMMAND --help` has each command's options, examples and exit codes.
"""

import argparse
import os
import sys

from azure_gpu.shared.installation import COMMAND, COMMAND_IN_A_CHECKOUT
from azure_gpu_operations import local_connection, terminal, verbs
from azure_gpu_operations.errors import expected
from azure_gpu_operations.exit_codes import FAILED

_EXIT_CODES = """\
exit codes: 0 all went well, 1 something failed (told in one line), 2 the command line is wrong. `run` and `logs` have the
program's own, 2 where nothing was started, 124 after --timeout, 125 where the run failed and not what it ran, 130 after Ctrl-C.
`explain` has 0 where it found no failure, 1 where it explained one, 3 where it can't explain one. `drift` has 3 where Azure
differs from the state, `end --past` where something past its end is left."""


def main(arguments: list[str] | None = None) -> int:
    with terminal.guarded(os.environ):
        return _main(arguments)


def _main(arguments: list[str] | None) -> int:
    given, after = _split(sys.argv[1:] if arguments is None else arguments)
    parser = _parser(next((word for word in given if not word.startswith("-")), ""))
    options, unknown = parser.parse_known_args(given, argparse.Namespace(after=after))
    if unknown:
        what = "; what the script is to be given stands behind --" if options.command == "run" else ""
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{what}")
    failed: int = getattr(options, "failure_code", FAILED)
    try:
        local_connection.use(options)
        return options.run(options)
    except KeyboardInterrupt:
        print("interrupted; run the same command again to go on", file=sys.stderr)
        return FAILED
    except BrokenPipeError:  # whoever read the output has enough of it, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python fails once more when it flushes
        return FAILED
    except Exception as error:
        if not isinstance(error, expected()):
            raise
        print(f"error: {error}", file=sys.stderr)
        return failed


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """What stands behind `--` belongs to what `run` runs, and nobody here reads it."""
    if "run" not in arguments[:1] or "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


class _Parser(argparse.ArgumentParser):
    """With the name in its help by which the user calls the command: the modules' docstrings are written for a checkout."""

    def format_help(self) -> str:
        return super().format_help().replace(COMMAND_IN_A_CHECKOUT, COMMAND)


def _parser(requested: str) -> argparse.ArgumentParser:
    """`requested`: the command whose arguments are known, "" for none."""
    parser = _Parser(prog=COMMAND, description=__doc__, epilog=_EXIT_CODES, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    verbs.add_all(commands, requested)
    return parser


if __name__ == "__main__":
    sys.exit(main())
