"""The nodes of a cluster of Azure ML (AmlCompute): their number, their states, and when an idle one is removed.

A node isn't a process; what a job runs is.
"""

import secrets
from datetime import datetime, timedelta
from typing import NamedTuple

from azure_gpu.catalog import durations
from localazure.arm.store import Body

PREPARING, IDLE, RUNNING, LEAVING, PREEMPTED = "preparing", "idle", "running", "leaving", "preempted"
STEADY, RESIZING = "Steady", "Resizing"
_COUNTS = ("idle", "running", "preparing", "unusable", "leaving", "preempted")
_DEFAULT_IDLE = timedelta(seconds=120)


class Scale(NamedTuple):
    """Of a compute's settings."""

    vm_size: str
    low_priority: bool
    least: int
    most: int
    idle: timedelta


def scale_of(settings: Body) -> Scale:
    """`settings`: the compute's `properties.properties`."""
    scale: Body = settings.get("scaleSettings") or {}
    idle = durations.length(str(scale.get("nodeIdleTimeBeforeScaleDown") or "")) or _DEFAULT_IDLE
    return Scale(
        vm_size=str(settings.get("vmSize") or ""),
        low_priority=settings.get("vmPriority") == "LowPriority",
        least=int(scale.get("minNodeCount") or 0),
        most=int(scale.get("maxNodeCount") or 0),
        idle=idle,
    )


def new_record(now: str) -> Body:
    return {"nodes": [], "target": 0, "since": now, "allocation": STEADY, "errors": []}


def new_node(number: int, now: str) -> Body:
    return {"id": f"tvmps_{secrets.token_hex(32)}_d", "number": number, "state": PREPARING, "since": now, "job": ""}


def enter(node: Body, state: str, now: str, job: str = "") -> None:
    node.update(state=state, since=now, job=job)


def living(record: Body) -> list[Body]:
    return [node for node in record["nodes"] if node["state"] not in (LEAVING, PREEMPTED)]


def idle_for(node: Body, now: datetime) -> timedelta:
    return now - datetime.fromisoformat(node["since"])


def leaving(record: Body, scale: Scale, waiting: int, now: datetime) -> list[Body]:
    """The idle nodes whose time is over, down to the least that the cluster keeps. `waiting`: how many jobs will take."""
    left = max(0, len(living(record)) - max(scale.least, waiting))
    idle = [node for node in record["nodes"] if node["state"] == IDLE]
    beyond = max(0, len(living(record)) - scale.most)  # the cluster was made smaller
    due = [node for index, node in enumerate(reversed(idle)) if index < beyond or idle_for(node, now) >= scale.idle]
    return due[:left]


def next_look(record: Body, scale: Scale, now: datetime) -> float | None:
    """In how many seconds the next idle node's time is over."""
    waits = [scale.idle - idle_for(node, now) for node in record["nodes"] if node["state"] == IDLE]
    return min((max(0.0, wait.total_seconds()) for wait in waits), default=None)


def view(record: Body) -> Body:
    """What is shown of a compute beside what was requested."""
    counts = {f"{state}NodeCount": sum(node["state"] == state for node in record["nodes"]) for state in _COUNTS}
    shown: Body = {
        "allocationState": record["allocation"],
        "allocationStateTransitionTime": record["since"],
        "currentNodeCount": len(living(record)),
        "targetNodeCount": record["target"],
        "nodeStateCounts": counts,
    }
    if record["errors"]:
        shown["errors"] = [{"error": error} for error in record["errors"]]
    return shown


def node_view(node: Body) -> Body:
    """Of listNodes."""
    address = f"10.0.0.{4 + node['number'] % 250}"
    shown = {"nodeId": node["id"], "nodeState": node["state"], "port": 50000 + node["number"], "privateIpAddress": address}
    return {**shown, **({"runId": node["job"]} if node["job"] else {})}
