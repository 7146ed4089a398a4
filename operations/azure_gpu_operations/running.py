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
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from azure_gpu.formats.dates import instant
from azure_gpu_operations import stack_options
from azure_gpu_operations.connection import Connection
from azure_gpu_operations.console import add_wide
from azure_gpu_operations.jobs import API_VERSION as JOBS_VERSION
from azure_gpu_operations.project import project
from azure_gpu_operations.running_report import POOL, Row, as_json, end_of, show
from azure_gpu_operations.stack import stack_names
from azure_gpu_operations.stack_view import StackView, of_deployment, view

_GROUPS = "/providers/Microsoft.ContainerInstance/containerGroups"
_JOBS = "/providers/Microsoft.App/jobs"
_BATCH_ACCOUNTS = "/providers/Microsoft.Batch/batchAccounts"
_CLUSTERS = "/providers/Microsoft.ContainerService/managedClusters"
_GROUP_ENDED = frozenset({"Succeeded", "Failed", "Stopped"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--stack", help="one stack")
    which.add_argument("--all", action="store_true", help="everything in the subscriptions of the stacks")
    stack_options.add_config_folder(parser)
    add_wide(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")


def run(options: argparse.Namespace) -> int:
    views = _views(options)
    now = datetime.now(UTC)
    rows = list(_everything(views) if options.all else _of_stacks(views))
    if options.json:
        print(json.dumps(as_json(rows, now), indent=2))
    else:
        show(rows, now, wide=options.wide)
    return 0


def group_row(body: dict[str, Any]) -> Row | None:
    """Row of a container group, without its cost; None if it has ended."""
    properties = body["properties"]
    state = (properties.get("instanceView") or {}).get("state") or str(properties.get("provisioningState") or "")
    if state in _GROUP_ENDED and (properties.get("instanceView") or {}).get("state"):
        return None
    started = [
        instant(((each["properties"].get("instanceView") or {}).get("currentState") or {}).get("startTime"))
        for each in properties.get("containers") or []
    ]
    return Row(
        name=body["name"],
        kind="container group",
        state=state,
        id=body["id"],
        since=min((each for each in started if each), default=None),
        expires_at=end_of(body.get("tags")),
    )


def _views(options: argparse.Namespace) -> list[StackView]:
    if options.stack:
        return [view(stack_options.stack_of(options))]
    found = (of_deployment(name, stack_options.stack_of(options, name).deployment()) for name in stack_names(project().program))
    return [each for each in found if each is not None]


def _of_stacks(views: list[StackView]) -> Iterator[Row]:
    for stack in views:
        with closing(_arm(stack.connection)) as arm:
            for name, group_id in stack.groups.items():
                body = arm.get(group_id, _group_version())
                row = group_row(body) if body else None
                if row:
                    yield _of_stack(row, stack, name)
            for name, job_id in stack.jobs.items():
                for row in _executions(arm, job_id):
                    yield _of_stack(row, stack, name)
            for name, pool_id in stack.pools.items():
                for row in _pool(arm, pool_id):
                    yield _of_stack(row, stack, name)
            for name, cluster_id in stack.clusters.items():
                for row in _cluster(arm, cluster_id, name):
                    yield row._replace(stack=stack.name, expires_at=instant(stack.expires_at.get(name)) or row.expires_at)
            for name, row in _machine_learning(arm, stack):
                yield row._replace(stack=stack.name, expires_at=instant(stack.expires_at.get(name)) or row.expires_at)


def _of_stack(row: Row, stack: StackView, name: str) -> Row:
    known = stack.hourly_cost.get(name) if row.kind != POOL else None  # a pool's output is the cost of its maximum size
    price = row.usd_hour if row.usd_hour is not None or known is None else Decimal(str(known))
    return row._replace(
        name=name, stack=stack.name, usd_hour=price, expires_at=instant(stack.expires_at.get(name)) or row.expires_at
    )


def _everything(views: list[StackView]) -> Iterator[Row]:
    """Each subscription once. Parts of the stacks have their names in the stack file."""
    ours = {resource_id.lower(): (stack, name) for stack in views for name, resource_id in stack.resources.items()}
    for connection in dict.fromkeys(stack.connection for stack in views):
        scope = f"/subscriptions/{connection.subscription_id}"
        with closing(_arm(connection)) as arm:
            rows: list[tuple[str, Row]] = []
            for listed in arm.values(scope + _GROUPS, _group_version()):
                body = arm.get(listed["id"], _group_version())  # the list has no container states
                row = group_row(body) if body else None
                rows += [(listed["id"], row)] if row else []
            for listed in arm.values(scope + _JOBS, JOBS_VERSION):
                rows += [(listed["id"], row) for row in _executions(arm, listed["id"])]
            for pool_id, row in _pools(arm, scope):
                rows.append((pool_id, row))
            clusters = [*_clusters(arm, scope, ours), *_all_machine_learning(arm, scope, ours)]
        for resource_id, row in rows:
            found = ours.get(resource_id.lower())
            yield _of_stack(row, *found) if found else row
        yield from clusters


def _executions(arm: Any, job_id: str) -> Iterator[Row]:
    from azure_gpu_operations import job_cost  # here, because Azure's clients load slowly
    from azure_gpu_operations.job_client import Jobs

    jobs = Jobs(arm)
    job = jobs.get(job_id)
    if job is None:
        return
    going = [each for each in jobs.executions(job) if not each.is_over]
    price = job_cost.hourly_price(job, jobs.profile_type(job)) if going else None
    for execution in going:
        yield Row(
            name=job.name,
            kind="job execution",
            state=(jobs.execution(job, execution.name) or execution).described,  # the list may leave the containers out
            id=f"{job.id}/executions/{execution.name}",
            since=execution.started,
            expires_at=end_of(job.body.get("tags")),
            usd_hour=price.usd_hour if price else None,
        )


def _pools(arm: Any, scope: str) -> Iterator[tuple[str, Row]]:
    """Of every Batch account."""
    from azure_gpu_operations.batch.account import API_VERSION  # here, as in `_executions`

    for account in arm.values(scope + _BATCH_ACCOUNTS, API_VERSION):
        for pool in arm.values(f"{account['id']}/pools", API_VERSION):
            for row in _pool(arm, pool["id"]):
                yield pool["id"], row


def _pool(arm: Any, pool_id: str) -> Iterator[Row]:
    """A row if the pool has nodes or is allocating some."""
    from azure_gpu_operations.azure import AzureError  # here, as in `_executions`
    from azure_gpu_operations.batch.account import API_VERSION, BatchAccount, batch_account_of
    from azure_gpu_operations.batch.nodes_now import nodes_now

    body = arm.get(pool_id, API_VERSION)
    if body is None:
        return
    try:
        with closing(BatchAccount(arm, batch_account_of(pool_id))) as account:
            now = nodes_now(account, pool_id.rsplit("/", 1)[-1])
    except AzureError as error:
        if error.status not in (401, 403, 404):
            raise
        return
    if now is None or not (now.nodes or now.coming):
        return
    yield Row(
        name=str(body["name"]),
        kind=POOL,
        state=now.words,
        id=pool_id,
        since=now.since,
        expires_at=end_of(body.get("tags")),
        usd_hour=now.usd_hour,
    )


def _clusters(arm: Any, scope: str, ours: Mapping[str, tuple[StackView, str]]) -> Iterator[Row]:
    """All of the subscription."""
    from azure_gpu_operations.clusters.arm_facts import API_VERSION  # here, as in `_executions`

    for cluster in arm.values(scope + _CLUSTERS, API_VERSION):
        stack, name = ours.get(str(cluster["id"]).lower(), (None, str(cluster["name"])))
        for row in _cluster(arm, cluster["id"], name):
            expires_at = instant(stack.expires_at.get(name)) if stack else None
            yield row._replace(stack=stack.name if stack else "", expires_at=expires_at or row.expires_at)


def _cluster(arm: Any, cluster_id: str, name: str) -> Iterator[Row]:
    from azure_gpu_operations.clusters import running_rows  # here, as in `_executions`

    yield from running_rows.of_cluster(arm, cluster_id, name)


def _machine_learning(arm: Any, stack: StackView) -> Iterator[tuple[str, Row]]:
    """Endpoints, computes and machines of a stack, each with its name in the stack file."""
    from azure_gpu_operations.machine_learning import running_rows  # here, as in `_executions`

    of = ((stack.endpoints, running_rows.of_endpoint), (stack.ml_computes, running_rows.of_compute))
    for ids, rows in (*of, (stack.vms, running_rows.of_machine)):
        for name, resource_id in ids.items():
            yield from ((name, row) for row in rows(arm, resource_id, name))


def _all_machine_learning(arm: Any, scope: str, ours: Mapping[str, tuple[StackView, str]]) -> Iterator[Row]:
    """Of the subscription; parts of the stacks have their names in the stack file."""
    from azure_gpu_operations.machine_learning import running_rows  # here, as in `_executions`

    for resource_id, row in running_rows.of_subscription(arm, scope):
        stack, name = ours.get(resource_id.lower(), (None, ""))
        if stack is not None:
            called = "/".join([name, *row.name.split("/")[1:]])
            end = instant(stack.expires_at.get(name)) or row.expires_at
            yield row._replace(name=called, stack=stack.name, expires_at=end)
        else:
            yield row


def _arm(connection: Connection) -> Any:
    from azure_gpu_operations.azure import Arm  # here, as in `_executions`

    return Arm(connection)


def _group_version() -> str:
    from azure_gpu_operations.groups import API_VERSION  # here, as in `_executions`

    return API_VERSION
