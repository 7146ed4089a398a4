"""What waiting tasks wait for: nodes, their start task, an image, or something that will never happen. Pure."""

from collections import Counter
from collections.abc import Sequence

from azure.batch import models

from azure_gpu_operations.batch.pool_facts import NO_NODES_AGAIN, PoolFacts, word

# Codes of resize errors that don't resolve by waiting: limits of the account. PoolResizeErrorCodes of Azure's .NET client, and
# AccountVMSeriesCoreQuotaReached from Microsoft's page on failing resizes of pools.
QUOTAS = frozenset(
    {
        "AccountCoreQuotaReached",
        "AccountLowPriorityCoreQuotaReached",
        "AccountSpotCoreQuotaReached",
        "AccountVMSeriesCoreQuotaReached",
        "UnsupportedVMSize",
    }
)
_COMING = {
    "creating": "is being created",
    "starting": "is starting",
    "waitingforstarttask": "runs its start task",
    "rebooting": "is rebooting",
    "reimaging": "is being reimaged",
    "preempted": "was preempted (Spot) and may come back",
    "offline": "accepts no new tasks",
    "leavingpool": "is leaving the pool",
    "unknown": "doesn't answer",
}


def sentence(name: str, pool: PoolFacts, nodes: Sequence[models.BatchNode], needed: int = 1) -> str:
    """What the tasks wait for. `needed`: nodes at once."""
    if pool.resize_errors and not nodes:
        code, message = pool.resize_errors[0]
        return f"the pool {name} got no nodes: {code}: {_first(message)}"
    if pool.target > pool.nodes or (pool.allocation == "resizing" and pool.target != pool.nodes):
        return f"the pool {name} is resizing: {pool.nodes} → {_count(pool.target)}"
    states = Counter(word(node.state) for node in nodes)
    for state, doing in _COMING.items():
        if states[state]:
            return f"{_count(states[state])} of the pool {name} {doing if states[state] == 1 else _plural(doing)}"
    if pool.is_steady and len(nodes) < needed:
        formula = "; its formula is being evaluated" if pool.formula else ""
        return f"the pool {name} has {_count(len(nodes))}, and {_count(needed)} are needed{formula}".replace(
            "1 node are needed", "1 is needed"
        )
    if needed > 1 and 0 < states["idle"] < needed:
        return f"{_count(needed)} of the pool {name} are needed at once, and {_free(states['idle'], len(nodes))}"
    if states["running"]:
        return f"every node of the pool {name} is busy with other tasks"
    return f"a node of the pool {name} is getting ready for it"


def hopeless(name: str, pool: PoolFacts, nodes: Sequence[models.BatchNode]) -> str:
    """Why no task will ever start on this pool; "" if one may."""
    dead = [node for node in nodes if word(node.state) in NO_NODES_AGAIN]
    if nodes and len(dead) == len(nodes) and pool.is_steady:
        failed = [node for node in dead if word(node.state) == "starttaskfailed"]
        if failed:
            code = failed[0].start_task_info.exit_code if failed[0].start_task_info else None
            with_code = f" with exit code {code}" if code is not None else ""
            return f"the start task of the pool {name} failed{with_code} on {'its node' if len(nodes) == 1 else 'all its nodes'}"
        errors = [error for node in dead for error in node.errors or ()]
        error = f": {errors[0].code}: {_first(errors[0].message or '')}" if errors else ""
        return f"{'the node' if len(nodes) == 1 else 'every node'} of the pool {name} is unusable{error}"
    if not nodes and pool.is_steady and pool.target > 0:
        for code, message in pool.resize_errors:
            if code in QUOTAS:
                return f"the pool {name} gets no nodes: {code}: {_first(message)}"
    return ""


def too_few(name: str, pool: PoolFacts, needed: int) -> str:
    """Message for a formula that counts a task on several nodes as one."""
    fix = f"`nodes_per_task: {needed}` of its `autoscale` in the stack's file counts them as {needed} each"
    return f"the formula of the pool {name} gives {_count(pool.target)} to a task that needs {needed} at once; {fix}"


def preparation_failed(
    statuses: Sequence[models.BatchJobPreparationAndReleaseTaskStatus],
) -> models.BatchJobPreparationAndReleaseTaskStatus | None:
    """The first node on which the job's preparation failed, so that none of its tasks starts there."""
    for each in statuses:
        info = each.job_preparation_task_execution_info
        if info is not None and word(info.state) == "completed" and word(info.result) == "failure":
            return each
    return None


def _count(nodes: int) -> str:
    return "1 node" if nodes == 1 else f"{nodes} nodes"


def _free(idle: int, nodes: int) -> str:
    return f"{idle} of {nodes} {'is' if idle == 1 else 'are'} idle"


def _plural(doing: str) -> str:
    first, _, rest = doing.partition(" ")
    many = {"is": "are", "runs": "run", "was": "were", "accepts": "accept", "doesn't": "don't"}.get(first, first)
    return f"{many} {rest}"


def _first(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0] if lines else ""
