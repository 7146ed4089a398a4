"""Table of the commands of `python -m operations`: name, description and module.

`--help`, the table in docs/commands.md and the command line are generated from it. Only the module of the requested command is
loaded. `python -m azure_gpu_operations.verbs docs/commands.md` updates the tables in docs/commands.md.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

_PACKAGE = "azure_gpu_operations"
_MARKERS = ("commands", "commands of earlier versions")


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
    "preview": Verb(
        "stack_verbs", "run `pulumi preview --diff`, or show how Azure differs from a stack's state", "add_preview_arguments"
    ),
    "review": Verb("review.command", "show what a change replaces, loses and costs in its stacks, compared with its base commit"),
    "down": Verb("stack_verbs", "run `pulumi destroy` and remove the stack; asks for confirmation", "add_down_arguments"),
    "end": Verb("past_end.command", "list the expired parts of one stack or all, or destroy them; asks for confirmation"),
    "run": Verb(
        "run.command",
        "run a script, a workload or an image on this machine, or on a stack's job, pool, cluster, edge or virtual machine",
    ),
    "logs": Verb(
        "run.logs_and_stop", "show the log of a run that was started earlier, or download its output files, from any machine"
    ),
    "stop": Verb(
        "stop_and_start",
        "stop a run, an endpoint, a virtual machine or a Batch pool: what it costs ends, what it has stays",
        "add_stop_arguments",
    ),
    "start": Verb("stop_and_start", "start a stopped endpoint or virtual machine", "add_start_arguments"),
    "access": Verb("access", "check your access to a stack's blobs, and grant yourself the role for it"),
    "prove": Verb("prove.command", "run a short workload on every service of a stack: device, speed and cost"),
    "running": Verb("running", "list what is running, since when, until when, and what it costs"),
    "explain": Verb("explain.command", "explain why something failed: the cause, the container's last log lines, the fix"),
    "upload": Verb("upload", "upload a model for a stack's workspace"),
    "new": Verb("new", "write a stack file from an example or another stack's file"),
    "import": Verb(
        "importing.command",
        "convert files of ARM, Azure ML, Kubernetes and Container Instances, or existing resources, to a stack's configuration",
    ),
    "graph": Verb("graph.command", "draw a stack: its parts, dependencies, roles, and cost when idle and at maximum"),
    "preflight": Verb("preflight.command", "check a stack, or a use of GPUs, against Azure before anything is created"),
    "sizes": Verb("sizes.command", "find GPU sizes, cheapest first; show everything about one; list retirements"),
    "catalog": Verb("catalog.command", "show which lists of the packaged catalog are past their shelf life; read them again"),
    "pulumi": Verb("pulumi_command", "run any `pulumi` command with the stack's file"),
    "shell": Verb("shell.command", "open a shell with the Azure CLI and kubectl, signed in to a stack's cloud"),
}

# Names of earlier versions, a command or one of its options, for one release: what takes their place is printed with exit code 2.
GONE = {
    "adopt": "`import ID… --stack S --write --out FILE` adopts existing resources, with the same options",
    "compare": "`git diff --no-index Pulumi.A.yaml Pulumi.B.yaml`; what both extend is the same",
    "drain": "`stop POOL --stack S` removes a pool's nodes, each when its tasks have ended",
    "drift": "`preview --drift --stack S` shows how Azure differs from a stack's state, with the same exit codes",
    "fetch": "`logs NAME --into FOLDER --stack S` downloads a run's output files",
    "gpu-usage": "`shell --stack S`, then `kubectl exec -n NAMESPACE POD -- nvidia-smi`, or the exporter's metrics by Prometheus",
    "graph --svg": "`graph --dot --stack S | dot -Tsvg > FILE` draws it; GitHub draws what `graph --mermaid --stack S` prints",
    "package": "`az batch application package create` uploads and activates a package of a Batch account",
    "prices": "`sizes show SIZE` has a size's list prices; `catalog refresh --from prices` is `prices refresh`",
    "prove --record": "`prove --json > FILE`; `git diff --no-index` compares two of them",
    "promote": "`traffic: {green: 100}` of the endpoint in the stack file, then `up`; the lines as they were take it back",
    "query": '`curl --data-binary @FILE -H "Authorization: Bearer $KEY" URI`; docs/endpoints.md says where key and address are',
    "rollback": "the lines of `traffic` in the stack file as they were, then `up`",
    "run --model": "`logs NAME --into FOLDER --stack S`, then `upload model FOLDER --name N --version V --stack S --write`",
    "sizes refresh": "`catalog refresh --from prices` refreshes the prices, with the same options `--size` and `--region`",
    "upload package": "`az batch application package create` uploads and activates a package of a Batch account",
    "upload-model": "`upload model FOLDER --name N --version V --stack S`",
    "vm": "`start NAME` starts a machine, or shows one that runs; `stop NAME` deallocates it; `running` has its state and cost",
    "wait": "`up` waits; the state alone: `az container show --ids ID --query instanceView.state`",
}


def gone(arguments: Sequence[str]) -> str:
    """What takes the place of a command or an option of an earlier version; "" if the arguments name none."""
    command = arguments[0] if arguments else ""
    options = (f"{command} {each.partition('=')[0]}" for each in arguments[1:])
    return next((f"`{name}` is gone: {GONE[name]}" for name in (command, *options) if name in GONE), "")


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


def table_of_gone() -> str:
    """The names of earlier versions as Markdown."""
    rows = [f"| `{name}` | {GONE[name].replace('|', chr(92) + '|')} |" for name in sorted(GONE)]
    return "\n".join(["| earlier | now |", "| --- | --- |", *rows])


def with_tables(page: str) -> str:
    """A page with its tables regenerated. ValueError if the page has no markers for them."""
    for marker, content in zip(_MARKERS, (table(), table_of_gone()), strict=True):
        begin, end = f"<!-- {marker} -->", f"<!-- end of {marker} -->"
        before, has_begin, rest = page.partition(begin)
        _, has_end, after = rest.partition(end)
        if not has_begin or not has_end:
            raise ValueError(f"the page has no {begin} … {end}")
        page = f"{before}{begin}\n{content}\n{end}{after}"
    return page


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")
