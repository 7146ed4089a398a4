"""One live pool: its target numbers of nodes, its nodes, and its resizes.

The service stops at the account's quota with a resize error, and keeps the nodes that it got.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from azure_gpu.catalog import durations
from azure_gpu.formats.autoscale_formula import Targets
from localazure.arm.store import Body
from localazure.batch import autoscaling, failures
from localazure.batch.model import PoolKey
from localazure.batch.nodes import node as nodes
from localazure.batch.nodes.node import Node, NodeContext
from localazure.batch.pool_settings import DEFAULT_RESIZE_TIMEOUT, PoolSettings
from localazure.batch.task_runs import TaskRuns
from localazure.batch.work import Work
from localazure.kinds import batch_quotas
from localazure.services import Services
from localazure.waiting import canceled

DEDICATED, SPOT = "dedicated", "low priority"


PoolUsage = tuple[str, int, int]  # what one pool has: its size, dedicated and Spot nodes


log = logging.getLogger(__name__)

STEADY, RESIZING, STOPPING = "Steady", "Resizing", "Stopping"
RESTORE_SECONDS = 5.0  # until a Spot node that was taken away is brought back, where there is capacity
_DEFAULT_INTERVAL = timedelta(minutes=15)


class PoolContext(NamedTuple):
    """What a pool gets from the server."""

    services: Services
    work: Work
    runs: TaskRuns
    nodes: NodeContext
    others: Callable[["Pool"], list[PoolUsage]]  # what the account's other pools have
    addresses: Callable[[], set[str]]  # that nodes have
    save: Callable[["Pool"], None]


class Pool:
    """`record` is what outlasts this server."""

    def __init__(self, key: PoolKey, record: Body, context: PoolContext) -> None:
        self.key = key
        self.record = record
        self.context = context
        self.measured = autoscaling.Measured()
        self.settings = PoolSettings(record["name"], record["location"], record["body"])
        self.nodes = [Node(one, self.settings, context.nodes) for one in record["nodes"]]
        self.finished = [0, 0]  # tasks that succeeded, that failed
        self._resizing: asyncio.Task[None] | None = None
        self._restoring: set[asyncio.Task[None]] = set()
        self._leaving: list[Node] = []  # of those resumed from an earlier server
        self._going: set[asyncio.Task[None]] = set()  # nodes that leave, whoever asked for it

    def node(self, node_id: str) -> Node | None:
        return next((node for node in self.nodes if node.id.lower() == node_id.lower() and node.counts), None)

    # What is asked

    def apply(self, body: Body) -> None:
        """A new body: what it says of nodes holds for those that come up from now on; another scale begins a resize."""
        before = self.settings.scale
        self.record["body"] = body
        self.settings = PoolSettings(self.record["name"], self.record["location"], body)
        for node in self.nodes:
            node.settings = self.settings
        if before != self.settings.scale:
            self.rescale()
        self.context.save(self)

    def rescale(self) -> None:
        """As the scale settings ask."""
        fixed, auto = self.settings.scale.get("fixedScale") or {}, self.settings.scale.get("autoScale")
        if auto:
            self.set_autoscale(str(auto.get("formula") or ""), str(auto.get("evaluationInterval") or ""))
            return
        self.record["formula"] = ""
        self.resize(
            int(fixed.get("targetDedicatedNodes") or 0),
            int(fixed.get("targetLowPriorityNodes") or 0),
            str(fixed.get("nodeDeallocationOption") or "Requeue"),
            str(fixed.get("resizeTimeout") or DEFAULT_RESIZE_TIMEOUT),
        )

    def resize(self, dedicated: int, spot: int, option: str, timeout: str) -> None:
        """Begins to get to these numbers; a resize under way is given up for it."""
        self.record["dedicated"], self.record["spot"] = dedicated, spot
        self._begin_resize(dedicated, spot, option, timeout, self._resize(option, durations.length(timeout)))

    def _begin_resize(self, dedicated: int, spot: int, option: str, timeout: str, work: Coroutine[Any, Any, None]) -> None:
        if self._resizing is not None:
            self._resizing.cancel()
        self.record["resize"] = {
            "targetDedicatedNodes": dedicated,
            "targetLowPriorityNodes": spot,
            "resizeTimeout": timeout,
            "nodeDeallocationOption": option,
            "startTime": self.context.nodes.now(),
        }
        self._enter(RESIZING)
        self._resizing = asyncio.create_task(work)

    async def stop_resize(self) -> None:
        if self._resizing is None or self._resizing.done():
            return
        self._enter(STOPPING)
        await canceled(self._resizing)
        self._errors(
            [failures.resize("ResizeStopped", DEDICATED if self._lacking(dedicated=True) else SPOT)]
            if self._lacking(dedicated=True) or self._lacking(dedicated=False)
            else []
        )
        self._enter(STEADY)

    def set_autoscale(self, formula: str, interval: str) -> None:
        """Under this formula from now on; it is evaluated at once. An empty one ends it, and the numbers stay."""
        self.record["formula"], self.record["interval"] = formula, interval
        if formula:
            self.evaluate(formula, act=True)
        self.context.save(self)

    def evaluate(self, formula: str, *, act: bool) -> Body:
        """A run of a formula. `act`: the pool is resized to what it requests."""
        now = self.context.services.clock.now()
        self.measure(now)
        current = Targets(self.record["dedicated"], self.record["spot"])
        targets, run = autoscaling.evaluate(formula, self.measured, now, current)
        if act:
            self.record["run"], self.record["evaluated"] = run, now.isoformat()
            if "error" not in run and (
                targets[:2] != current[:2] or self._lacking(dedicated=True) or self._lacking(dedicated=False)
            ):
                self.resize(targets.dedicated, targets.spot, targets.deallocation, DEFAULT_RESIZE_TIMEOUT)
            self.context.save(self)
        return run

    def tick(self, now: datetime) -> None:
        """Every 30 seconds: a sample, and an evaluation where it is due."""
        if self.record["formula"]:
            interval = durations.length(self.record["interval"] or "") or _DEFAULT_INTERVAL
            if now >= datetime.fromisoformat(self.record["evaluated"]) + interval:
                self.evaluate(self.record["formula"], act=True)
                return
        self.measure(now)

    def measure(self, now: datetime) -> None:
        active, running = self.context.work.counts(self.key)
        usable = sum(node.state in ("idle", "running") for node in self.nodes)
        self.measured.add(
            now.astimezone(UTC),
            {
                "$ActiveTasks": active,
                "$RunningTasks": running,
                "$PendingTasks": active + running,
                "$SucceededTasks": self.finished[0],
                "$FailedTasks": self.finished[1],
                "$CurrentDedicatedNodes": self.current(dedicated=True),
                "$CurrentLowPriorityNodes": self.current(dedicated=False),
                "$PreemptedNodeCount": sum(node.state == "preempted" for node in self.nodes),
                "$UsableNodeCount": usable,
                "$SampleNodeCount": usable,
                "$TaskSlotsPerNode": self.settings.slots,
            },
        )

    async def remove(self) -> None:
        """The pool is deleted, with its nodes."""
        if self._resizing is not None:
            self._resizing.cancel()
        for task in self._restoring:
            task.cancel()
        for node in self.nodes:
            node.enter("leavingpool")  # before a task is given up, which would else be given to a node here again
        await asyncio.gather(*(self.context.runs.give_up(node) for node in self.nodes))
        await asyncio.gather(*self._going, *(node.leave() for node in self.nodes))
        self.nodes.clear()

    async def take_away(self, chosen: Sequence[Node], option: str) -> None:
        """Nodes leave, each when its tasks allow it."""
        await asyncio.gather(*(self._leave(node, option) for node in chosen))

    async def preempt(self, node: Node) -> None:
        """A Spot node is taken away; it comes back where there is capacity."""
        node.enter("preempted")
        self.context.runs.node_lost(node)
        await self.context.runs.give_up(node)
        await node.preempt()
        self._begin_restoring(node)

    def _begin_restoring(self, node: Node) -> None:
        restoring = asyncio.create_task(self._restore(node))
        self._restoring.add(restoring)
        restoring.add_done_callback(self._restoring.discard)

    async def adopt(self) -> None:
        """After a restart: nodes are resumed. `resume` follows when their tasks are, too."""
        self._leaving = [node for node in self.nodes if not node.counts]
        for node in self._leaving:
            node.record["phase"] = nodes.READY  # with its tasks, until it is sent away again
        await asyncio.gather(*(node.adopt() for node in self.nodes))

    def resume(self) -> None:
        """What was under way at the restart continues."""
        for node in self.nodes:
            if node.state == "preempted":
                self._begin_restoring(node)
        last = self.record["resize"]
        if last and (self._leaving or self.record["allocation"] != STEADY):
            option, timeout = last["nodeDeallocationOption"], last["resizeTimeout"]
            work = self._resize(option, durations.length(timeout), self._leaving)
            self._begin_resize(self.record["dedicated"], self.record["spot"], option, timeout, work)

    def leave_alone(self) -> None:
        """This server ends; the nodes continue for the next."""
        for task in [*self._restoring, *([self._resizing] if self._resizing else [])]:
            task.cancel()
        for node in self.nodes:
            node.leave_alone()

    # Looking

    def current(self, *, dedicated: bool) -> int:
        return sum(node.dedicated is dedicated and node.counts for node in self.nodes)

    def has(self) -> PoolUsage:
        return self.settings.vm_size, self.current(dedicated=True), self.current(dedicated=False)

    def status(self) -> Body:
        """What ARM shows beside what was requested."""
        record = self.record
        body: Body = {
            "allocationState": record["allocation"],
            "allocationStateTransitionTime": record["since"],
            "currentDedicatedNodes": self.current(dedicated=True),
            "currentLowPriorityNodes": self.current(dedicated=False),
        }
        if not record["formula"]:
            body |= {"targetDedicatedNodes": record["dedicated"], "targetLowPriorityNodes": record["spot"]}
        if record["resize"]:
            body["resizeOperationStatus"] = record["resize"]
        if record["run"] and record["formula"]:
            body["autoScaleRun"] = record["run"]
        return body

    # Resizing

    async def _resize(self, option: str, timeout: timedelta | None, first: Sequence[Node] = ()) -> None:
        """`first`: nodes that leave in any case."""
        errors: list[Body] = []
        try:
            async with asyncio.timeout(timeout.total_seconds() if timeout else None):
                await self.take_away(first, option)
                for dedicated in (True, False):
                    await self._shrink(-self._lacking(dedicated=dedicated), option, dedicated=dedicated)
                    errors += self._grow(self._lacking(dedicated=dedicated), dedicated=dedicated)
        except TimeoutError:
            errors.append(failures.resize("AllocationTimedout", DEDICATED))
        except Exception as error:
            log.exception("the pool %s couldn't be resized", self.settings.name)
            errors.append({"code": "InternalError", "message": str(error)})
        self._errors(errors)
        self._enter(STEADY)

    def _lacking(self, *, dedicated: bool) -> int:
        return self.record["dedicated" if dedicated else "spot"] - self.current(dedicated=dedicated)

    def _grow(self, count: int, *, dedicated: bool) -> list[Body]:
        """Begins to bring up nodes. The error of those that there is no room for."""
        if count <= 0:
            return []
        context, settings = self.context, self.settings
        count, error = self._granted(count, dedicated=dedicated)
        for _ in range(count):
            record = nodes.new_record(
                self.key.account, self.key.pool, dedicated=dedicated, taken=context.addresses(), now=context.nodes.now()
            )
            self.nodes.append(Node(record, settings, context.nodes))
            self.nodes[-1].bring_up()
        context.save(self)
        return [error] if error else []

    def _granted(self, requested: int, *, dedicated: bool) -> tuple[int, Body | None]:
        """How many further nodes of a kind the pool gets of those that are requested, and why not all."""
        services, settings = self.context.services, self.settings
        if services.deviations.lacks_capacity(settings.location):
            return 0, failures.resize("AllocationFailed", DEDICATED if dedicated else SPOT)
        account, others = services.store.get(self.key.account), self.context.others(self)
        if account is None:
            return requested, None
        error: Body | None = None
        for count in range(requested, 0, -1):
            sought = (self.current(dedicated=True) + count, 0) if dedicated else (0, self.current(dedicated=False) + count)
            found = batch_quotas.shortage(account, settings.vm_size, *sought, others, services)
            if found is None:
                return count, error
            error = error or found
        return 0, error

    async def _shrink(self, count: int, option: str, *, dedicated: bool) -> None:
        """Those with nothing to do leave first."""
        if count > 0:
            mine = [node for node in self.nodes if node.dedicated is dedicated and node.counts]
            await self.take_away(sorted(mine, key=lambda node: node.used_slots)[:count], option)

    async def _leave(self, node: Node, option: str) -> None:
        before = node.record["phase"]
        node.enter("leavingpool")
        if option.lower() in ("taskcompletion", "retaineddata"):
            try:
                await self.context.runs.settled(node)
            except asyncio.CancelledError:
                node.enter(before)  # the resize was stopped, or its time is over: the node stays
                raise
        going = asyncio.create_task(self._go(node, requeue=option.lower() != "terminate"))
        self._going.add(going)
        going.add_done_callback(self._going.discard)
        await asyncio.shield(going)  # from here on there is no way back

    async def _go(self, node: Node, *, requeue: bool) -> None:
        ending = (self.context.runs.end(one.run.key, requeue=requeue) for one in self.context.runs.on(node))
        await asyncio.gather(*ending)
        await node.leave()
        with contextlib.suppress(ValueError):
            self.nodes.remove(node)
        self.context.save(self)

    async def _restore(self, node: Node) -> None:
        while True:
            await asyncio.sleep(RESTORE_SECONDS)
            if not self.context.services.deviations.lacks_capacity(self.settings.location):
                break
        if node in self.nodes and node.state == "preempted":
            node.bring_up()

    def _errors(self, errors: list[Body]) -> None:
        if self.record["resize"]:
            self.record["resize"].pop("errors", None)
            if errors:
                self.record["resize"]["errors"] = errors

    def _enter(self, state: str) -> None:
        self.record["allocation"], self.record["since"] = state, self.context.nodes.now()
        self.context.save(self)


def new_record(name: str, location: str, now: str) -> Body:
    """Of a pool that is yet to be applied."""
    return {
        "name": name,
        "location": location,
        "body": None,
        "dedicated": 0,
        "spot": 0,
        "allocation": STEADY,
        "since": now,
        "resize": None,
        "formula": "",
        "interval": "",
        "run": None,
        "evaluated": now,
        "nodes": [],
    }
