"""One node of a pool: starts and stops it, keeps its state, and shows it.

A node that has lost a command without its end comes up again by itself, as a machine does that was restarted.
"""

import asyncio
import hashlib
import logging
import os
import secrets
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from localazure.arm.store import Body
from localazure.batch import failures, task_environment as variables
from localazure.batch.nodes import agent, node_programs
from localazure.batch.nodes.agent import Agent, AgentLostError
from localazure.batch.pool_settings import PoolSettings
from localazure.blobs.service import Blobs
from localazure.services import Services
from localazure.waiting import canceled, to_its_end

log = logging.getLogger(__name__)

READY = "ready"  # shown as idle, running or offline
_AT_REST = (READY, "starttaskfailed", "unusable", "preempted", "leavingpool")
PROGRAMS = "mpi"  # the folder of the programs that its image brings
FOLDERS = ("shared", "startup/wd", "workitems", "applications", "fsmounts", "volatile")
_FIRST_ADDRESS = 4  # the first that a subnet of Azure gives out


class NodeContext(NamedTuple):
    """What a node gets from its pool."""

    account: str  # the key of the pool's account
    folder: Path  # the nodes' folders lie here
    services: Services
    blobs: Blobs
    changed: Callable[["Node"], None]  # its state is another: keep it, and look for work
    lost: Callable[["Node"], None]  # what it ran has ended
    prepare: Callable[["Node"], Awaitable[None]]  # packages, mounts, images; NodeError
    start_task: Callable[["Node"], Awaitable[bool]]  # runs it; whether it succeeded

    @property
    def account_url(self) -> str:
        return f"{self.services.settings.url}/batch/{self.account.rpartition('/')[2]}"

    def now(self) -> str:
        return self.services.clock.stamp()


class Node:
    """A node, live. `record` is what outlasts this server."""

    def __init__(self, record: Body, settings: PoolSettings, context: NodeContext) -> None:
        self.record = record
        self.settings = settings
        self.context = context
        self.id: str = record["id"]
        self.dedicated: bool = record["dedicated"]
        self.address: str = record["address"]
        self.affinity = f"TVM:{self.id}"
        self.folder = context.folder / record["folder"]
        self.root = self.folder / "root"  # AZ_BATCH_NODE_ROOT_DIR
        self.agent: Agent | None = None
        self.closed = False  # takes no task any more, because it is about to restart
        self.used_slots = 0
        self.running: dict[str, int] = {}  # slots by task, a subtask of a multi-instance task among them
        self.package_variables: dict[str, str] = {}
        self.has_programs = (self.folder / PROGRAMS).is_dir()  # beyond the machine's own
        self.busy: asyncio.Future[None] | None = None  # comes up, or goes
        self.preparing: dict[str, asyncio.Future[None]] = {}  # preparations under way, by job

    # Looking

    @property
    def environment(self) -> dict[str, str]:
        """The variables of everything that runs here."""
        folders = [self.folder / PROGRAMS] if self.has_programs else []
        own = (node_programs.gpu_programs(self.folder), node_programs.hostname_program(self.folder), *folders)
        return {
            "PATH": os.pathsep.join([*(str(each) for each in own if each is not None), variables.machines_path()]),
            "LANG": "C.UTF-8",
            "AZ_BATCH_ACCOUNT_NAME": self.context.account.rpartition("/")[2],
            "AZ_BATCH_ACCOUNT_URL": self.context.account_url,
            "AZ_BATCH_NODE_ID": self.id,
            "AZ_BATCH_NODE_IS_DEDICATED": str(self.dedicated).lower(),
            "AZ_BATCH_NODE_MOUNTS_DIR": str(self.root / "fsmounts"),
            "AZ_BATCH_NODE_ROOT_DIR": str(self.root),
            "AZ_BATCH_NODE_SHARED_DIR": str(self.root / "shared"),
            "AZ_BATCH_NODE_STARTUP_DIR": str(self.root / "startup"),
            "AZ_BATCH_POOL_ID": self.settings.name,
            "AZ_BATCH_TASK_RESERVED_EPHEMERAL_DISK_SPACE_BYTES": variables.DISK_BYTES,
            **self.package_variables,
        }

    @property
    def state(self) -> str:
        """As the service names it."""
        if self.record["phase"] != READY:
            return self.record["phase"]
        if self.running:
            return "running"
        return "idle"

    @property
    def free_slots(self) -> int:
        """How many slots a task could have now."""
        if self.closed or self.record["phase"] != READY:
            return 0
        return self.settings.slots - self.used_slots

    @property
    def counts(self) -> bool:
        """Whether it is one of the pool's nodes: not one that is leaving."""
        return self.record["phase"] != "leavingpool"

    # Changing

    def enter(self, phase: str) -> None:
        if phase != self.record["phase"]:
            self.record["phase"], self.record["since"] = phase, self.context.now()
            self.context.changed(self)

    def take(self, run: str, slots: int) -> None:
        """A task runs here from now on."""
        if not self.running:
            self.record["since"] = self.context.now()
        self.running[run] = slots
        self.used_slots += slots

    def release(self, run: str) -> None:
        """It doesn't any more."""
        self.used_slots -= self.running.pop(run, 0)
        if not self.running:
            self.record["since"] = self.context.now()

    def count(self, *, succeeded: bool) -> None:
        """A task has ended here."""
        self.record["run"] += 1
        self.record["succeeded"] += int(succeeded)

    def bring_up(self) -> None:
        """Begins to come up, from the state that it is in."""
        self._begin(self._up())

    def reboot(self) -> None:
        async def again() -> None:
            await self._stop_agent()
            self._forget_preparations()
            await self._up()

        self.closed = False
        self.enter("rebooting")
        self._begin(again())

    async def preempt(self) -> None:
        """The machine is taken away, with all that is on it."""
        self.enter("preempted")
        await self._settle()
        await self._stop_agent()
        await asyncio.to_thread(shutil.rmtree, self.root, ignore_errors=True)
        self.record["preparations"] = {}

    async def leave(self) -> None:
        """Leaves the pool for good, with its files."""
        self.enter("leavingpool")
        await self._settle()
        await self._stop_agent()
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)

    async def adopt(self) -> None:
        """Resumes what an earlier server left: a node with what it runs, or one that comes up again."""
        phase = self.record["phase"]
        if phase not in _AT_REST:
            self.bring_up()
        elif phase == READY and not self.settings.windows:
            if agent.is_up(self.folder):
                await self._open(resume=True)
            else:
                self._forget_preparations()
                self.bring_up()

    def leave_alone(self) -> None:
        """This server ends; what runs continues for the next."""
        if self.busy is not None:
            self.busy.cancel()
        if self.agent is not None:
            self.agent.close()

    def _begin(self, work: Awaitable[None]) -> None:
        if self.busy is not None:
            self.busy.cancel()
        self.busy = asyncio.ensure_future(self._guarded(work))

    async def _guarded(self, work: Awaitable[None]) -> None:
        try:
            await work
        except failures.NodeError as error:
            self.record["errors"] = [error.body]
            self.enter("unusable")
        except AgentLostError:
            pass  # `_lost` has begun again
        except Exception as error:
            log.exception("the node %s couldn't come up", self.id)
            self.record["errors"] = [{"code": "NodeError", "message": str(error)}]
            self.enter("unusable")

    async def _settle(self) -> None:
        if self.busy is not None and self.busy is not asyncio.current_task():
            await canceled(self.busy)

    async def _up(self) -> None:
        self.record["errors"], self.record["start"] = [], None
        self.enter("starting")
        self.record["booted"] = self.context.now()
        if self.settings.windows:
            self.enter(READY)
            return
        await to_its_end(self._make_folders)
        if self.agent is None:
            await self._open()
        await self.context.prepare(self)
        if self.settings.start_task:
            await self._run_start_task(self.settings.start_task)
        else:
            self.enter(READY)

    async def _run_start_task(self, task: Body) -> None:
        if task.get("waitForSuccess", True) is False:
            self.enter(READY)
            await self.context.start_task(self)
            return
        self.enter("waitingforstarttask")
        self.enter(READY if await self.context.start_task(self) else "starttaskfailed")

    async def _open(self, *, resume: bool = False) -> None:
        opened = Agent(self.folder, self._lost)
        await opened.open(resume=resume)
        self.agent = opened

    async def _stop_agent(self) -> None:
        before, self.agent = self.agent, None
        if before is not None:
            await before.quit()
        else:
            await agent.end(self.folder)

    def _lost(self) -> None:
        log.warning("a process that stands over a command of the node %s was killed; the node is started again", self.id)
        self.agent = None
        self._forget_preparations()
        self.context.lost(self)
        self.bring_up()

    def _forget_preparations(self) -> None:
        """A restart: of jobs whose preparation needn't run again it stays known."""
        kept = self.record["preparations"].items()
        self.record["preparations"] = {job: one for job, one in kept if not one["rerun"] and one["state"] == "completed"}

    def _make_folders(self) -> None:
        shutil.rmtree(self.root / "volatile", ignore_errors=True)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in FOLDERS:
            (self.root / name).mkdir(mode=0o700, parents=True, exist_ok=True)

    # Showing

    def view(self) -> Body:
        """As the data plane shows a node."""
        record = self.record
        body: Body = {
            "id": self.id,
            "url": f"{self.context.account_url}/pools/{self.settings.name}/nodes/{self.id}",
            "state": self.state,
            "schedulingState": "enabled",
            "stateTransitionTime": record["since"],
            "lastBootTime": record["booted"],
            "allocationTime": record["allocated"],
            "ipAddress": self.address,
            "affinityId": self.affinity,
            "vmSize": self.settings.vm_size.lower(),
            "totalTasksRun": record["run"],
            "runningTasksCount": len(self.running),
            "runningTaskSlotsCount": self.used_slots,
            "totalTasksSucceeded": record["succeeded"],
            "isDedicated": self.dedicated,
            "endpointConfiguration": {"inboundEndpoints": []},
            "nodeAgentInfo": {"version": "local", "lastUpdateTime": record["booted"]},
            "virtualMachineInfo": {"imageReference": self.settings.image},
        }
        optional = {
            "startTask": self.settings.start_task,
            "startTaskInfo": record["start"],
            "errors": record["errors"],
        }
        return {**body, **{name: value for name, value in optional.items() if value}}


def new_record(account: str, pool: str, *, dedicated: bool, taken: set[str], now: str) -> Body:
    """The record of a node that is yet to come up. `taken`: addresses of the account's other nodes."""
    name = hashlib.sha256(f"{account}/{pool}/{secrets.token_hex(16)}".encode()).hexdigest()
    return {
        "id": f"tvmps_{name}_{'d' if dedicated else 'p'}",
        "folder": name[:12],
        "dedicated": dedicated,
        "address": _address(taken),
        "phase": "creating",
        "since": now,
        "allocated": now,
        "booted": now,
        "run": 0,
        "succeeded": 0,
        "start": None,
        "errors": [],
        "preparations": {},  # of jobs, by their ids in lower case
    }


def _address(taken: set[str]) -> str:
    """One of this machine's own addresses: all of 127.0.0.0/8 are."""
    for number in range(_FIRST_ADDRESS, 1 << 16):
        address = f"127.10.{number >> 8}.{number & 255}"
        if number & 255 not in (0, 255) and address not in taken:
            return address
    raise ValueError("no address is left for a node")
