"""The current nodes of a pool, their running tasks and their hourly cost."""

from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from azure_gpu_operations.batch.account import BatchAccount
from azure_gpu_operations.batch.pool_cost import hourly
from azure_gpu_operations.batch.pool_facts import facts_of


class NodesNow(NamedTuple):
    dedicated: int
    spot: int
    coming: int  # target minus current nodes
    tasks: int  # running
    since: datetime | None = None  # when the oldest of them came
    usd_hour: Decimal | None = None

    @property
    def nodes(self) -> int:
        return self.dedicated + self.spot

    @property
    def words(self) -> str:
        """`2 nodes (1 Spot), 3 tasks running`."""
        spot = f" ({self.spot} Spot)" if self.spot else ""
        coming = f", {self.coming} more to come" if self.coming else ""
        tasks = "1 task" if self.tasks == 1 else f"{self.tasks} tasks" if self.tasks else "no task"
        return f"{'1 node' if self.nodes == 1 else f'{self.nodes} nodes'}{spot}{coming}, {tasks} running"


def nodes_now(account: BatchAccount, pool_id: str) -> NodesNow | None:
    pool = account.pool(pool_id)
    if pool is None:
        return None
    facts = facts_of(pool)
    nodes = account.nodes(pool_id)
    spot = sum(node.is_dedicated is False for node in nodes)
    dedicated = len(nodes) - spot
    return NodesNow(
        dedicated=dedicated,
        spot=spot,
        coming=max(0, facts.target - len(nodes)),
        tasks=sum(node.running_tasks_count or 0 for node in nodes),
        since=min((node.allocation_time for node in nodes if node.allocation_time), default=None),
        usd_hour=hourly(facts.size, account.location, dedicated, spot, is_windows=facts.is_windows),
    )
