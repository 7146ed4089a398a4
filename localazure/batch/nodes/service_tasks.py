"""Runs the tasks of a node beside those of a job: its start task, and a job's preparation.

State, times, exit code, failure, retries and result are reported as the service does.
"""

import asyncio
import uuid
from pathlib import Path

from localazure.arm.store import Body
from localazure.batch import task_environment as variables
from localazure.batch.failures import TaskError
from localazure.batch.nodes import commands, node_files
from localazure.batch.nodes.node import Node
from localazure.waiting import canceled

_END_SECONDS = 5.0  # longer than a command has between being asked and being killed
FAILED = "failed"  # of a job's preparation: no task of the job starts on this node


async def start(node: Node) -> bool:
    """Runs the pool's start task. Whether it succeeded; the node's record has the rest."""
    task = node.settings.start_task or {}
    folder = node.root / "startup"
    env = variables.with_users({**node.environment, **variables.of_folder(folder)}, task.get("environmentSettings"))
    retries = int(task.get("maxTaskRetryCount") or 0)

    def note(info: Body) -> None:
        node.record["start"] = info
        node.context.changed(node)

    await _attempts(node, "start", task, folder, env, retries, note)
    return node.record["start"]["result"] == "success"


async def prepare(node: Node, job: Body) -> bool:
    """Runs a job's preparation once on a node, whoever asks first. Whether tasks of the job may start."""
    task = job.get("jobPreparationTask")
    if not task:
        return True
    name = str(job["id"]).lower()
    record = node.record["preparations"].get(name)
    if record is None:
        record = node.record["preparations"][name] = {
            "state": "running",
            "rerun": task.get("rerunOnNodeRebootAfterSuccess", True) is not False,
            "preparation": None,
        }
        preparing = asyncio.create_task(_prepare(node, job, record))
        preparing.add_done_callback(lambda task: task.cancelled() or task.exception())  # nobody may be waiting for it any more
        node.preparing[name] = preparing
    if task.get("waitForSuccess", True) is False:
        return True
    if record["state"] == "running":
        await asyncio.shield(node.preparing[name])
    return record["state"] == "completed"


async def _prepare(node: Node, job: Body, record: Body) -> None:
    task = job["jobPreparationTask"]
    name = variables.preparation_id(job)
    folder = variables.job_folder(node.root, job) / name
    settings = job.get("commonEnvironmentSettings"), task.get("environmentSettings")
    env = variables.of_task(node.environment, node.root, {"id": job["id"]}, name, *settings)
    retries = int((task.get("constraints") or {}).get("maxTaskRetryCount") or 0)

    def note(info: Body) -> None:
        record["preparation"] = {**info, "taskRootDirectory": str(folder.relative_to(node.root))}
        node.context.changed(node)

    try:
        await _attempts(node, _preparing(str(job["id"]).lower()), task, folder, env, retries, note)
        record["state"] = "completed" if record["preparation"]["result"] == "success" else FAILED
    finally:
        if record["state"] == "running":  # the node was lost, or this server ends: the next to ask begins again
            node.record["preparations"].pop(str(job["id"]).lower(), None)
        node.preparing.pop(str(job["id"]).lower(), None)
        node.context.changed(node)


async def end_preparation(node: Node, name: str) -> None:
    """The job has ended: a preparation that is under way serves nobody any more."""
    preparing = node.preparing.get(name)
    if preparing is None:
        return
    if node.agent is not None:
        node.agent.end_all(_preparing(name))
    await asyncio.wait([preparing], timeout=_END_SECONDS)
    await canceled(preparing)  # where its command hasn't begun yet


def _preparing(name: str) -> str:
    return f"preparation/{name}"


def told(node: Node, name: str) -> Body | None:
    """A job's preparation on a node, in the API's form; None where it wasn't prepared there."""
    record = node.record["preparations"].get(name)
    if record is None:
        return None
    place = {"poolId": node.settings.name, "nodeId": node.id, "nodeUrl": node.view()["url"]}
    return place | ({"jobPreparationTaskExecutionInfo": record["preparation"]} if record["preparation"] else {})


async def _attempts(
    node: Node, kind: str, task: Body, folder: Path, env: dict[str, str], retries: int, note: "commands.Note"
) -> None:
    """Runs it until it succeeds or its retries are used up; -1 retries for ever. `note` is told each change."""
    count = 0
    while True:
        started = node.context.now()
        retried: Body = {"retryCount": count, **({"lastRetryTime": started} if count else {})}
        note({"state": "running", "startTime": started, **retried})
        info, again = await _attempt(node, kind, task, folder, env)
        again = again and (retries == -1 or count < retries)
        if again:
            count += 1
            continue
        note({"state": "completed", "startTime": started, **retried, **info})
        return


async def _attempt(node: Node, kind: str, task: Body, folder: Path, env: dict[str, str]) -> tuple[Body, bool]:
    """How it ended, and whether a retry may help."""
    run = f"{kind}/{uuid.uuid4().hex}"
    line = str(task.get("commandLine") or "")
    try:
        await node_files.fetch(task.get("resourceFiles"), folder / "wd", node)
        ended = await commands.execute(node, commands.Job(run, task, line, folder, env, keep=kind == "start"))
    except TaskError as error:
        return commands.told(node.context.now(), None, error.body), False
    if node.agent is not None:
        node.agent.forget(run)
    failure = commands.failure_of(ended, line)
    return commands.told(ended.ended_at, ended.code, failure), ended.code not in (None, 0) and not ended.why
