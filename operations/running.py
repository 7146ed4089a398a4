"""`python -m operations running`: what runs, since when, until when, and what it costs.

    running                every stack of this project in the backend
    running --stack S      one stack
    running --all          everything of these kinds in the subscriptions of those stacks, whoever made it

Costs are list prices of the catalog; what it doesn't know stays unknown, and a total says so. Running are container groups that
haven't ended, executions of jobs, pools of Batch and of AKS that have nodes, with or without work on them, and AKS clusters that
aren't stopped, with the jobs in them; deployments of Azure ML, which cost as much while nobody asks them, nodes of its computes,
and virtual machines: one that is deallocated costs its disk, one that is only shut down costs what it did. A job without an
execution and a pool without nodes cost nothing; registries, log workspaces, storage, other disks and addresses aren't counted.
"""

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from formats import arm_ids, tags
from operations.connection import Connection
from operations.console import columns, console
from operations.jobs import API_VERSION as JOBS_VERSION
from operations.jobs import instant
from operations.stack import Stack, stack_names
from operations.stack_view import StackView, of_deployment, view

PROJECT_FOLDER = Path(__file__).resolve().parent.parent
NOT_KNOWN = "not known"
_GROUPS = "/providers/Microsoft.ContainerInstance/containerGroups"
_JOBS = "/providers/Microsoft.App/jobs"
_BATCH_ACCOUNTS = "/providers/Microsoft.Batch/batchAccounts"
_CLUSTERS = "/providers/Microsoft.ContainerService/managedClusters"
_POOL_KIND = "Batch pool"
_JOB_IN_CLUSTER = "Kubernetes Job"
_MACHINE = "virtual machine"
_IN_ITS_NODE = "in its node's"
_GROUP_ENDED = frozenset({"Succeeded", "Failed", "Stopped"})


class Row(NamedTuple):
    """One thing that runs."""

    name: str
    kind: str
    state: str
    id: str
    stack: str = ""
    since: datetime | None = None
    expires_at: datetime | None = None
    usd_hour: Decimal | None = None
    counted: bool = True  # it has a cost of its own; a job on a cluster has that of its node

    def so_far(self, now: datetime) -> Decimal | None:
        """USD since it began; None where price or beginning isn't known."""
        if self.usd_hour is None or self.since is None:
            return None
        return self.usd_hour * Decimal(str(max(0.0, (now - self.since).total_seconds()))) / 3600


class Total(NamedTuple):
    """The sum of what is known, and how many aren't."""

    usd: Decimal
    unknown: int

    def __str__(self) -> str:
        if not self.unknown:
            return f"{self.usd:.2f} USD"
        those = "1 cost isn't known" if self.unknown == 1 else f"{self.unknown} costs aren't known"
        return f"at least {self.usd:.2f} USD ({those})" if self.usd else NOT_KNOWN


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "running", help="what runs and what it costs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.set_defaults(run=run)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--stack", help="one stack")
    which.add_argument("--all", action="store_true", help="everything in the subscriptions of the stacks")
    parser.add_argument("--config-folder", type=Path, help="where Pulumi.<stack>.yaml lies (default: the project's own folder)")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")


def run(options: argparse.Namespace) -> int:
    views = _views(options)
    now = datetime.now(UTC)
    rows = list(_everything(views) if options.all else _of_stacks(views))
    if options.json:
        print(json.dumps(as_json(rows, now), indent=2))
    else:
        show(rows, now)
    return 0


def total(amounts: Iterable[Decimal | None]) -> Total:
    given = list(amounts)
    return Total(sum((amount for amount in given if amount is not None), Decimal(0)), given.count(None))


def group_row(body: dict[str, Any]) -> Row | None:
    """A container group that hasn't ended; None for one that has. Its cost isn't in it."""
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
        expires_at=instant((body.get("tags") or {}).get(tags.EXPIRES_AT)),
    )


def as_json(rows: list[Row], now: datetime) -> dict[str, Any]:
    hourly, spent = _totals(rows, now)
    return {
        "running": [
            {
                "name": row.name,
                "kind": row.kind,
                "stack": row.stack or None,
                "state": row.state,
                "since": row.since.isoformat() if row.since else None,
                "expires_at": row.expires_at.isoformat() if row.expires_at else None,
                "usd_hour": _number(row.usd_hour),
                "usd_so_far": _number(row.so_far(now)),
                "id": row.id,
            }
            for row in rows
        ],
        "usd_hour": _number(hourly.usd),
        "usd_so_far": _number(spent.usd),
        "without_known_cost": spent.unknown,
    }


def show(rows: list[Row], now: datetime) -> None:
    from rich.table import Table

    if not rows:
        print("nothing runs")
        return
    table = Table(*columns("what", "kind", "stack", "state", "since", "expires", "an hour", "so far"))
    for row in rows:
        table.add_row(
            row.name,
            row.kind,
            row.stack or "-",
            row.state,
            _moment(row.since) or NOT_KNOWN,
            _expiry(row, now),
            _usd(row.usd_hour) if row.counted else _IN_ITS_NODE,
            _usd(row.so_far(now)) if row.counted else "",
        )
    console().print(table)
    hourly, spent = _totals(rows, now)
    print(f"together an hour: {hourly}; so far: {spent}")
    for command in filter(None, map(stop_command, rows)):
        print(f"to stop it: {command}")


def stop_command(row: Row) -> str:
    """The command that ends an execution, or a pool's nodes; "" for a container group, which its stack brings down."""
    parsed = arm_ids.parse(row.id)
    if row.kind == _POOL_KIND and row.stack:
        return f"python -m operations drain {row.name} --stack {row.stack}"
    if row.kind == _POOL_KIND and parsed is not None:
        account = parsed.scope.rsplit("/", 1)[-1]
        size = "--target-dedicated-nodes 0 --target-low-priority-nodes 0"
        return f"az batch pool resize --pool-id {parsed.name} --account-name {account} {size}"
    if row.kind == _JOB_IN_CLUSTER:
        *_, namespace, _, job = row.id.split("/")
        return f"kubectl delete job {job} --namespace {namespace}  (on {row.name.partition('/')[0]})"
    if row.kind == _MACHINE:
        return f"az vm deallocate --ids {row.id}" if not row.state.startswith("deallocated") else ""
    if parsed is not None and parsed.is_type("Microsoft.ContainerService/managedClusters"):
        return f"az aks stop --ids {row.id}"
    if parsed is None or not parsed.is_type("Microsoft.App/jobs/executions"):
        return ""
    job, execution = parsed.scope.rsplit("/", 1)[-1], parsed.name
    return f"az containerapp job stop --name {job} --resource-group {parsed.resource_group} --job-execution-name {execution}"


def _totals(rows: list[Row], now: datetime) -> tuple[Total, Total]:
    counted = [row for row in rows if row.counted]
    return total(row.usd_hour for row in counted), total(row.so_far(now) for row in counted)


def _views(options: argparse.Namespace) -> list[StackView]:
    if options.stack:
        return [view(_stack(options.stack, options))]
    found = (of_deployment(name, _stack(name, options).deployment()) for name in stack_names(PROJECT_FOLDER))
    return [each for each in found if each is not None]


def _stack(name: str, options: argparse.Namespace) -> Stack:
    folder: Path | None = options.config_folder
    return Stack(PROJECT_FOLDER, name, folder.resolve() / f"Pulumi.{name}.yaml" if folder else None)


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
    known = stack.hourly_cost.get(name) if row.kind != _POOL_KIND else None  # a pool's is that of all the nodes it may have
    price = row.usd_hour if row.usd_hour is not None or known is None else Decimal(str(known))
    return row._replace(
        name=name, stack=stack.name, usd_hour=price, expires_at=instant(stack.expires_at.get(name)) or row.expires_at
    )


def _everything(views: list[StackView]) -> Iterator[Row]:
    """Each subscription once. What belongs to one of the stacks is called as in its file."""
    ours = {resource_id.lower(): (stack, name) for stack in views for name, resource_id in stack.resources.items()}
    for connection in dict.fromkeys(stack.connection for stack in views):
        scope = f"/subscriptions/{connection.subscription_id}"
        with closing(_arm(connection)) as arm:
            rows: list[tuple[str, Row]] = []
            for listed in arm.values(scope + _GROUPS, _group_version()):
                body = arm.get(listed["id"], _group_version())  # the list leaves out how the containers are
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
    from operations import job_cost  # here, because Azure's clients take seconds to load
    from operations.job_client import Jobs

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
            state=execution.status,
            id=f"{job.id}/executions/{execution.name}",
            since=execution.started,
            expires_at=instant((job.body.get("tags") or {}).get(tags.EXPIRES_AT)),
            usd_hour=price.usd_hour if price else None,
        )


def _pools(arm: Any, scope: str) -> Iterator[tuple[str, Row]]:
    """Of every account, whoever made it."""
    from operations.batch.account import API_VERSION  # here, as in `_executions`

    for account in arm.values(scope + _BATCH_ACCOUNTS, API_VERSION):
        for pool in arm.values(f"{account['id']}/pools", API_VERSION):
            for row in _pool(arm, pool["id"]):
                yield pool["id"], row


def _pool(arm: Any, pool_id: str) -> Iterator[Row]:
    """A row where the pool has nodes, or is getting some."""
    from operations.azure import AzureError  # here, as in `_executions`
    from operations.batch.account import API_VERSION, BatchAccount, batch_account_of
    from operations.batch.nodes_now import nodes_now

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
        kind=_POOL_KIND,
        state=now.words,
        id=pool_id,
        since=now.since,
        expires_at=instant((body.get("tags") or {}).get(tags.EXPIRES_AT)),
        usd_hour=now.usd_hour,
    )


def _clusters(arm: Any, scope: str, ours: Mapping[str, tuple[StackView, str]]) -> Iterator[Row]:
    """Of the subscription, whoever made them."""
    from operations.clusters.arm_facts import API_VERSION  # here, as in `_executions`

    for cluster in arm.values(scope + _CLUSTERS, API_VERSION):
        stack, name = ours.get(str(cluster["id"]).lower(), (None, str(cluster["name"])))
        for row in _cluster(arm, cluster["id"], name):
            expires_at = instant(stack.expires_at.get(name)) if stack else None
            yield row._replace(stack=stack.name if stack else "", expires_at=expires_at or row.expires_at)


def _cluster(arm: Any, cluster_id: str, name: str) -> Iterator[Row]:
    from operations.clusters import running_rows  # here, as in `_executions`

    for found in running_rows.of_cluster(arm, cluster_id, name):
        yield _row(found)


def _row(found: Any) -> Row:
    end = instant(found.tags.get(tags.EXPIRES_AT))
    return Row(found.name, found.kind, found.state, found.id, "", found.since, end, found.usd_hour, found.counted)


def _machine_learning(arm: Any, stack: StackView) -> Iterator[tuple[str, Row]]:
    """Endpoints, computes and machines of a stack, each with its name in the stack file."""
    from operations.machine_learning import running_rows  # here, as in `_executions`

    of = ((stack.endpoints, running_rows.of_endpoint), (stack.ml_computes, running_rows.of_compute))
    for ids, rows in (*of, (stack.vms, running_rows.of_machine)):
        for name, resource_id in ids.items():
            yield from ((name, _row(found)) for found in rows(arm, resource_id, name))


def _all_machine_learning(arm: Any, scope: str, ours: Mapping[str, tuple[StackView, str]]) -> Iterator[Row]:
    """Of the subscription, whoever made them; what belongs to one of the stacks is called as in its file."""
    from operations.machine_learning import running_rows  # here, as in `_executions`

    for resource_id, found in running_rows.of_subscription(arm, scope):
        row = _row(found)
        stack, name = ours.get(resource_id.lower(), (None, ""))
        if stack is not None:
            called = "/".join([name, *row.name.split("/")[1:]])
            end = instant(stack.expires_at.get(name)) or row.expires_at
            row = row._replace(name=called, stack=stack.name, expires_at=end)
        yield row


def _arm(connection: Connection) -> Any:
    from operations.azure import Arm  # here, as in `_executions`

    return Arm(connection)


def _group_version() -> str:
    from operations.groups import API_VERSION  # here, as in `_executions`

    return API_VERSION


def _moment(moment: datetime | None) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if moment else ""


def _expiry(row: Row, now: datetime) -> str:
    if row.expires_at is None:
        return "no end"
    return _moment(row.expires_at) + (", passed" if row.expires_at <= now else "")


def _usd(amount: Decimal | None) -> str:
    return NOT_KNOWN if amount is None else f"{amount:.2f} USD"


def _number(amount: Decimal | None) -> float | None:
    return None if amount is None else round(float(amount), 4)
