"""`python -m operations`: what people and CI do beside `pulumi`.

    up         settle what a killed run left, run `pulumi up`, start jobs if asked to, wait for what ends, show how it ended
    down       run `pulumi destroy` and remove the stack, or every stack of the backend
    preview    settle as `up` does, then run `pulumi preview --diff`
    wait       wait for a stack's container groups and show how they ended
    run        run a script, a workload or an image here, or on the stack's GPU job, Batch pool, cluster, edge or machine: its log
               here, its exit code ours
    vm         start, stop or show a stack's virtual machine; to stop is to deallocate
    query      send images to an endpoint of Azure ML: its answers, and how long they took
    promote    give a deployment the traffic of its endpoint: a change of two numbers in the stack file, then the preview
    rollback   give an endpoint the traffic that it had before
    upload-model  bring a SavedModel into the stack's storage, from where the workspace registers it
    running    what runs, since when, until when, and what it costs
    gpu-usage  how much of a cluster's GPUs is used, in all and by job
    explain    why something failed: the cause, the container's last lines, the fix
    drain      take a Batch pool's nodes away, each when its tasks have ended
    package    push an application package into the stack's Batch account
    new        write a stack file from an example
    sizes      GPU sizes by what they have, cheapest first; everything about one; what retires
    prices     list prices: show them, refresh them from Azure's public price list
    preflight  what speaks against a stack, or against a use of GPUs, before anything is created
    pulumi     any command of pulumi, with the stack's file: how secrets get into it where the project is a package's
    shell      your shell with the Azure CLI and kubectl, signed in to where a stack lives
    import     files of Container Instances, Kubernetes, Batch Shipyard and old Azure ML clients, as configuration of a stack
    catalog    print docs/catalog.md, the catalog as a page

Exit codes: 0 all went well, 1 something failed (said in one line), 2 the command line is wrong; `preflight` has one more.
`run` has the container's own, 2 where nothing was started, 124 after --timeout, 125 where the run failed and not what it ran,
130 after Ctrl-C. `explain` has 0 where it found no failure, 1 where it explained one, 3 where it can't explain one.
"""

import argparse
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from azure_gpu.shared.installation import COMMAND, COMMAND_IN_A_CHECKOUT
from azure_gpu_operations import catalog_page, new, prices, pulumi_command, running, stack_options
from azure_gpu_operations.batch import command as batch
from azure_gpu_operations.explain import command as explain
from azure_gpu_operations.gpu_usage import command as gpu_usage
from azure_gpu_operations.importing import command as importing
from azure_gpu_operations.machine_learning import traffic_command, upload_command
from azure_gpu_operations.preflight import command as preflight
from azure_gpu_operations.project import project
from azure_gpu_operations.query import command as query
from azure_gpu_operations.run import command as run_command
from azure_gpu_operations.shell import command as shell
from azure_gpu_operations.sizes import command as sizes
from azure_gpu_operations.stack import stack_names
from azure_gpu_operations.stack_options import stack_of
from azure_gpu_operations.vm import command as vm

WAIT_MINUTES = 10.0


def main(arguments: list[str] | None = None) -> int:
    given, after = _split(sys.argv[1:] if arguments is None else arguments)
    parser = _parser()
    options, unknown = parser.parse_known_args(given, argparse.Namespace(after=after))
    if unknown:
        what = "; what the script is to be given stands behind --" if options.command == "run" else ""
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{what}")
    failed: int = getattr(options, "failure_code", 1)
    try:
        return options.run(options)
    except KeyboardInterrupt:
        print("interrupted; run the same command again to go on", file=sys.stderr)
        return 1
    except BrokenPipeError:  # whoever read the output has enough of it, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python fails once more when it flushes
        return 1
    except Exception as error:
        if not isinstance(error, _expected()):
            raise
        print(f"error: {error}", file=sys.stderr)
        return failed


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """What stands behind `--` belongs to what `run` runs, and nobody here reads it."""
    if "run" not in arguments[:1] or "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def _expected() -> tuple[type[Exception], ...]:
    """What is said in a line. Loaded when something failed: Azure's clients take longer than most commands."""
    from azure.core.exceptions import AzureError as AzureCoreError
    from requests.exceptions import RequestException

    from azure_gpu_operations.azure import AzureError
    from azure_gpu_operations.clusters.errors import ClusterError
    from azure_gpu_operations.commands import WorkFailedError
    from azure_gpu_operations.pool_steps import WrongPackagesError
    from azure_gpu_operations.run.errors import RunError
    from azure_gpu_operations.run.registry_build import BuildFailedError
    from azure_gpu_operations.stack import EngineError

    of_azure = (AzureError, AzureCoreError, RequestException)
    return EngineError, *of_azure, ClusterError, WorkFailedError, WrongPackagesError, BuildFailedError, RunError, OSError


class _Parser(argparse.ArgumentParser):
    """With the name in its help by which the user calls the command: the modules' docstrings are written for a checkout."""

    def format_help(self) -> str:
        return super().format_help().replace(COMMAND_IN_A_CHECKOUT, COMMAND)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog=COMMAND, description="What people and CI do beside pulumi.")
    commands = parser.add_subparsers(dest="command", required=True)
    _register_stack_commands(commands)
    for module in (
        run_command,
        vm,
        query,
        traffic_command,
        upload_command,
        running,
        explain,
        gpu_usage,
        batch,
        new,
        sizes,
        prices,
        preflight,
        pulumi_command,
        shell,
        importing,
        catalog_page,
    ):
        module.register(commands)
    return parser


def _register_stack_commands(commands: Any) -> None:
    known: tuple[tuple[str, str, Callable[[argparse.Namespace], int]], ...] = (
        ("up", "pulumi up, after settling what a killed run left; then wait for what runs to an end", _up),
        ("preview", "pulumi preview, after settling what a killed run left", _preview),
        ("wait", "wait for the stack's container groups and show how they ended", _wait),
        ("down", "pulumi destroy, then remove the stack; without --stack every stack of the backend", _down),
    )
    for name, text, run in known:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        command.add_argument("--stack", required=name != "down", help="the stack's name")
        stack_options.add_config_folder(command)
        if name in ("up", "wait"):
            command.add_argument(
                "--wait-minutes", type=float, default=WAIT_MINUTES, help=f"how long to wait (default {WAIT_MINUTES:g})"
            )
        if name == "down":
            text = "leave what is on clusters that don't answer, such as an edge that is switched off, and forget it"
            command.add_argument("--forget-unreachable", action="store_true", help=text)
        if name == "up":
            command.add_argument("--start-jobs", action="store_true", help="start each manual job once, and show its log")


def _up(options: argparse.Namespace) -> int:
    from azure_gpu_operations.commands import bring_up  # here, as in `_expected`

    bring_up(stack_of(options), options.wait_minutes * 60, _say, start_jobs=options.start_jobs)
    return 0


def _preview(options: argparse.Namespace) -> int:
    from azure_gpu_operations.commands import preview

    preview(stack_of(options), _say)
    return 0


def _wait(options: argparse.Namespace) -> int:
    from azure_gpu_operations.commands import wait_for_groups

    wait_for_groups(stack_of(options), options.wait_minutes * 60, _say)
    return 0


def _down(options: argparse.Namespace) -> int:
    from azure_gpu_operations.commands import bring_down

    for name in [options.stack] if options.stack else stack_names(project().program):
        bring_down(stack_of(options, name), _say, forget_unreachable=options.forget_unreachable)
    return 0


_say = partial(print, flush=True)  # in step with what `pulumi` writes to the same terminal

if __name__ == "__main__":
    sys.exit(main())
