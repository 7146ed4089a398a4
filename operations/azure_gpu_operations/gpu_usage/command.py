"""`python -m operations gpu-usage`: show GPU utilisation of a cluster, in total and by job.

    gpu-usage --stack S                              the stack's only cluster, or its only edge
    gpu-usage --stack S --cluster gpu --watch 5      again every 5 seconds, until Ctrl-C
    gpu-usage --kubeconfig FILE                      a cluster given by its kubeconfig
    gpu-usage --stack S --before figures.json        save the figures, for example before switching on MPS
    gpu-usage --stack S --after figures.json         show what has changed since

Figures come from NVIDIA's DCGM exporter if one is running (through a forwarded port), else from nvidia-smi in the pods that use
GPUs. If several pods share a GPU, DCGM reports the use of the whole GPU, not of each pod; a note says so.

Exit codes: 0 figures were shown, 1 the cluster can't be reached, 2 wrong command line, 3 no source of figures in the cluster.
"""

import argparse
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from azure_gpu.catalog.problems import Problem
from azure_gpu_operations import stack_options
from azure_gpu_operations.clusters import targets
from azure_gpu_operations.clusters.targets import AKS, EDGE, ClusterSelection, ClusterTarget
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
    parser.add_argument("--cluster", default="", metavar="NAME", help="a cluster or edge of the stack (default: its only one)")
    parser.add_argument(
        "--kubeconfig", type=Path, metavar="FILE", help="kubeconfig of an edge, or of a cluster outside the stack"
    )
    parser.add_argument("--context", default="", help="context of the kubeconfig (default: its current one)")
    parser.add_argument("--namespace", default="", help="the namespace to read if you may not read all of them")
    parser.add_argument(
        "--source", choices=SOURCES, default="auto", help="source of the figures (default: the first available one)"
    )
    parser.add_argument("--watch", type=float, metavar="SECONDS", help="repeat every SECONDS")
    when = parser.add_mutually_exclusive_group()
    when.add_argument("--before", type=Path, metavar="FILE", help="save the figures to FILE")
    when.add_argument("--after", type=Path, metavar="FILE", help="compare with the figures in FILE")
    add_wide(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object, one per line with --watch")


def run(options: argparse.Namespace) -> int:
    problems = _option_problems(options)
    target, found, more = (None, None, []) if problems else _target(options)
    problems += more
    if problems or target is None:
        return refuse(*problems)

    from azure_gpu_operations.gpu_usage import gathering
    from azure_gpu_operations.gpu_usage.reading import keep, kept, show  # here, because the clients take seconds to load

    before = kept(options.after) if options.after is not None else None
    if options.after is not None and before is None:
        return refuse(f"{options.after} doesn't exist or wasn't written by --before")
    try:
        with closing(_api(target, found)) as api:
            while True:
                reading = gathering.gather(api, options.source, target.namespace, _say)
                if options.before is not None:
                    keep(reading, options.before)
                show(reading, before, for_programs=options.json, on_one_line=options.watch is not None, wide=options.wide)
                if options.watch is None:
                    return 0
                time.sleep(options.watch)
    except gathering.NoFiguresError as error:
        print(f"error: {error}", file=sys.stderr)
        return NO_FIGURES
    except KeyboardInterrupt:
        return 0


def _option_problems(options: argparse.Namespace) -> list[Problem]:
    problems: list[Problem] = []
    if not options.stack and options.kubeconfig is None:
        problems.append(Problem("--stack", "no cluster is given", fix="add --stack NAME or --kubeconfig FILE"))
    if options.watch is not None and not 0.5 <= options.watch <= 3600:
        problems.append(Problem("--watch", "out of range", value=options.watch, allowed="seconds, 0.5 to 3600"))
    if options.watch is not None and (options.before or options.after):
        problems.append(Problem("--watch", "can't be combined with --before or --after", fix="remove one of them"))
    return problems


def _target(options: argparse.Namespace) -> tuple[ClusterTarget | None, StackView | None, list[Problem]]:
    selection = ClusterSelection(options.cluster, options.namespace, options.kubeconfig, options.context)
    if not options.stack:
        name = options.cluster or options.kubeconfig.name
        namespace = options.namespace or targets.DEFAULT_NAMESPACE
        return ClusterTarget(name, kubeconfig=options.kubeconfig, context=options.context, namespace=namespace), None, []
    try:
        found = view(stack_options.stack_of(options))
    except EngineError as error:
        return None, None, [Problem("--stack", str(error))]
    is_edge = options.kubeconfig is not None or options.cluster in found.edges or not found.clusters
    target, problems = targets.choose(found, EDGE if is_edge else AKS, selection, stack_options.file_of(options))
    return target, found, problems


def _api(target: ClusterTarget, found: StackView | None) -> Any:
    from azure_gpu_operations.clusters import connect  # here, as in `run`

    if target.kubeconfig is not None:
        return connect.of_file(target.kubeconfig, target.context)[0]
    from azure_gpu_operations.azure import Arm

    assert found is not None  # a target with an id belongs to a stack
    with closing(Arm(found.connection)) as arm:
        return connect.of_cluster(arm, target.id)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
