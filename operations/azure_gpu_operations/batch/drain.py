"""The nodes of a pool: how many there are, what they do and cost, and their removal, each when its running tasks have ended.

Waiting tasks stay queued, and start when the pool has nodes again.
"""

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from azure_gpu_operations.azure import AzureError
from azure_gpu_operations.batch.account import BatchAccount
from azure_gpu_operations.batch.pool_cost import hourly
from azure_gpu_operations.batch.pool_facts import facts_of, word


class NodesNow(NamedTuple):
    dedicated: int
    spot: int
    coming: int  # target minus current nodes
    tasks: int | None  # running; None: not read
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
        nodes = f"{'1 node' if self.nodes == 1 else f'{self.nodes} nodes'}{spot}{coming}"
        if self.tasks is None:
            return f"{nodes}, tasks not read"
        tasks = "1 task" if self.tasks == 1 else f"{self.tasks} tasks" if self.tasks else "no task"
        return f"{nodes}, {tasks} running"


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


def nodes_shown(body: Mapping[str, Any], region: str) -> NodesNow:
    """As Resource Manager shows the pool, without its tasks."""
    shown: Mapping[str, Any] = body.get("properties") or {}
    machine = (shown.get("deploymentConfiguration") or {}).get("virtualMachineConfiguration") or {}
    dedicated, spot = (int(shown.get(f"current{kind}Nodes") or 0) for kind in ("Dedicated", "LowPriority"))
    is_windows = "windows" in str(machine.get("nodeAgentSkuId")).lower()
    price = hourly(str(shown.get("vmSize") or ""), region, dedicated, spot, is_windows=is_windows)
    return NodesNow(dedicated, spot, coming=0, tasks=None, usd_hour=price)


POLL_SECONDS = 5.0

Say = Callable[[str], None]


def drain(
    account: BatchAccount,
    pool_id: str,
    name: str,
    say: Say,
    *,
    limit_seconds: float,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """Whether the pool is empty in time. AzureError if it doesn't exist, or if Batch refuses."""
    pool = account.pool(pool_id)
    if pool is None:
        raise AzureError(f"the pool {name} doesn't exist; it was deleted outside the stack", 404)
    now = nodes_now(account, pool_id)
    if now is not None and not now.nodes and not now.coming and not pool.enable_auto_scale:
        say(f"the pool {name} has no nodes")
        return True
    if word(pool.allocation_state) == "resizing":
        account.stop_resize(pool_id)
        _wait_until_steady(account, pool_id, clock() + limit_seconds, sleep, clock)
    account.empty(pool)
    say(f"the pool {name} removes its nodes, each when its tasks have ended")
    deadline = clock() + limit_seconds
    reported = ""
    while True:
        now = nodes_now(account, pool_id)
        if now is None or not now.nodes:
            say(f"the pool {name} has no nodes any more{_waiting(account, pool_id)}")
            return True
        if now.words != reported:
            reported = now.words
            say(f"the pool {name} has {reported}")
        if clock() >= deadline:
            say(f"the pool {name} still has {now.words}; it continues to remove them")
            return False
        sleep(POLL_SECONDS)


def _wait_until_steady(
    account: BatchAccount, pool_id: str, deadline: float, sleep: Callable[[float], None], clock: Callable[[], float]
) -> None:
    """A pool takes no resize while it resizes."""
    while clock() < deadline:
        pool = account.pool(pool_id)
        if pool is None or word(pool.allocation_state) == "steady":
            return
        sleep(POLL_SECONDS)


def _waiting(account: BatchAccount, pool_id: str) -> str:
    """How many tasks wait for nodes of it."""
    counts = [found for job in account.jobs_on(pool_id) if (found := account.counts(job.id)) is not None]
    active = sum(each.active for each in counts)
    if not active:
        return ""
    return f"; {'1 task waits' if active == 1 else f'{active} tasks wait'} for nodes"
