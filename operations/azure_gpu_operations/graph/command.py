"""Shows a stack: its parts, their dependencies, identities and roles, and cost at idle and at most.

    graph --stack S                              in the terminal
    graph --stack S --mermaid > stack.mermaid    as a diagram that GitHub, GitLab and editors draw
    graph --stack S --dot | dot -Tsvg > s.svg    as a picture, by Graphviz
    graph --stack S --json                       for programs

The graph comes from the stack's program and its file, without requests to Azure or the engine; nothing has to be deployed.
Existing resources are assumed to be as the file expects. Values that the connection supplies (subscription, image_source) are
placeholders. Costs are list prices of machines.

Exit codes: 0 shown, 1 the program failed, 2 the command line or the stack file is invalid.
"""

import argparse
import json
import sys

from azure_gpu_operations import stack_options
from azure_gpu_operations.command_line import refuse
from azure_gpu_operations.console import add_wide, console
from azure_gpu_operations.exit_codes import FAILED, OK
from azure_gpu_operations.project import project


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run)
    stack_options.add_stack(parser)
    add_wide(parser)
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--mermaid", action="store_true", help="a Mermaid flowchart on standard output")
    shown.add_argument("--dot", action="store_true", help="a digraph in Graphviz' DOT on standard output")
    shown.add_argument("--json", action="store_true", help="one JSON object on standard output")


def run(options: argparse.Namespace) -> int:
    from azure_gpu_operations.graph import diagrams, reading, recorded, terminal  # here: they take longer to load than --help
    from azure_gpu_operations.planned import UnreadableStackFileError

    try:
        found = recorded.record(project().program, stack_options.file_of(options), options.stack)
    except (UnreadableStackFileError, recorded.WrongStackError) as error:
        return refuse(error)
    except recorded.ProgramError as error:
        print(f"error: {error}", file=sys.stderr)
        return FAILED
    for warning in found.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    graph = reading.graph_of(found, found.day)
    if options.json:
        print(json.dumps(diagrams.as_json(graph), indent=2))
    elif options.mermaid or options.dot:
        print((diagrams.mermaid if options.mermaid else diagrams.dot)(graph), end="")
    else:
        terminal.show(console(), graph, wide=options.wide)
    return OK
