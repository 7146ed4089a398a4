"""`python -m operations gpu-usage`: how much of a cluster's GPUs is used, in all and by job.

    gpu-usage --stack S                              the stack's only cluster, or its only edge
    gpu-usage --stack S --cluster gpu --watch 5      again every 5 seconds, until Ctrl-C
    gpu-usage --kubeconfig FILE                      a cluster given by its kubeconfig
    gpu-usage --stack S --before figures.json        keeps what is seen, such as before MPS is switched on
    gpu-usage --stack S --after figures.json         shows what has changed since

Figures come from NVIDIA's DCGM exporter where one runs (asked through a forwarded port), else from nvidia-smi in the pods that
use GPUs. Where several pods share a GPU, DCGM tells the GPU's use and not each one's; a note says so.

Exit codes: 0 figures were shown, 1 the cluster can't be asked, 2 the command line is wrong, 3 nothing in the cluster tells.
"""

import argparse
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from azure_gpu.catalog.problems import Problem
from azure_gpu_operations import stack_options
from azure_gpu_operations.clusters import places
from azure_gpu_operations.clusters.places import AKS, EDGE, Place, Said
from azure_gpu_operations.command_line import refuse
from azure_gpu_operations.console import add_wide
from azure_gpu_operations.stack import EngineError
from azure_gpu_operations.stack_view import StackView, view

NO_FIGURES = 3
SOURCES = ("auto", "dcgm", "nvidia-smi")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run)
    parser.add_argument("--stack", help="the stack's name")
    stack_options.add_config_folder(parser)
    parser.add_argument(
        "--cluster", default="", metavar="NAME", help="which of the stack's clusters or edges (default: its only one)"
    )
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="of a cluster that isn't the stack's, or of an edge")
    parser.add_argument("--context", default="", help="which context of it (default: its current one)")
    parser.add_argument("--namespace", default="", help="whose pods are looked at, where those of all may not be")
    parser.add_argument("--source", choices=SOURCES, default="auto", help="where figures are taken from (default: what there is)")
    parser.add_argument("--watch", type=float, metavar="SECONDS", help="again and again")
    when = parser.add_mutually_exclusive_group()
    when.add_argument("--before", type=Path, metavar="FILE", help="keep the figures in a file")
    when.add_argument("--after", type=Path, metavar="FILE", help="compare with the figures in a file")
    add_wide(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output, a line each with --watch")


def run(options: argparse.Namespace) -> int:
    problems = _words(options)
    place, found, more = (None, None, []) if problems else _place(options)
    problems += more
    if problems or place is None:
        return refuse(*problems)

    from azure_gpu_operations.gpu_usage import gathering, showing  # here, because the clients take seconds to load

    before = showing.kept(options.after) if options.after is not None else None
    if options.after is not None and before is None:
        return refuse(f"{options.after} isn't there, or wasn't written by --before")
    try:
        with closing(_api(place, found)) as api:
            while True:
                reading = gathering.gather(api, options.source, place.namespace, _say)
                if options.before is not None:
                    showing.keep(reading, options.before)
                showing.show(reading, before, for_programs=options.json, on_one_line=options.watch is not None, wide=options.wide)
                if options.watch is None:
                    return 0
                time.sleep(options.watch)
    except gathering.NoFiguresError as error:
        print(f"error: {error}", file=sys.stderr)
        return NO_FIGURES
    except KeyboardInterrupt:
        return 0


def _words(options: argparse.Namespace) -> list[Problem]:
    problems: list[Problem] = []
    if not options.stack and options.kubeconfig is None:
        problems.append(Problem("--stack", "nothing says which cluster", fix="name a stack, or give --kubeconfig FILE"))
    if options.watch is not None and not 0.5 <= options.watch <= 3600:
        problems.append(Problem("--watch", "it is out of range", value=options.watch, allowed="seconds, 0.5 to 3600"))
    if options.watch is not None and (options.before or options.after):
        problems.append(Problem("--watch", "--before and --after look once", fix="leave one of them out"))
    return problems


def _place(options: argparse.Namespace) -> tuple[Place | None, StackView | None, list[Problem]]:
    said = Said(options.cluster, options.namespace, options.kubeconfig, options.context)
    if not options.stack:
        name = options.cluster or options.kubeconfig.name
        namespace = options.namespace or places.DEFAULT_NAMESPACE
        return Place(name, kubeconfig=options.kubeconfig, context=options.context, namespace=namespace), None, []
    try:
        found = view(stack_options.stack_of(options))
    except EngineError as error:
        return None, None, [Problem("--stack", str(error))]
    is_edge = options.kubeconfig is not None or options.cluster in found.edges or not found.clusters
    place, problems = places.choose(found, EDGE if is_edge else AKS, said, stack_options.file_of(options))
    return place, found, problems


def _api(place: Place, found: StackView | None) -> Any:
    from azure_gpu_operations.clusters import reach  # here, as in `run`

    if place.kubeconfig is not None:
        return reach.of_file(place.kubeconfig, place.context)[0]
    from azure_gpu_operations.azure import Arm

    assert found is not None  # a place with an id is a stack's
    with closing(Arm(found.connection)) as arm:
        return reach.of_cluster(arm, place.id)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
