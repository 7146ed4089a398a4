"""Runs a task's command on a node, resource files first, and reports how it ended.

The task is a start task, a job's preparation, or a job's task; TaskError where it can't run.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from azure_gpu.catalog import durations
from localazure.arm.store import Body
from localazure.batch import failures
from localazure.batch.command_lines import words
from localazure.batch.failures import TaskError
from localazure.batch.model import UNLIMITED_DAYS
from localazure.batch.nodes import containers, runner
from localazure.batch.nodes.agent import AgentLostError, Command, Ended
from localazure.batch.nodes.node import Node

Note = Callable[[Body], None]  # hears what is to be told of a task
OUTPUT, ERRORS = "stdout.txt", "stderr.txt"
_WINDOWS = "The embedded Azure runs no commands on Windows nodes: this machine has no Windows."


class Job(NamedTuple):
    """One command to run."""

    run: str  # known by on the node, once among all
    task: Body  # its containerSettings and constraints count
    command_line: str
    folder: Path  # AZ_BATCH_TASK_DIR
    env: dict[str, str]
    context: Body | None = None
    append: bool = False
    keep: bool = False
    container: str = ""  # by what its container is known, which stays; "": one of its own, which goes with it
    sent: Callable[[], None] = lambda: None  # called when the node is asked to run it, with all that it needs in place


async def execute(node: Node, job: Job) -> Ended:
    """Runs a command to its end. AgentLostError where the node is lost meanwhile."""
    if node.settings.windows:
        raise TaskError("NotImplemented", Message=_WINDOWS)
    contained = job.task.get("containerSettings")
    if contained:
        await asyncio.to_thread((job.folder / "wd").mkdir, parents=True, exist_ok=True)
        try:
            name = job.container or job.run
            argv, env, cwd = await containers.prepared(node, contained, job.command_line, job.folder, job.env, name)
        except BaseException:  # given up meanwhile, or it can't be
            await containers.remove(node, job.run)
            raise
    else:
        argv, env, cwd = words(job.command_line), job.env, str(job.folder / "wd")
    command = Command(
        argv=argv,
        env=env,
        cwd=cwd,
        stdout=str(job.folder / OUTPUT),
        stderr=str(job.folder / ERRORS),
        seconds=limit((job.task.get("constraints") or {}).get("maxWallClockTime")),
        append=job.append,
        keep=job.keep,
        context=job.context,
    )
    if node.agent is None:
        raise AgentLostError(f"the node {node.id} isn't up")
    job.sent()
    ended = await node.agent.run(job.run, command)
    if contained and not job.container:
        await containers.remove(node, job.run)
    return ended


def failure_of(ended: Ended, command_line: str) -> Body | None:
    """What the service says of an end; None for a command that succeeded."""
    match ended.why:
        case runner.NOT_FOUND:
            program = next(iter(command_line.split()), "")
            what = f"There is no program for {program!r}" if program else "The container's image names no program that is there"
            return failures.task("CommandProgramNotFound", Message=what)
        case runner.NOT_STARTED:
            return failures.task("CommandLaunchFailed", Message=ended.message)
        case runner.TIMEOUT:
            return failures.task("TaskEnded", failures.SERVER, Message="The task ran longer than its maxWallClockTime")
        case runner.ASKED:
            return failures.task("TaskEnded")
        case _:
            return None if ended.code == 0 else failures.task("FailureExitCode")


def told(ended_at: str, code: int | None, failure: Body | None) -> Body:
    """The end of a command, as the bodies of tasks tell it."""
    result = "failure" if failure else "success"
    parts = {"endTime": ended_at, "exitCode": code, "failureInfo": failure, "result": result}
    return {name: value for name, value in parts.items() if value is not None}


def limit(length: str | None) -> float | None:
    """How many seconds a duration allows; None where it doesn't limit."""
    found = durations.length(str(length or ""))
    return None if found is None or found.days > UNLIMITED_DAYS else found.total_seconds()
