"""Table of the commands of `python -m operations`: name, description and module.

`--help`, the table in docs/commands.md and the command line are generated from it. Only the module of the requested command is
loaded. `python -m azure_gpu_operations.verbs docs/commands.md` updates the table in docs/commands.md.
"""

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

_PACKAGE = "azure_gpu_operations"
_BEGIN, _END = "<!-- commands -->", "<!-- end of commands -->"


class Verb(NamedTuple):
    """One command."""

    module: str  # in this package; its docstring is the command's help
    line: str  # what it does
    adds: str = "add_arguments"  # the module's function that adds arguments and sets the function to run


VERBS = {
    "up": Verb(
        "stack_verbs",
        "run `pulumi up` after a check that rejects the loss of data; wait for container groups and show how they ended",
        "add_up_arguments",
    ),
    "preview": Verb("stack_verbs", "run `pulumi preview --diff`", "add_preview_arguments"),
    "review": Verb("review.command", "show what a change replaces, loses and costs in its stacks, compared with its base commit"),
    "drift": Verb("drift", "show how Azure differs from a stack's state; changes nothing"),
    "wait": Verb("stack_verbs", "wait for a stack's container groups and show how they ended", "add_wait_arguments"),
    "down": Verb("stack_verbs", "run `pulumi destroy` and remove the stack; asks for confirmation", "add_down_arguments"),
    "end": Verb("past_end.command", "list the expired parts of one stack or all, or destroy them; asks for confirmation"),
    "run": Verb(
        "run.command",
        "run a script, a workload or an image on this machine, or on a stack's job, pool, cluster, edge or virtual machine",
    ),
    "logs": Verb("run.attached", "show the log of a run that was started earlier, from any machine", "add_logs_arguments"),
    "fetch": Verb("run.attached", "download the output files of a run, from any machine", "add_fetch_arguments"),
    "stop": Verb(
        "stop_and_start",
        "stop a run, or an online endpoint: deletes its deployments, keeps its address and keys",
        "add_stop_arguments",
    ),
    "start": Verb("stop_and_start", "start a stopped online endpoint", "add_start_arguments"),
    "access": Verb("access", "check your access to a stack's blobs, and grant yourself the role for it"),
    "prove": Verb("prove.command", "run a short workload on every service of a stack: device, speed and cost"),
    "running": Verb("running", "list what is running, since when, until when, and what it costs"),
    "explain": Verb("explain.command", "explain why something failed: the cause, the container's last log lines, the fix"),
    "query": Verb("query.command", "send images to an endpoint: its answers and their latency"),
    "promote": Verb("machine_learning.traffic_command", "route an endpoint's traffic to a deployment", "add_promote_arguments"),
    "rollback": Verb("machine_learning.traffic_command", "restore an endpoint's previous traffic", "add_rollback_arguments"),
    "upload-model": Verb(
        "machine_learning.upload_command", "upload a SavedModel to a stack's storage, for registration in its workspace"
    ),
    "vm": Verb("vm.command", "start, stop (deallocate) or show a stack's virtual machine"),
    "gpu-usage": Verb("gpu_usage.command", "show GPU utilisation of a cluster, in total and by job"),
    "drain": Verb("batch.command", "remove a Batch pool's nodes, each when its tasks have ended", "add_drain_arguments"),
    "package": Verb("batch.command", "push an application package to a stack's Batch account", "add_package_arguments"),
    "new": Verb("new", "write a stack file from an example or another stack's file"),
    "compare": Verb("compare", "show the differences between two environments"),
    "import": Verb(
        "importing.command",
        "convert files of Azure Resource Manager, Azure ML, Kubernetes and Container Instances to a stack's configuration",
    ),
    "adopt": Verb("adopting.command", "adopt existing Azure resources: a part of a stack file, and input for `pulumi import`"),
    "graph": Verb("graph.command", "draw a stack: its parts, dependencies, roles, and cost when idle and at maximum"),
    "preflight": Verb("preflight.command", "check a stack, or a use of GPUs, against Azure before anything is created"),
    "sizes": Verb("sizes.command", "find GPU sizes, cheapest first; show everything about one; list retirements"),
    "prices": Verb("prices", "show list prices, or refresh them from Azure's public price list"),
    "catalog": Verb("catalog_page", "print the catalog as a page, docs/catalog.md"),
    "pulumi": Verb("pulumi_command", "run any `pulumi` command with the stack's file"),
    "shell": Verb("shell.command", "open a shell with the Azure CLI and kubectl, signed in to a stack's cloud"),
}


def add_all(commands: Any, requested: str) -> None:
    """A parser for every command; only the requested one has its arguments."""
    for name, verb in VERBS.items():
        if name != requested:
            commands.add_parser(name, help=verb.line)
            continue
        module = import_module(f"{_PACKAGE}.{verb.module}")
        command = commands.add_parser(
            name, help=verb.line, description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        getattr(module, verb.adds)(command)


def table() -> str:
    """The commands as Markdown."""
    rows = [f"| `{name}` | {verb.line} |" for name, verb in VERBS.items()]
    return "\n".join(["| command | what it does |", "| --- | --- |", *rows])


def with_table(page: str) -> str:
    """A page with its table regenerated. ValueError if the page has no markers for it."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"the page has no {_BEGIN} … {_END}")
    return f"{before}{_BEGIN}\n{table()}\n{_END}{after}"


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(with_table(page.read_text(encoding="utf-8")), encoding="utf-8")
