"""Report of `running` as a table or JSON: since when, until when, cost, and the command that stops it.

Totals say how many costs are unknown.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from azure_gpu.formats import arm_ids
from azure_gpu.formats.dates import instant
from azure_gpu.formats.tags import EXPIRES_AT
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.console import console
from azure_gpu_operations.tables import Heading, of_rows, print_table

GROUP, EXECUTION, POOL = "container group", "job execution", "Batch pool"
NOT_KNOWN = "not known"
JOB_IN_CLUSTER = "Kubernetes Job"
MACHINE = "virtual machine"
_IN_ITS_NODE = "in its node's"
_DEALLOCATED = "deallocated"
_HEADINGS = (
    Heading("what"),
    Heading("kind", 4),
    Heading("stack", 2),
    Heading("state", 5, wraps=12),
    Heading("since", 0),
    Heading("expires", 3),
    Heading("an hour", 6),
    Heading("so far", 1),
)


class Row(NamedTuple):
    """One running resource."""

    name: str
    kind: str
    state: str
    id: str  # of a Job: below its cluster's
    stack: str = ""
    since: datetime | None = None  # not known of nodes and clusters
    expires_at: datetime | None = None
    usd_hour: Decimal | None = None
    counted: bool = True  # False: its cost is part of another row, as that of a job on a cluster

    def so_far(self, now: datetime) -> Decimal | None:
        """USD since it began; None where price or beginning isn't known."""
        if self.usd_hour is None or self.since is None:
            return None
        return self.usd_hour * Decimal(str(max(0.0, (now - self.since).total_seconds()))) / 3600


class Total(NamedTuple):
    """The sum of the known costs, and the number of unknown ones."""

    usd: Decimal
    unknown: int

    def __str__(self) -> str:
        if not self.unknown:
            return f"{self.usd:.2f} USD"
        those = "1 cost isn't known" if self.unknown == 1 else f"{self.unknown} costs aren't known"
        return f"at least {self.usd:.2f} USD ({those})" if self.usd else NOT_KNOWN


def end_of(tags: Mapping[str, Any] | None) -> datetime | None:
    """The end date in the tags."""
    return instant((tags or {}).get(EXPIRES_AT))


def total(amounts: Iterable[Decimal | None]) -> Total:
    given = list(amounts)
    return Total(sum((amount for amount in given if amount is not None), Decimal(0)), given.count(None))


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


def show(rows: list[Row], now: datetime, *, wide: bool = False) -> None:
    if not rows:
        print("nothing is running")
        return
    print_table(console(), of_rows(_HEADINGS, (_cells(row, now) for row in rows)), wide=wide)
    hourly, spent = _totals(rows, now)
    print(f"together an hour: {hourly}; so far: {spent}")
    for command in filter(None, map(stop_command, rows)):
        print(f"to stop it: {command}")


def _cells(row: Row, now: datetime) -> tuple[str, ...]:
    return (
        row.name,
        row.kind,
        row.stack or "-",
        row.state,
        _moment(row.since) or NOT_KNOWN,
        _expiry(row, now),
        _usd(row.usd_hour) if row.counted else _IN_ITS_NODE,
        _usd(row.so_far(now)) if row.counted else "",
    )


def stop_command(row: Row) -> str:
    """The command that ends an execution, or a pool's nodes; "" for a container group, which its stack brings down."""
    parsed = arm_ids.parse(row.id)
    if row.kind in (POOL, MACHINE) and row.stack and not row.state.startswith(_DEALLOCATED):
        return f"{COMMAND} stop {row.name} --stack {row.stack}"
    if row.kind == POOL and parsed is not None:
        account = parsed.scope.rsplit("/", 1)[-1]
        size = "--target-dedicated-nodes 0 --target-low-priority-nodes 0"
        return f"az batch pool resize --pool-id {parsed.name} --account-name {account} {size}"
    if row.kind == JOB_IN_CLUSTER:
        *_, namespace, _, job = row.id.split("/")
        return f"kubectl delete job {job} --namespace {namespace}  (on {row.name.partition('/')[0]})"
    if row.kind == MACHINE:
        return f"az vm deallocate --ids {row.id}" if not row.state.startswith(_DEALLOCATED) else ""
    if parsed is not None and parsed.is_type("Microsoft.ContainerService/managedClusters"):
        return f"az aks stop --ids {row.id}"
    if parsed is None or not parsed.is_type("Microsoft.App/jobs/executions"):
        return ""
    job, execution = parsed.scope.rsplit("/", 1)[-1], parsed.name
    return f"az containerapp job stop --name {job} --resource-group {parsed.resource_group} --job-execution-name {execution}"


def _totals(rows: list[Row], now: datetime) -> tuple[Total, Total]:
    counted = [row for row in rows if row.counted]
    return total(row.usd_hour for row in counted), total(row.so_far(now) for row in counted)


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
