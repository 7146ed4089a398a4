"""The clusters of Azure ML (AmlCompute): nodes are added when a job waits, and removed when they are idle for too long.

The store has one document for each cluster. A node isn't a process; what a job runs is. Quotas and a region's capacity are the
service's; a cluster that gets no machine says why, and tries again.
"""

import asyncio
import secrets
from collections.abc import Callable, Collection, Coroutine
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from azure_gpu.catalog import durations
from azure_gpu.formats import azure_types
from localazure.arm.store import Body, Resource
from localazure.kinds import ml_quotas
from localazure.services import Services
from localazure.waiting import canceled

PREPARING, IDLE, RUNNING, LEAVING, PREEMPTED = "preparing", "idle", "running", "leaving", "preempted"
_COUNTS = ("idle", "running", "preparing", "unusable", "leaving", "preempted")
_DEFAULT_IDLE = timedelta(seconds=120)
_DOCUMENTS = "ml-clusters/"
NODE_SECONDS = 0.5  # until a new node can run something; minutes on a real one
RETRY_SECONDS = 2.0  # until a cluster that got no machine tries again


class Jobs(NamedTuple):
    """What a cluster is told of jobs."""

    waiting: Callable[[str], list[str]]  # of a compute, the longest first
    nodes: Callable[[str], int]  # that a job runs on at once
    give: Callable[[str, list[Body]], None]  # a job gets these nodes


class Scale(NamedTuple):
    """Of a compute's settings."""

    vm_size: str
    low_priority: bool
    least: int
    most: int
    idle: timedelta


class Clusters:
    """All of them, by the computes' keys."""

    def __init__(self, services: Services, jobs: Jobs) -> None:
        self._services = services
        self._jobs = jobs
        self.records: dict[str, Body] = {}
        self._going: set[asyncio.Task[None]] = set()  # nodes that come or leave
        self._later: dict[str, asyncio.TimerHandle] = {}
        self._stopped = False

    def apply(self, compute: Resource) -> None:
        """A new cluster, or another scale of one that is there."""
        if compute.key not in self.records:
            since = self._services.clock.stamp()
            self.records[compute.key] = {"nodes": [], "target": 0, "since": since, "allocation": "Steady", "errors": []}
        self.look(compute.key, compute)

    def remove(self, key: str) -> None:
        timer = self._later.pop(key, None)
        if timer is not None:
            timer.cancel()
        self.records.pop(key, None)
        self._services.store.delete_document(_DOCUMENTS + key)

    def started(self, on_nodes: Collection[str]) -> None:
        """Resumes what an earlier server left. `on_nodes`: the jobs that are at work; a node that has another one is free."""
        store = self._services.store
        for name, record in store.documents(_DOCUMENTS).items():
            key = name.removeprefix(_DOCUMENTS)
            if store.get(key) is None:
                store.delete_document(name)
                continue
            self.records[key] = record
            record["nodes"] = living(record)
            for node in record["nodes"]:
                if node["state"] == PREPARING:
                    self._bring_up(key, node)
                elif node["state"] == RUNNING and node["job"] not in on_nodes:
                    self._enter(node, IDLE)
        for compute in store.of_type(azure_types.ML_COMPUTE.arm_type):
            if compute.properties.get("computeType") == "AmlCompute" and compute.key not in self.records:
                self.apply(compute)
        self.look_at_all()

    async def close(self) -> None:
        """This server ends."""
        self._stopped = True
        for timer in self._later.values():
            timer.cancel()
        await canceled(*self._going)

    def look_at_all(self) -> None:
        """Nodes that were idle for too long go."""
        for key in list(self.records):
            self.look(key)

    def look(self, key: str, compute: Resource | None = None) -> None:
        """Gives waiting jobs idle nodes, and makes the cluster as large as it has to be."""
        record, scale = self.records.get(key), self.scale(key, compute)
        if record is None or scale is None or self._stopped:
            return
        waiting = self._given(key, record, scale)
        there = living(record)
        coming = sum(node["state"] in (PREPARING, IDLE) for node in there)
        busy = sum(node["state"] == RUNNING for node in there)
        record["target"] = min(scale.most, max(scale.least, busy + waiting))
        self._grow(key, scale, max(record["target"] - len(there), min(scale.most - len(there), waiting - coming)))
        now = self._services.clock.now()
        for node in _leaving(record, scale, waiting, now):
            self._enter(node, LEAVING)
            self._take_away(key, node)
        self._settle(key)
        waits = [scale.idle - _idle_for(node, now) for node in record["nodes"] if node["state"] == IDLE]
        if waits and len(living(record)) > scale.least:
            self._in(key, max(0.0, min(waits).total_seconds()))

    def free(self, key: str, job: str) -> None:
        """The job's node has nothing to do any more."""
        for node in self.records[key]["nodes"] if key in self.records else ():
            if node["job"] == job and node["state"] == RUNNING:
                self._enter(node, IDLE)
        self.look(key)

    def preempt(self, key: str, node: Body) -> None:
        """Takes a node away; another may come after a moment."""
        self._enter(node, PREEMPTED)
        self._settle(key)
        self._in(key, RETRY_SECONDS)

    def scale(self, key: str, compute: Resource | None = None) -> Scale | None:
        compute = compute or self._services.store.get(key)
        if compute is None:
            return None
        settings: Body = compute.properties.get("properties") or {}
        scale: Body = settings.get("scaleSettings") or {}
        return Scale(
            vm_size=str(settings.get("vmSize") or ""),
            low_priority=settings.get("vmPriority") == "LowPriority",
            least=int(scale.get("minNodeCount") or 0),
            most=int(scale.get("maxNodeCount") or 0),
            idle=durations.length(str(scale.get("nodeIdleTimeBeforeScaleDown") or "")) or _DEFAULT_IDLE,
        )

    def view(self, key: str) -> Body:
        """What is shown of a compute beside what was requested."""
        record = self.records.get(key)
        if record is None:
            return {}
        counts = {f"{state}NodeCount": sum(node["state"] == state for node in record["nodes"]) for state in _COUNTS}
        errors = [{"error": error} for error in record["errors"]]
        return {
            "allocationState": record["allocation"],
            "allocationStateTransitionTime": record["since"],
            "currentNodeCount": len(living(record)),
            "targetNodeCount": record["target"],
            "nodeStateCounts": counts,
            **({"errors": errors} if errors else {}),
        }

    def nodes(self, key: str) -> list[Body]:
        """Of listNodes."""
        return [
            {
                "nodeId": node["id"],
                "nodeState": node["state"],
                "port": 50000 + node["number"],
                "privateIpAddress": f"10.0.0.{4 + node['number'] % 250}",
                **({"runId": node["job"]} if node["job"] else {}),
            }
            for node in (self.records[key]["nodes"] if key in self.records else ())
        ]

    # Its own

    def _given(self, key: str, record: Body, scale: Scale) -> int:
        """Gives waiting jobs their nodes, all of a job's at once; how many are still waited for. A job keeps later ones from the
        nodes that it waits for, and one that wants more than there will ever be waits alone."""
        left = 0
        for job in self._jobs.waiting(key):
            requested = self._jobs.nodes(job)
            if requested > scale.most:
                continue
            idle = [node for node in record["nodes"] if node["state"] == IDLE]
            if left or len(idle) < requested:
                left += requested
                continue
            for node in idle[:requested]:
                self._enter(node, RUNNING, job)
            self._jobs.give(job, idle[:requested])
        return left

    def _grow(self, key: str, scale: Scale, count: int) -> None:
        record, compute = self.records[key], self._services.store.get(key)
        location = compute.location if compute else ""
        record["errors"] = []
        for _ in range(count):
            nodes = len(living(record)) + 1
            low = scale.low_priority
            short = ml_quotas.shortage(scale.vm_size, nodes, location, self._services, low_priority=low)
            if short is not None:
                record["errors"] = [{"code": "ClusterCoreQuotaReached", "message": short.message}]
            elif self._services.deviations.lacks_capacity(location):
                message = "Allocation failed: there are no machines of this size left in the region."
                record["errors"] = [{"code": "AllocationFailed", "message": message}]
            if record["errors"]:
                self._in(key, RETRY_SECONDS)
                return
            number = 1 + max((node["number"] for node in record["nodes"]), default=-1)
            node: Body = {"id": f"tvmps_{secrets.token_hex(32)}_d", "number": number}
            self._enter(node, PREPARING)
            record["nodes"].append(node)
            self._bring_up(key, node)

    def _bring_up(self, key: str, node: Body) -> None:
        async def later() -> None:
            await asyncio.sleep(NODE_SECONDS)
            if node["state"] == PREPARING:
                self._enter(node, IDLE)
                self.look(key)

        self._begin(later())

    def _take_away(self, key: str, node: Body) -> None:
        async def later() -> None:
            await asyncio.sleep(NODE_SECONDS)
            record = self.records.get(key)
            if record is not None and node in record["nodes"]:
                record["nodes"].remove(node)
                self._settle(key)

        self._begin(later())

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._going.add(task)
        task.add_done_callback(self._going.discard)

    def _enter(self, node: Body, state: str, job: str = "") -> None:
        node.update(state=state, since=self._services.clock.stamp(), job=job)

    def _in(self, key: str, seconds: float) -> None:
        """Looks at a cluster again."""
        before = self._later.pop(key, None)
        if before is not None:
            before.cancel()
        self._later[key] = asyncio.get_running_loop().call_later(seconds, self.look, key)

    def _settle(self, key: str) -> None:
        record = self.records[key]
        record["nodes"] = [node for node in record["nodes"] if node["state"] != PREEMPTED]
        moving = any(node["state"] in (PREPARING, LEAVING) for node in record["nodes"])
        allocation = "Resizing" if moving else "Steady"
        if allocation != record["allocation"]:
            record["allocation"], record["since"] = allocation, self._services.clock.stamp()
        self._services.store.put_document(_DOCUMENTS + key, record)


def living(record: Body) -> list[Body]:
    return [node for node in record["nodes"] if node["state"] not in (LEAVING, PREEMPTED)]


def _idle_for(node: Body, now: datetime) -> timedelta:
    return now - datetime.fromisoformat(node["since"])


def _leaving(record: Body, scale: Scale, waiting: int, now: datetime) -> list[Body]:
    """The idle nodes whose time is over, down to the least that the cluster keeps. `waiting`: how many jobs will take."""
    there = len(living(record))
    idle = [node for node in record["nodes"] if node["state"] == IDLE]
    beyond = there - scale.most  # the cluster was made smaller
    due = [node for index, node in enumerate(reversed(idle)) if index < beyond or _idle_for(node, now) >= scale.idle]
    return due[: max(0, there - max(scale.least, waiting))]
