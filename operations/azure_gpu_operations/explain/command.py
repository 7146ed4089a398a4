"""Explains why a part of a stack failed, or a job, pod or node in it.

    explain trainer --stack S            by its name in the stack file; for a job, its last execution
    explain /subscriptions/…/jobs/j      by ARM id, also of an execution: …/jobs/j/executions/e
    explain train --stack S              a Batch pool: missing nodes, failed start tasks
    explain run-train-… --stack S        a Batch job, by the name that `run --on batch` printed
    explain gpu --stack S                a cluster or an edge: blocked pods, nodes that aren't ready
    explain gpu/t4 --stack S             a pool of a cluster: missing nodes, missing GPUs
    explain run-mnist-… --stack S        a Job or a pod in a cluster or an edge; also NAMESPACE/NAME
    explain digits --stack S             an endpoint of Azure ML; digits/green is one of its deployments
    explain t4 --stack S                 a compute of the workspace, or a virtual machine; also a job of the workspace by its name

It prints the cause, Azure's messages, the last lines of the failed program's log, and a fix.

Exit codes: 0 no failure, 1 the failure is explained, 2 the command line is invalid, 3 the reason isn't known, or Azure is
unreachable.
"""

import argparse
import json
import os
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from azure_gpu.formats import arm_ids
from azure_gpu_operations import stack_options
from azure_gpu_operations.command_line import refuse
from azure_gpu_operations.connection import connection_from
from azure_gpu_operations.explain.facts import EXPLAINED_TYPES
from azure_gpu_operations.stack import EngineError
from azure_gpu_operations.stack_view import StackView, view

NOT_EXPLAINED = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run, failure_code=NOT_EXPLAINED)
    parser.add_argument("resource", metavar="RESOURCE", help="name in the stack, or ARM id")
    parser.add_argument("--stack", help="the stack's name; not needed with an ARM id")
    stack_options.add_config_folder(parser)
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="kubeconfig of the cluster or edge to search")
    parser.add_argument("--context", default="", help="context in it (default: its current one)")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")


def run(options: argparse.Namespace) -> int:
    is_id = options.resource.startswith("/")
    parsed = arm_ids.parse(options.resource) if is_id else None
    if is_id and (parsed is None or not any(parsed.is_type(each) for each in EXPLAINED_TYPES)):
        known = "a container group, a job, an execution, a pool or a cluster, an endpoint, a deployment, a compute or a machine"
        return refuse(f"{options.resource!r} isn't the id of {known}")
    if not is_id and not options.stack:
        return refuse(f"{options.resource!r} is a name and requires --stack; an ARM id doesn't")
    try:
        found = _view(options) if options.stack else None
    except EngineError as error:
        return refuse(error)
    of_id = parsed.subscription if parsed else ""
    where = found.connection if found else replace(connection_from({}, os.environ), subscription_id=of_id)

    from azure_gpu_operations.azure import Arm  # here, because Azure's clients take seconds to load
    from azure_gpu_operations.console import console
    from azure_gpu_operations.explain import lookup, report
    from azure_gpu_operations.tables import width_of

    with closing(Arm(where)) as arm:
        explained = lookup.explained(arm, options, found, parsed)
        if explained is None:
            return refuse(_switched_off(found, options) or _unknown(found, options.resource))
        facts, finding = explained
    if options.json:
        print(json.dumps(report.as_json(facts, finding), indent=2))
    else:
        print("\n".join(report.lines(facts, finding, width_of(console()))))
    return report.exit_code(finding)


def lines_of(arm: Any, name: str, found: StackView, config_folder: Path | None) -> list[str]:
    """The lines that this command prints for a name in the stack; none if the name is unknown."""
    from azure_gpu_operations.explain import lookup, report  # here, as in `run`

    where = {"stack": found.name, "config_folder": config_folder, "kubeconfig": None, "context": ""}
    explained = lookup.explained(arm, argparse.Namespace(resource=name, **where), found, None)
    return report.lines(*explained) if explained is not None else []


def _view(options: argparse.Namespace) -> StackView:
    return view(stack_options.stack_of(options))


def _switched_off(found: StackView | None, options: argparse.Namespace) -> str:
    """The message for a part with `enabled: false`; "" for other names."""
    from azure_gpu_operations import planned  # here, as in `run`

    return planned.switched_off(stack_options.file_of(options), options.resource) if found is not None else ""


def _unknown(found: StackView | None, name: str) -> str:
    if found is None:
        return f"unknown resource {name!r}"
    close = found.nearest(name)
    known = ", ".join(sorted({**found.resources, **found.edges})) or "no running resources"
    jobs = ", and no job of its Batch account has this name" if found.pools else ""
    jobs += ", and no pool, Job or pod of its clusters" if found.clusters or found.edges else ""
    jobs += ", and no job of its workspace" if found.ml_workspace else ""
    meant = f"; did you mean {close[0]}?" if close else ""
    return f"stack {found.name} has no {name!r}; it has {known}{jobs}{meant}"
