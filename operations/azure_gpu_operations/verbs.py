"""Every command of `python -m operations`: its name, what it does in one line, and the module that has it.

`--help`, the table in docs/commands.md and the command line itself are made from this table. A module is loaded when its command is
the one that was requested. `python -m azure_gpu_operations.verbs docs/commands.md` writes the table there again.
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
    adds: str = "add_arguments"  # the function of that module that adds its arguments, and what runs


VERBS = {
    "up": Verb(
        "stack_verbs",
        "run `pulumi up` after a look that rejects what would delete data; wait for what ends, show how it ended",
        "add_up_arguments",
    ),
    "preview": Verb("stack_verbs", "run `pulumi preview --diff`", "add_preview_arguments"),
    "review": Verb(
        "review.command", "what a change does to its stacks: what it replaces, loses and costs, against its base commit"
    ),
    "drift": Verb("drift", "what Azure has otherwise than a stack's state; nothing is changed"),
    "wait": Verb("stack_verbs", "wait for a stack's container groups and show how they ended", "add_wait_arguments"),
    "down": Verb("stack_verbs", "run `pulumi destroy` and remove the stack; asks before", "add_down_arguments"),
    "end": Verb("past_end.command", "list what lies past its end, in one stack or in all, or take it down; asks before"),
    "run": Verb(
        "run.command",
        "run a script, a workload or an image here, or on a stack's job, pool, cluster, edge or machine",
    ),
    "logs": Verb("run.attached", "show the log of a run that was started before, from any machine", "add_logs_arguments"),
    "fetch": Verb("run.attached", "fetch the files that a run has left, from any machine", "add_fetch_arguments"),
    "stop": Verb(
        "stop_and_start",
        "stop a run, or an online endpoint, whose machines go and whose address and keys stay",
        "add_stop_arguments",
    ),
    "start": Verb("stop_and_start", "start an online endpoint that was stopped", "add_start_arguments"),
    "access": Verb("access", "whether you may read and write a stack's blobs, and the role that lets you"),
    "prove": Verb(
        "prove.command", "show on every service of a stack that work runs there: on which device, how fast, at what cost"
    ),
    "running": Verb("running", "what runs, since when, until when, and what it costs"),
    "explain": Verb("explain.command", "why something failed: the cause, the container's last lines, the fix"),
    "query": Verb("query.command", "send images to an endpoint: its answers, and how long they took"),
    "promote": Verb("machine_learning.traffic_command", "give a deployment its endpoint's traffic", "add_promote_arguments"),
    "rollback": Verb(
        "machine_learning.traffic_command", "give an endpoint the traffic that it had before", "add_rollback_arguments"
    ),
    "upload-model": Verb(
        "machine_learning.upload_command", "bring a SavedModel into a stack's storage, from where the workspace registers it"
    ),
    "vm": Verb("vm.command", "start, stop or show a stack's virtual machine; to stop is to deallocate"),
    "gpu-usage": Verb("gpu_usage.command", "how much of a cluster's GPUs is used, in all and by job"),
    "drain": Verb("batch.command", "take a Batch pool's nodes away, each when its tasks have ended", "add_drain_arguments"),
    "package": Verb("batch.command", "push an application package into a stack's Batch account", "add_package_arguments"),
    "new": Verb("new", "write a stack file from an example, or from another stack's file"),
    "compare": Verb("compare", "what differs between two environments"),
    "import": Verb(
        "importing.command",
        "files of Container Instances, Kubernetes, Batch Shipyard and old Azure ML clients, as a stack's configuration",
    ),
    "adopt": Verb("adopting.command", "take over what runs already in Azure: as part of a stack file, and for `pulumi import`"),
    "graph": Verb("graph.command", "draw a stack: its parts, what depends on what, who has which role, cost at idle and at most"),
    "preflight": Verb("preflight.command", "what speaks against a stack, or against a use of GPUs, before anything is created"),
    "sizes": Verb("sizes.command", "GPU sizes by what they have, cheapest first; everything about one; what retires"),
    "prices": Verb("prices", "list prices: show them, refresh them from Azure's public price list"),
    "catalog": Verb("catalog_page", "print docs/catalog.md, everything that is known, as a page"),
    "pulumi": Verb("pulumi_command", "any command of `pulumi`, with the stack's file"),
    "shell": Verb("shell.command", "your shell with the Azure CLI and kubectl, signed in to where a stack lives"),
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
    """A page with its table made again. ValueError where it has no place for one."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"the page has no {_BEGIN} and {_END}")
    return f"{before}{_BEGIN}\n{table()}\n{_END}{after}"


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(with_table(page.read_text(encoding="utf-8")), encoding="utf-8")
