"""Runs tasks on their nodes, and reports the end of each to `Work`, exactly once.

The end is `Work.ended` with the outcome, or `Work.requeued` where a node was lost or removed. A restarted server resumes what
its nodes were running.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from localazure.arm.store import Body
from localazure.batch import failures, instances, task_environment as variables
from localazure.batch.failures import TaskError
from localazure.batch.instances import RunningTask
from localazure.batch.model import Outcome, PoolKey, TaskKey, TaskNode, TaskRun
from localazure.batch.nodes import commands, containers, node_files, service_tasks
from localazure.batch.nodes.agent import AgentLostError, Ended
from localazure.batch.nodes.node import Node
from localazure.batch.work import Work

log = logging.getLogger(__name__)
_SILENT, _REQUEUE, _END = "silent", "requeue", "end"  # what becomes of a task that is ended from outside


class TaskRuns:
    """All tasks that run now, by key."""

    def __init__(self, work: Work, freed: Callable[[PoolKey, bool | None], None]) -> None:
        """`freed` hears of each task of a pool that has ended, and whether it succeeded: its slots are free."""
        self._work = work
        self._freed = freed
        self._running: dict[TaskKey, RunningTask] = {}
        self.subtasks: dict[TaskKey, list[Body]] = {}  # of multi-instance tasks, for as long as this server runs

    def on(self, node: Node) -> list[RunningTask]:
        return [one for one in self._running.values() if node in one.nodes]

    def begin(self, run: TaskRun, nodes: list[Node]) -> None:
        """Starts a task on its nodes, which have room for it."""
        running = RunningTask(run, nodes)
        place = TaskNode(running.node.id, running.node.affinity, str(running.folder.relative_to(running.node.root)))
        preparing = bool(run.job.get("jobPreparationTask")) and not self._is_prepared(running)
        self._work.begun(run.key, place, preparing=preparing)
        self._start(running, self._run(running, preparing=preparing))

    def adopt(self, pool: PoolKey, nodes: list[Node]) -> None:
        """Resumes what an earlier server began on a pool's nodes and they still run, or have run meanwhile.

        Tasks that no node knows any more wait for a node again; what no task asked for is ended.
        """
        work = self._work
        left = set(work.tables.running_keys(pool))
        for node in nodes:
            for name, context in list(node.agent.adopted.items()) if node.agent else ():
                key = TaskKey(context["account"], context["job"], context["task"]) if "task" in context else None
                run = work.run_of(key) if key is not None and key in left else None
                if key is not None and run is not None:
                    left.discard(key)
                    known = [one for node_id in context["nodes"] for one in nodes if one.id == node_id]
                    running = RunningTask(run, known or [node], name)
                    running.commanded = True
                    self._start(running, self._adopted(running))
                elif node.agent is not None:
                    node.agent.end(name)
                    node.agent.clear(name)
                    node.agent.forget(name)
        for key in left:
            work.requeued(key)

    def node_lost(self, node: Node) -> None:
        """A task that has other nodes too can't go on without this one."""
        for running in self.on(node):
            if not running.fate and len(running.nodes) > 1:
                running.fate = _REQUEUE
                instances.end(running)

    async def end(self, key: TaskKey, *, requeue: bool = False, silent: bool = False) -> None:
        """Ends a task, and waits until that is told. `silent`: without a word to `Work`."""
        running = self._running.get(key)
        if running is None or running.work is None:
            return
        if not running.fate or silent:
            running.fate = _SILENT if silent else _REQUEUE if requeue else _END
        instances.end(running)
        if not running.commanded:
            running.work.cancel()
        await asyncio.wait([running.work])

    async def give_up(self, node: Node) -> None:
        """The node goes: what is still being prepared for it writes there no more, and waits for another. What runs there ends
        with the node itself."""
        preparing = [(one, one.work) for one in self.on(node) if not one.commanded and one.work is not None]
        for running, work in preparing:
            running.fate = running.fate or _REQUEUE
            work.cancel()
        if preparing:
            await asyncio.wait([work for _, work in preparing])

    async def settled(self, node: Node) -> None:
        """Waits until nothing runs on a node."""
        while waiting := [one.work for one in self.on(node) if one.work is not None]:
            await asyncio.wait(waiting)

    def close(self) -> list["asyncio.Task[None]"]:
        """This server ends; the commands continue."""
        found = [one.work for one in self._running.values() if one.work is not None]
        for work in found:
            work.cancel()
        return found

    # One run

    def _start(self, running: RunningTask, work: Coroutine[Any, Any, None]) -> None:
        for node in running.nodes:
            node.take(running.name, running.run.slots)
        self._running[running.run.key] = running
        running.work = asyncio.create_task(self._guarded(running, work))

    async def _guarded(self, running: RunningTask, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except AgentLostError:
            self._over(running)
            self._tell_fate(running)
        except asyncio.CancelledError:
            if not running.fate:
                raise  # this server ends
            self._over(running)
            self._tell_fate(running)
        except Exception as error:
            log.exception("the task %s failed in the embedded Azure", running.name)
            self._over(running)
            now = running.node.context.now()
            failure = {**failures.task("CommandLaunchFailed", failures.SERVER), "message": str(error)}
            self._work.ended(running.run.key, Outcome(now, now, None, failure, retried=False))
        finally:
            self._over(running)
            self._freed(running.run.pool, running.succeeded)

    def _tell_fate(self, running: RunningTask) -> None:
        """A task that didn't run to its end."""
        if running.fate == _END:
            now = running.node.context.now()
            self._work.ended(running.run.key, Outcome(now, now, None, failures.task("TaskEnded"), retried=False))
        elif running.fate != _SILENT:
            self._work.requeued(running.run.key)

    def _over(self, running: RunningTask) -> None:
        if self._running.get(running.run.key) is running:
            del self._running[running.run.key]
            for node in running.nodes:
                node.release(running.name)

    async def _run(self, running: RunningTask, *, preparing: bool) -> None:
        run, work = running.run, self._work
        started = running.node.context.now()
        try:
            if preparing:
                if not all(await asyncio.gather(*(service_tasks.prepare(node, run.job) for node in running.nodes))):
                    self._over(running)
                    work.requeued(run.key)
                    return
                work.started(run.key)
                started = running.node.context.now()
            ended = await instances.run(running, self._env, self.subtasks)
        except TaskError as error:
            self._tell(running, Outcome(started, running.node.context.now(), None, error.body, retried=False))
            return
        await self._finish(running, ended)

    async def _adopted(self, running: RunningTask) -> None:
        agent = running.node.agent
        if agent is None:
            raise AgentLostError("the node has no process")
        ended = await agent.ended(running.name)
        if running.run.task.get("multiInstanceSettings"):
            await instances.clear(running)
        elif running.run.task.get("containerSettings"):
            await containers.remove(running.node, running.name)
        await self._finish(running, ended)

    async def _finish(self, running: RunningTask, ended: Ended) -> None:
        """A command has ended: its output goes where it is to go, and `Work` is told."""
        run = running.run
        failure = commands.failure_of(ended, str(run.task.get("commandLine") or ""))
        code, retried = ended.code, not ended.why
        if running.fate == _SILENT:
            self._over(running)
        elif running.fate == _REQUEUE:
            self._over(running)
            self._work.requeued(run.key)
        else:
            files = run.task.get("outputFiles")
            if files and not running.fate:
                try:
                    env = self._env(running, running.node)
                    await node_files.upload(files, running.folder, env, running.node, succeeded=failure is None)
                except TaskError as error:
                    failure, retried = failure or error.body, retried and failure is not None
            container = containers.info(running.name) if run.task.get("containerSettings") else None
            self._tell(running, Outcome(ended.started_at, ended.ended_at, code, failure, container, retried))
        if running.node.agent is not None:
            running.node.agent.forget(running.name)

    def _tell(self, running: RunningTask, outcome: Outcome) -> None:
        self._over(running)
        if running.fate == _SILENT:
            return
        if running.fate == _END:
            outcome = outcome._replace(failure=failures.task("TaskEnded"), retried=False)
        running.succeeded = succeeded = outcome.failure is None and outcome.exit_code == 0
        running.node.count(succeeded=succeeded)
        self._work.ended(running.run.key, outcome)

    # What a task needs

    def _is_prepared(self, running: RunningTask) -> bool:
        name = running.run.key.job
        return all((node.record["preparations"].get(name) or {}).get("state") == "completed" for node in running.nodes)

    def _env(self, running: RunningTask, node: Node) -> dict[str, str]:
        """A task's variables on one of its nodes."""
        run = running.run
        settings = run.job.get("commonEnvironmentSettings"), run.task.get("environmentSettings")
        env = variables.of_task(node.environment, node.root, run.job, str(run.task["id"]), *settings)
        if len(running.nodes) > 1 or run.task.get("multiInstanceSettings"):
            cores = node.settings.size.vcpus or 1 if node.settings.size else 1
            addresses = [one.address for one in running.nodes]
            env |= variables.of_instances(addresses, cores, running.folder, master=node is running.node)
        return env
