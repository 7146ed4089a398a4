"""`python -m operations running`: list what is running, since when, until when, and what it costs.

    running                every stack of this project in the backend
    running --stack S      one stack
    running --all          everything of these kinds in the subscriptions of those stacks, including other owners'

Costs are list prices of the catalog; totals say how many costs are unknown. Listed are container groups that haven't ended, job
executions, Batch and AKS pools with nodes (busy or idle), AKS clusters that aren't stopped and their jobs, Azure ML deployments
(billed even without requests), nodes of Azure ML computes, and virtual machines: a deallocated one costs its disk, one that is
only shut down costs as much as a running one. Jobs without an execution and pools without nodes cost nothing; registries, log
workspaces, storage, other disks and addresses aren't counted.
"""

import argparse
import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from azure_gpu.formats.dates import instant
from azure_gpu_operations import stack_options
from azure_gpu_operations.console import add_wide
from azure_gpu_operations.project import project
from azure_gpu_operations.stack import stack_names
from azure_gpu_operations.stack_view import StackView, of_deployment, view

if TYPE_CHECKING:
    from azure_gpu_operations.running_report import Row


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--stack", help="one stack")
    which.add_argument("--all", action="store_true", help="everything in the subscriptions of the stacks")
    stack_options.add_config_folder(parser)
    add_wide(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")


def run(options: argparse.Namespace) -> int:
    from azure_gpu_operations.running_report import as_json, show  # here: `--help` needs no tables

    views = _views(options)
    now = datetime.now(UTC)
    rows = list(_everything(views) if options.all else _of_stacks(views))
    if options.json:
        print(json.dumps(as_json(rows, now), indent=2))
    else:
        show(rows, now, wide=options.wide)
    return 0


def _views(options: argparse.Namespace) -> list[StackView]:
    if options.stack:
        return [view(stack_options.stack_of(options))]
    found = (of_deployment(name, stack_options.stack_of(options, name).deployment()) for name in stack_names(project().program))
    return [each for each in found if each is not None]


def _of_stacks(views: list[StackView]) -> Iterator["Row"]:
    from azure_gpu_operations.azure import Arm  # here, and below: Azure's clients load slowly
    from azure_gpu_operations.running_rows import KINDS

    for stack in views:
        with closing(Arm(stack.connection)) as arm:
            for kind in KINDS:
                for name, resource_id in kind.of_stack(stack).items():
                    yield from (_of_stack(row, stack, name) for row in kind.rows(arm, resource_id, name))


def _everything(views: list[StackView]) -> Iterator["Row"]:
    """Each subscription once. Parts of the stacks have their names in the stack file."""
    from azure_gpu_operations.azure import Arm
    from azure_gpu_operations.running_rows import KINDS

    ours = {resource_id.lower(): (stack, name) for stack in views for name, resource_id in stack.resources.items()}
    for connection in dict.fromkeys(stack.connection for stack in views):
        with closing(Arm(connection)) as arm:
            for kind in KINDS:
                for body in kind.listed(arm, f"/subscriptions/{connection.subscription_id}"):
                    stack, name = ours.get(str(body["id"]).lower(), (None, str(body["name"])))
                    rows = kind.rows(arm, str(body["id"]), name)
                    yield from (_of_stack(row, stack, name) if stack else row for row in rows)


def _of_stack(row: "Row", stack: StackView, name: str) -> "Row":
    """With what the stack knows of its part of this name."""
    from azure_gpu_operations.running_report import EXECUTION, GROUP

    known = stack.hourly_cost.get(name) if row.kind in (GROUP, EXECUTION) else None  # others cost by what there is of them
    price = row.usd_hour if row.usd_hour is not None or known is None else Decimal(str(known))
    end = instant(stack.expires_at.get(name)) or row.expires_at
    return row._replace(stack=stack.name, usd_hour=price, expires_at=end)
