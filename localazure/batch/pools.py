"""Runs the pools of Batch: their nodes as processes of this machine, and the tasks that `Work` has ready on these nodes.

The store has one document for each pool; nodes and commands outlive this server, and the next server takes them over. Everything
happens on the server's event loop.
"""

import asyncio
import logging
import shutil
from pathlib import Path

from azure_gpu.formats import azure_types
from localazure.arm.store import Body
from localazure.batch import autoscaling, pool as one_pool, scheduler
from localazure.batch.errors import BatchError
from localazure.batch.model import PoolKey, TaskKey, TaskNode, TaskRun
from localazure.batch.nodes import agent, service_tasks, set_up
from localazure.batch.nodes.node import Node, NodeContext
from localazure.batch.pool import Pool, PoolContext, PoolUsage
from localazure.batch.task_runs import TaskRuns
from localazure.batch.work import Work
from localazure.blobs.service import Blobs
from localazure.services import Services

log = logging.getLogger(__name__)
_DOCUMENTS = "batch/pools/"
_SAVE_SECONDS = 0.05  # changes of a pool within this time are kept together


class Pools:
    """All pools of this server."""

    pool = Pool

    def __init__(self, services: Services, blobs: Blobs, work: Work) -> None:
        self._services = services
        self._blobs = blobs
        self._work = work
        self._folder: Path = services.settings.state / "batch"
        self._pools: dict[PoolKey, Pool] = {}
        self._runs = TaskRuns(work, self._finished)
        self._looking: set[PoolKey] = set()  # pools that are looked through for work as soon as the loop gets to it
        self._unsaved: set[PoolKey] = set()
        self._ticking: asyncio.Task[None] | None = None
        self._stopped = False

    # Pools, for ARM

    def apply(self, key: PoolKey, body: Body, name: str) -> None:
        """A new pool, or another body of one that is there. Returns at once; nodes come and go in the background."""
        pool = self._pools.get(key)
        if pool is None:
            account = self._services.store.get(key.account)
            location = account.location if account else ""
            record = one_pool.new_record(name, location, self._services.clock.stamp())
            record["body"] = body
            pool = self._pools[key] = self.pool(key, record, self._context_of(key))
            pool.rescale()
        else:
            pool.apply(body)

    async def remove(self, key: PoolKey) -> None:
        """The pool goes, with its nodes and their files. Its tasks wait for another pool."""
        pool = self._pools.get(key)
        if pool is None:
            return
        await pool.remove()
        self._pools.pop(key, None)
        self._services.store.delete_document(_document(key))

    def get(self, key: PoolKey) -> Pool:
        """BatchError 404 where there is none."""
        pool = self._pools.get(key)
        if pool is None:
            raise BatchError("PoolNotFound")
        return pool

    def status(self, key: PoolKey) -> Body:
        """What ARM shows of a pool beside what was requested; {} for one that doesn't exist."""
        pool = self._pools.get(key)
        self._write_now(key)
        return pool.status() if pool else {}

    # Nodes, for the data plane

    def nodes(self, key: PoolKey) -> list[Body]:
        pool = self.get(key)
        self._write_now(key)
        return [node.view() for node in pool.nodes]

    async def reboot(self, key: PoolKey, node_id: str, option: str = "requeue") -> None:
        """`option`: what becomes of the tasks on the node: requeue (default), terminate, taskcompletion or retaineddata."""
        node = self.get(key).node(node_id)
        if node is None:
            raise BatchError("NodeNotFound")
        if node.state not in ("idle", "running", "starttaskfailed", "unusable"):
            raise BatchError("OperationInvalidForCurrentState")
        node.closed = True
        if option.lower() in ("taskcompletion", "retaineddata"):
            await self._runs.settled(node)
        else:
            requeue = option.lower() != "terminate"
            await asyncio.gather(*(self._runs.end(one.run.key, requeue=requeue) for one in self._runs.on(node)))
        node.reboot()

    async def end_task(self, key: TaskKey) -> None:
        """Ends a task that runs, and waits until `Work` knows."""
        await self._runs.end(key)

    async def forget_task(self, key: TaskKey, node: TaskNode | None = None) -> None:
        """Ends a task without a word to `Work`, and removes its folder."""
        await self._runs.end(key, silent=True)
        self._runs.subtasks.pop(key, None)
        folder = self.task_folder(key, node) if node else None
        if folder is not None:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def end_job(self, account: str, job: str) -> None:
        """The job has ended, and with it a preparation that is under way."""
        await asyncio.gather(*(service_tasks.end_preparation(node, job.lower()) for node in self._nodes_of(account)))

    async def forget_job(self, account: str, job: str) -> None:
        """The job is deleted: its folders and what is remembered of it."""
        await self.end_job(account, job)
        for node in self._nodes_of(account):
            record = node.record["preparations"].pop(job.lower(), None)
            await asyncio.to_thread(_remove_job, node.root, job)
            if record is not None:
                node.context.changed(node)
        for key in [key for key in self._runs.subtasks if (key.account, key.job) == (account, job.lower())]:
            del self._runs.subtasks[key]

    def preparations(self, account: str, job: str) -> list[Body]:
        """A job's preparation on each node that has run it, in the API's form."""
        told = (service_tasks.told(node, job.lower()) for node in self._nodes_of(account))
        return [one for one in told if one is not None]

    def subtasks(self, key: TaskKey) -> list[Body]:
        """Of a multi-instance task, while this server runs."""
        return self._runs.subtasks.get(key, [])

    def task_folder(self, key: TaskKey, node: TaskNode | None) -> Path | None:
        """Where a task's stdout.txt, stderr.txt and wd lie; None where its node or its files are gone."""
        if node is None:
            return None
        found = next((one for one in self._nodes_of(key.account) if one.id == node.node_id), None)
        return self._real(found.root / node.root) if found else None

    def node_folder(self, key: PoolKey, node_id: str) -> Path | None:
        """AZ_BATCH_NODE_ROOT_DIR of a node."""
        pool = self._pools.get(key)
        node = pool.node(node_id) if pool else None
        return self._real(node.root) if node else None

    # Faults on purpose

    async def evict(self, name: str) -> list[str]:
        """Takes Spot nodes away: of a pool, or one of them (`POOL/NODE`). Their ids."""
        requested, _, node_id = name.partition("/")
        chosen = [
            (pool, node)
            for pool in self._pools.values()
            if pool.key.pool == requested.lower()
            for node in pool.nodes
            if not node.dedicated and node.counts and node.state != "preempted" and (not node_id or node.id == node_id)
        ]
        await asyncio.gather(*(pool.preempt(node) for pool, node in chosen))
        return [node.id for _, node in chosen]

    # This server

    async def started(self) -> None:
        """Resumes what an earlier server left: nodes with what they run; what belongs to no pool is ended."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        requested = {
            PoolKey(pool.id.scope.lower(), pool.id.name.lower()): pool
            for pool in self._services.store.of_type(azure_types.BATCH_POOL.arm_type)
        }
        for name, record in self._services.store.documents(_DOCUMENTS).items():
            key = PoolKey(*record.pop("key"))
            if key in requested:
                self._pools[key] = self.pool(key, record, self._context_of(key))
            else:  # the server before was killed while ARM made it or took it away
                self._services.store.delete_document(name)
        known = {node.record["folder"] for pool in self._pools.values() for node in pool.nodes}
        for folder in self._folder.glob("*/"):
            if folder.name not in known:
                await agent.end(folder)
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        await asyncio.gather(*(pool.adopt() for pool in self._pools.values()))
        for key, resource in requested.items():
            if key not in self._pools and resource.state != "Deleting":
                self.apply(key, resource.body, resource.id.name)
        for pool in self._pools.values():
            self._runs.adopt(pool.key, pool.nodes)
            pool.resume()
        self._work.listen(self._look)
        self._ticking = asyncio.create_task(self._tick())
        for key in self._pools:
            self._look(key)

    async def stopping(self) -> None:
        """This server ends; nodes and tasks continue for the next."""
        self._stopped = True
        if self._ticking is not None:
            self._ticking.cancel()
        for key in list(self._unsaved):
            self._write(key)
        ending = self._runs.close()
        for pool in self._pools.values():
            pool.leave_alone()
        if ending:
            await asyncio.wait(ending)

    def tick(self) -> None:
        """Samples of each pool, and evaluations that are due."""
        now = self._services.clock.now()
        for pool in list(self._pools.values()):
            try:
                pool.tick(now)
            except Exception:
                log.exception("the pool %s could not be looked at", pool.key.pool)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(autoscaling.SAMPLE_SECONDS)
            self.tick()

    # Work

    def _look(self, key: PoolKey) -> None:
        """Looks for work for a pool, once however often it is requested before the loop gets to it."""
        if key in self._pools and key not in self._looking and not self._stopped:
            self._looking.add(key)
            asyncio.get_running_loop().call_soon(self._place, key)

    def _place(self, key: PoolKey) -> None:
        self._looking.discard(key)
        pool = self._pools.get(key)
        if pool is None or self._stopped:
            return
        settings = pool.settings
        found = scheduler.placed(
            iter(self._work.ready(key)),
            pool.nodes,
            pack=settings.pack,
            multi_instance=settings.multi_instance,
            suits=_suits,
        )
        for run, nodes in found:
            self._write_now(key)
            self._runs.begin(run, nodes)

    def _finished(self, key: PoolKey, succeeded: bool | None) -> None:
        pool = self._pools.get(key)
        if pool is not None and succeeded is not None:
            pool.finished[0 if succeeded else 1] += 1
        self._look(key)

    # Parts

    def _real(self, folder: Path) -> Path | None:
        """A folder below a node's; None where it is gone, or a task has put a link to another in its place, or above it."""
        real = self._folder.resolve() / folder.relative_to(self._folder)
        return folder if folder.is_dir() and folder.resolve() == real else None

    def _context_of(self, key: PoolKey) -> PoolContext:
        context = NodeContext(
            account=key.account,
            folder=self._folder,
            services=self._services,
            blobs=self._blobs,
            changed=self._changed,
            lost=self._runs.node_lost,
            prepare=set_up.prepare,
            start_task=service_tasks.start,
        )
        return PoolContext(self._services, self._work, self._runs, context, self._others, self._addresses, self._save)

    def _changed(self, node: Node) -> None:
        for pool in self._pools.values():
            if node in pool.nodes:
                self._save(pool)
                self._look(pool.key)

    def _save(self, pool: Pool) -> None:
        if not self._unsaved and not self._stopped:
            asyncio.get_running_loop().call_later(_SAVE_SECONDS, self._write_all)
        self._unsaved.add(pool.key)

    def _write_all(self) -> None:
        if not self._stopped:
            for key in list(self._unsaved):
                self._write(key)

    def _write_now(self, key: PoolKey) -> None:
        """Before a client is told of a pool, or a task begins in it: what was told survives a kill."""
        if key in self._unsaved:
            self._write(key)

    def _write(self, key: PoolKey) -> None:
        self._unsaved.discard(key)
        pool = self._pools.get(key)
        if pool is not None:
            pool.record["nodes"] = [node.record for node in pool.nodes]
            self._services.store.put_document(_document(key), {"key": list(key), **pool.record})

    def _nodes_of(self, account: str) -> list[Node]:
        return [node for pool in self._pools.values() if pool.key.account == account for node in pool.nodes]

    def _others(self, pool: Pool) -> list[PoolUsage]:
        return [one.has() for one in self._pools.values() if one.key.account == pool.key.account and one is not pool]

    def _addresses(self) -> set[str]:
        return {node.address for pool in self._pools.values() for node in pool.nodes}


def _suits(run: TaskRun, node: Node) -> bool:
    """Whether the job's preparation hasn't failed on a node."""
    record = node.record["preparations"].get(run.key.job)
    return record is None or record["state"] != service_tasks.FAILED


def _document(key: PoolKey) -> str:
    return f"{_DOCUMENTS}{key.account}/{key.pool}"


def _remove_job(root: Path, job: str) -> None:
    """All files of a job; its id is compared without letter case."""
    for folder in root.glob("workitems/*/"):
        if folder.name.lower() == job.lower():
            shutil.rmtree(folder, ignore_errors=True)
