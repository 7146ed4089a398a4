"""`python -m operations`: what people and CI do beside `pulumi`.

    up    settle what a killed run left, run `pulumi up`, wait for container groups that run to an end, show how they ended
    down  run `pulumi destroy` and remove the stack, or every stack of the backend
    preview  settle as `up` does, then run `pulumi preview --diff`
    wait  wait for a stack's container groups and show how they ended

Exit codes: 0 all went well, 1 something failed (said in one line), 2 the command line is wrong.
"""

import argparse
import sys
from functools import partial
from pathlib import Path

from azure.core.exceptions import AzureError as AzureCoreError
from requests.exceptions import RequestException

from operations.azure import AzureError
from operations.commands import GroupFailedError, bring_down, bring_up, preview, wait_for_groups
from operations.stack import EngineError, Stack, stack_names

PROJECT_FOLDER = Path(__file__).resolve().parent.parent
WAIT_MINUTES = 10.0


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    say = partial(print, flush=True)  # in step with what `pulumi` writes to the same terminal
    try:
        if options.command == "up":
            bring_up(_stack(options.stack, options.config_folder), options.wait_minutes * 60, say)
        elif options.command == "preview":
            preview(_stack(options.stack, options.config_folder), say)
        elif options.command == "wait":
            wait_for_groups(_stack(options.stack, options.config_folder), options.wait_minutes * 60, say)
        else:
            names = [options.stack] if options.stack else stack_names(PROJECT_FOLDER)
            for name in names:
                bring_down(_stack(name, options.config_folder), say)
    except (EngineError, AzureError, AzureCoreError, RequestException, GroupFailedError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; run the same command again to go on", file=sys.stderr)
        return 1
    return 0


def _stack(name: str, config_folder: Path | None) -> Stack:
    return Stack(PROJECT_FOLDER, name, config_folder.resolve() / f"Pulumi.{name}.yaml" if config_folder else None)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m operations", description="What people and CI do beside pulumi.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("up", "pulumi up, after settling what a killed run left; then wait for container groups"),
        ("preview", "pulumi preview, after settling what a killed run left"),
        ("wait", "wait for the stack's container groups and show how they ended"),
        ("down", "pulumi destroy, then remove the stack; without --stack every stack of the backend"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--stack", required=name != "down", help="the stack's name")
        command.add_argument(
            "--config-folder", type=Path, help="where Pulumi.<stack>.yaml lies (default: the project's own folder)"
        )
        if name in ("up", "wait"):
            command.add_argument(
                "--wait-minutes", type=float, default=WAIT_MINUTES, help=f"how long to wait (default {WAIT_MINUTES:g})"
            )
    return parser


if __name__ == "__main__":
    sys.exit(main())
