"""Runs a task. One on several nodes runs its coordination command on each, then its own on the first.

Where a coordination command fails the whole task does. What the coordination commands leave running goes on until the primary's
command has ended, and no longer. On a pool with containers each node has one for the task, in which both commands run: what the
first has started is there when the second begins.
"""

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from localazure.arm.store import Body
from localazure.batch import task_environment as variables
from localazure.batch.model import TaskKey, TaskNode, TaskRun
from localazure.batch.nodes import commands, containers, mpi, node_files, runner
from localazure.batch.nodes.agent import Ended
from localazure.batch.nodes.node import Node


class RunningTask:
    """One task on its nodes."""

    def __init__(self, run: TaskRun, nodes: list[Node], name: str = "") -> None:
        self.run = run
        self.nodes = nodes
        self.name = name or f"{run.key.job}/{run.key.task}/{secrets.token_hex(4)}"  # of this try, known to its nodes
        self.folder = variables.job_folder(self.node.root, run.job) / str(run.task["id"])
        self.fate = ""  # or one of those of `task_runs`, once somebody has asked for its end
        self.commanded = False  # whether a node has its command; before that it is prepared, and can be given up at once
        self.succeeded: bool | None = None  # None where it didn't run to its end
        self.subtasks: list[Body] = []  # of a multi-instance task
        self.work: asyncio.Task[None] | None = None

    @property
    def node(self) -> Node:
        return self.nodes[0]

    def is_commanded(self) -> None:
        self.commanded = True

    @property
    def context(self) -> Body:
        """By which a later server knows it again."""
        key = self.run.key
        return {"account": key.account, "job": key.job, "task": key.task, "nodes": [node.id for node in self.nodes]}


Environment = Callable[[RunningTask, Node], dict[str, str]]


async def run(running: RunningTask, environment: Environment, kept: dict[TaskKey, list[Body]]) -> Ended:
    """Runs the task on its nodes, with what it needs there. `kept` gets the subtasks of one on several nodes.

    AgentLostError where one of the nodes is lost, TaskError where it can't run.
    """
    task, primary = running.run.task, running.node
    envs = [environment(running, node) for node in running.nodes]
    several = bool(task.get("multiInstanceSettings"))
    try:
        subtasks = await _coordinated(running, envs, kept) if several else []
        if task.get("resourceFiles"):
            await node_files.fetch(task["resourceFiles"], running.folder / "wd", primary)
        line = str(task.get("commandLine") or "")
        if running.fate:  # its end was requested before the primary's command was there to hear it
            return Ended(primary.context.now(), primary.context.now(), None, runner.ASKED, "")
        ended = await commands.execute(
            primary,
            commands.Job(
                run=running.name,
                task=task,
                command_line=line,
                folder=running.folder,
                env=envs[0],
                context=running.context,
                append=several,
                container=_part(running, 0) if several else "",
                sent=running.is_commanded,
            ),
        )
        if several:
            _note(subtasks[0], ended, commands.failure_of(ended, line))
        return ended
    except _CoordinationFailedError as error:
        return error.ended
    finally:
        if several:
            await clear(running)


async def _coordinated(running: RunningTask, envs: list[dict[str, str]], kept: dict[TaskKey, list[Body]]) -> list[Body]:
    """The coordination command has run on each node. The subtasks."""
    for node, env in zip(running.nodes, envs, strict=True):
        env |= await mpi.offered(node, running.nodes, env)
    subtasks = kept[running.run.key] = [_subtask(number, node, running) for number, node in enumerate(running.nodes)]
    common = running.run.task["multiInstanceSettings"].get("commonResourceFiles")
    await node_files.fetch(common, running.folder, running.node)
    running.commanded = True
    await _together(running, [_coordinate(running, number, env, subtasks[number]) for number, env in enumerate(envs)])
    return subtasks


async def clear(running: RunningTask) -> None:
    """Ends what the coordination commands have left running, and takes the containers away. When this server ends they stay."""
    for number, node in enumerate(running.nodes):
        if node.agent is not None and not node.agent.closed:
            node.agent.clear(_part(running, number))
            if running.run.task.get("containerSettings"):
                await containers.remove(node, _part(running, number))


def _part(running: RunningTask, number: int) -> str:
    """What a task runs on one of its nodes, as that node knows it."""
    return f"{running.name}#{number}"


async def _together(running: RunningTask, work: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Waits for all; where one fails the others are ended first."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        done, others = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        error = next((found for task in done if (found := task.exception())), None)
        if error is not None:
            end(running)
            if others:
                await asyncio.wait(others)
                [task.exception() for task in others]  # that they were ended isn't news
            raise error
    except asyncio.CancelledError:
        for task in tasks:
            task.cancel()
        raise


def end(running: RunningTask) -> None:
    """Asks all that a task runs to end, on each of its nodes."""
    for number, node in enumerate(running.nodes):
        if node.agent is not None:
            for name in (running.name, _part(running, number)):
                node.agent.end(name)


class _CoordinationFailedError(Exception):
    def __init__(self, ended: Ended) -> None:
        super().__init__("a coordination command failed")
        self.ended = ended


async def _coordinate(running: RunningTask, number: int, env: dict[str, str], subtask: Body) -> None:
    """The coordination command on one node."""
    task, node = running.run.task, running.nodes[number]
    settings = task["multiInstanceSettings"]
    folder = variables.job_folder(node.root, running.run.job) / str(task["id"])
    await asyncio.to_thread((folder / "wd").mkdir, parents=True, exist_ok=True)
    line = str(settings.get("coordinationCommandLine") or "")
    subtask.update(state="running", startTime=node.context.now())
    if not line:
        subtask.update(previousState="preparing")
        return
    name = _part(running, number)
    job = commands.Job(name, task, line, folder, env, keep=True, container=name)
    ended = await commands.execute(node, job)
    if node.agent is not None:
        node.agent.forget(name)
    failure = commands.failure_of(ended, line)
    if number:
        _note(subtask, ended, failure)
    if failure:
        _note(subtask, ended, failure)
        raise _CoordinationFailedError(ended)


def _subtask(number: int, node: Node, running: RunningTask) -> Body:
    root = variables.job_folder(node.root, running.run.job).relative_to(node.root) / str(running.run.task["id"])
    info = TaskNode(node.id, node.affinity, root.as_posix()).info(node.context.account_url, node.settings.name)
    return {"id": number, "nodeInfo": info, "state": "preparing", "stateTransitionTime": node.context.now()}


def _note(subtask: Body, ended: Ended, failure: Body | None) -> None:
    subtask.update(state="completed", previousState="running", stateTransitionTime=ended.ended_at)
    subtask.update(commands.told(ended.ended_at, ended.code, failure))
