"""Pools, nodes and work of Batch in the test's own process, without HTTP: real node processes, real commands.

`World` is made inside a running event loop. Its blobs are a folder; its clock may be moved.
"""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from localazure.arm.store import Resource, Store
from localazure.batch.model import PoolKey, TaskKey
from localazure.batch.nodes import agent
from localazure.batch.pools import Pools
from localazure.batch.work import Work
from localazure.batch.work_tables import Job
from localazure.blobs.errors import BlobError
from localazure.containers.images import Images
from localazure.lists.deviations import Deviations
from localazure.services import Clock
from tests.localazure.coroutines import within
from tests.localazure.parts import arm_id, services_in
from tests.support.patience import SECONDS

ACCOUNT_ID = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rg/providers/Microsoft.Batch/batchAccounts/tests"
ACCOUNT = ACCOUNT_ID.lower()
AS_OF = date(2026, 11, 21)
SIZE = "Standard_NC4as_T4_v3"  # 4 vCPUs


class FolderBlobs:
    """Blobs as files: the address of a container is `folder:NAME`, that of a blob `folder:NAME/PATH`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.refused: set[str] = set()  # names of containers that nobody may read or write

    async def fetch(self, url: str, prefix: str, target: Path, identity_id: str | None) -> list[Path]:
        found = self._at(url)
        if found.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            return [Path(shutil.copyfile(found, target))]
        if not found.is_dir():
            raise BlobError(404, "BlobNotFound", "The specified blob does not exist.")
        came: list[Path] = []
        for file in sorted(one for one in found.rglob("*") if one.is_file()):
            name = file.relative_to(found).as_posix()
            if name.startswith(prefix):
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                came.append(Path(shutil.copyfile(file, target / name)))
        return came

    async def upload(self, path: Path, container_url: str, blob_path: str, identity_id: str | None) -> None:
        folder = self._at(container_url)
        if not folder.is_dir():
            raise BlobError(404, "ContainerNotFound", "The specified container does not exist.")
        (folder / blob_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / blob_path)

    def sas_url(self, account: str, container: str, blob: str, permissions: str, expires: datetime) -> str:
        return f"folder:{container}/{blob}?signed" if blob else f"folder:{container}?signed"

    def container_url(self, account: str, container: str) -> str:
        return f"folder:{container}"

    def _at(self, url: str) -> Path:
        name = url.removeprefix("folder:").removesuffix("?signed")
        if name.split("/")[0] in self.refused:
            raise BlobError(403, "AuthorizationPermissionMismatch", "This request is not authorized.")
        return self.root / name


class World:
    """One embedded Batch. `restart` makes a second on the same state."""

    def __init__(self, state: Path) -> None:
        self.state = state
        state.mkdir(exist_ok=True)
        (state / "containers").mkdir(exist_ok=True)
        self.store = Store(state / "azure.sqlite")
        self.moved = timedelta()
        self.clock = Clock(given=AS_OF, now=lambda: datetime.now(UTC) + self.moved)
        self.deviations = Deviations()
        self.blobs = FolderBlobs(state / "containers")
        images = Images(state / "cache", self.store)
        self.services = services_in(state, store=self.store, clock=self.clock, deviations=self.deviations, images=images)
        blobs: Any = self.blobs
        self.work = Work(state / "batch.sqlite", self.clock.now)
        self.pools = Pools(self.services, blobs, self.work)
        if self.store.get(ACCOUNT) is None:
            self.store.put(Resource(id=arm_id(ACCOUNT_ID), body={"location": "westeurope", "properties": {}}))

    def container(self, name: str) -> Path:
        folder = self.blobs.root / name
        folder.mkdir(exist_ok=True)
        return folder

    # Pools

    async def pool(self, name: str = "pool", *, ready: bool = True, **properties: Any) -> PoolKey:
        """A new pool, one dedicated node unless its scale says otherwise; its nodes are idle when this returns."""
        key = PoolKey(ACCOUNT, name.lower())
        await self.put_pool(name, pool_body(**properties))
        if ready:
            await self.all_in(key, "idle")
        return key

    async def put_pool(self, name: str, body: dict[str, Any]) -> None:
        """As ARM does it: the pool's kind first, then its record."""
        self.pools.apply(PoolKey(ACCOUNT, name.lower()), body, name)
        self.store.put(Resource(id=arm_id(f"{ACCOUNT_ID}/pools/{name}"), body=body))

    def states(self, key: PoolKey) -> list[str]:
        return [node["state"] for node in self.pools.nodes(key)]

    async def all_in(self, key: PoolKey, state: str) -> None:
        """Waits until the pool has settled and each of its nodes is in a state."""
        await self.until(
            lambda: self.pools.status(key)["allocationState"] == "Steady" and set(self.states(key)) <= {state},
            lambda: f"all nodes are {state}: {self.pools.nodes(key)}",
        )

    # Work

    def job(self, key: PoolKey, name: str = "job", **properties: Any) -> Job:
        return self.work.add_job(key.account, {"id": name, "poolInfo": {"poolId": key.pool}, **properties})

    def task(self, job: Job, name: str, command: str, **properties: Any) -> TaskKey:
        (added,) = self.work.tasks.add(job, [{"id": name, "commandLine": command, **properties}])
        assert not isinstance(added, Exception), added
        return added.key

    async def done(self, key: TaskKey) -> dict[str, Any]:
        """Waits until a task has completed; its execution information."""
        await self.until(lambda: self.work.tasks.get(key).state == "completed", lambda: f"{key.task} completes")
        return self.work.tasks.get(key).record["execution"]

    def state_of(self, key: TaskKey) -> str:
        return self.work.tasks.get(key).state

    def folder(self, key: TaskKey) -> Path:
        found = self.pools.task_folder(key, self.work.tasks.get(key).node)
        assert found is not None
        return found

    def output(self, key: TaskKey) -> str:
        return (self.folder(key) / "stdout.txt").read_text()

    async def until(self, true: Callable[[], Any], what: Callable[[], str]) -> Any:
        deadline = time.monotonic() + SECONDS
        while not (found := true()):
            assert time.monotonic() < deadline, f"not within {SECONDS} s: {what()}"
            await asyncio.sleep(0.01)
        return found


@asynccontextmanager
async def world(state: Path) -> AsyncIterator[World]:
    """An embedded Batch that has started, and ends with all its nodes."""
    made = World(state)
    await made.pools.started()
    try:
        yield made
    finally:
        await left_alone(made)
        await agent.reap(state / "batch")


async def left_alone(one: World) -> None:
    """The server ends in order; nodes and tasks go on."""
    await one.pools.stopping()
    one.work.close()
    one.store.close()


def run(state: Path, test: Callable[[World], Awaitable[None]]) -> None:
    """Runs a test in a world of its own."""

    async def whole() -> None:
        async with world(state) as made:
            await test(made)

    asyncio.run(whole())


def with_own_end(state: Path, test: Callable[[World], Awaitable[None]]) -> None:
    """For tests that end their first world themselves, to make another on the same state."""

    async def whole() -> None:
        made = World(state)
        await made.pools.started()
        try:
            await test(made)
        finally:
            await agent.reap(state / "batch")

    asyncio.run(whole())


def _in_state(run_: Callable[[Path, Callable[[World], Awaitable[None]]], None], folder: Path, test: Any) -> None:
    run_(folder / "state", test)


in_world = within(partial(_in_state, run), "tmp_path")
in_first_world = within(partial(_in_state, with_own_end), "tmp_path")


def pool_body(**properties: Any) -> dict[str, Any]:
    """A pool's ARM body with what it can't do without."""
    return {
        "properties": {
            "vmSize": SIZE,
            "deploymentConfiguration": {
                "virtualMachineConfiguration": {
                    "imageReference": {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2204", "version": "latest"},
                    "nodeAgentSkuId": "batch.node.ubuntu 22.04",
                }
            },
            "scaleSettings": fixed(1),
            **properties,
        }
    }


def written(file: Path) -> bool:
    """Whether a task has written a line, and not only made the file."""
    return file.exists() and file.read_text().endswith("\n")


def is_dead(pid: int) -> bool:
    """Ended, whether it was collected or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def fixed(dedicated: int, spot: int = 0, timeout: str = "PT15M", option: str = "Requeue") -> dict[str, Any]:
    return {
        "fixedScale": {
            "targetDedicatedNodes": dedicated,
            "targetLowPriorityNodes": spot,
            "resizeTimeout": timeout,
            "nodeDeallocationOption": option,
        }
    }
