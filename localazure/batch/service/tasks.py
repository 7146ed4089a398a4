"""Tasks over HTTP: add one or up to a hundred, get, list, change, terminate, reactivate, delete, and the subtasks of a task."""

from typing import Any

from starlette.responses import Response

from localazure.arm.store import Body
from localazure.batch.errors import BatchError, invalid_value
from localazure.batch.model import TaskKey, TaskNode
from localazure.batch.pools import Pools as LivePools
from localazure.batch.service import answers, identifiers, models, odata, task_bodies
from localazure.batch.service.asked import Asked
from localazure.batch.work import Work
from localazure.batch.work_tables import Task

MOST_TOGETHER = 100  # documentation of addtaskcollection


class Tasks:
    """The paths below /jobs/JOB/tasks that are about tasks themselves."""

    def __init__(self, work: Work, live: LivePools) -> None:
        self._live = live
        self._work = work

    async def add(self, asked: Asked) -> Response:
        body = await asked.body("BatchTaskCreateOptions")
        task_bodies.check(body)
        job = self._work.jobs.get(asked.account_key, asked.segments[1])
        (added,) = self._work.tasks.add(job, [body])
        if isinstance(added, BatchError):
            raise added
        return answers.done(asked, 201, view(added, asked), location=_url(added, asked))

    async def add_collection(self, asked: Asked) -> Response:
        """Each task has a result of its own. None is a server error: clients send those again and again."""
        content = await asked.raw_body()
        bodies = content.get("value") if isinstance(content, dict) else None
        if not isinstance(bodies, list):
            raise BatchError("MissingRequiredProperty", values={"PropertyName": "value"})
        if len(bodies) > MOST_TOGETHER:
            raise invalid_value("value", len(bodies), f"At most {MOST_TOGETHER} tasks can be added together")
        job = self._work.jobs.get(asked.account_key, asked.segments[1])
        checked = [_checked(each) for each in bodies]
        added = iter(self._work.tasks.add(job, [each for each in checked if isinstance(each, dict)]))
        results = [each if isinstance(each, BatchError) else next(added) for each in checked]
        names = [str(each.get("id", "")) if isinstance(each, dict) else "" for each in bodies]
        entries = [_result(result, name, asked) for result, name in zip(results, names, strict=True)]
        return answers.plain(asked, "taskaddresult", {"value": entries})

    async def listed(self, asked: Asked) -> Response:
        answers.no_expand(asked)
        job = self._work.jobs.get(asked.account_key, asked.segments[1])
        tasks = self._work.tasks.all_of(job, asked.after)
        return await answers.listed(asked, "tasks", (view(task, asked) for task in tasks), odata.TASKS)

    async def get(self, asked: Asked) -> Response:
        answers.no_expand(asked)
        entry = view(self.found(asked), asked)
        answers.conditions(asked, entry)
        return answers.one(asked, "tasks", entry)

    async def put(self, asked: Asked) -> Response:
        body = await asked.body("BatchTask")
        identifiers.check_constraints(body.get("constraints"), "constraints")
        task = self.found(asked)
        answers.conditions(asked, view(task, asked))
        self._work.tasks.change(task, body.get("constraints"))
        return answers.done(asked, 200, view(task, asked))

    async def delete(self, asked: Asked) -> Response:
        task = self.found(asked)
        answers.conditions(asked, view(task, asked))
        await self._live.forget_task(task.key, self._work.tasks.node_of(task))
        self._work.tasks.delete(task)
        return answers.done(asked, 200)

    async def terminate(self, asked: Asked) -> Response:
        task = self.found(asked)
        answers.conditions(asked, view(task, asked))
        if task.running:
            await self._live.end_task(task.key)
            task = self.found(asked)
            if task.state == "completed":
                return answers.done(asked, 204, view(task, asked))
        self._work.tasks.terminate_waiting(task)
        return answers.done(asked, 204, view(self.found(asked), asked))

    async def reactivate(self, asked: Asked) -> Response:
        task = self.found(asked)
        answers.conditions(asked, view(task, asked))
        self._work.tasks.reactivate(task)
        return answers.done(asked, 204, view(task, asked))

    async def subtasks(self, asked: Asked) -> Response:
        task = self.found(asked)
        # "Note that this method does not return information for the primary task (ID 0)": Microsoft Learn, batch/batch-mpi.
        found = [each for each in self._live.subtasks(task.key) if each["id"] > 0]
        entries = [models.spelled("BatchSubtask", each) for each in sorted(found, key=lambda each: each["id"])]
        return answers.plain(asked, "subtasks", {"value": [odata.selected(each, asked.select) for each in entries]})

    def found(self, asked: Asked) -> Task:
        return self._work.tasks.get(TaskKey(asked.account_key, asked.segments[1].lower(), asked.segments[3].lower()))


def view(task: Task, asked: Asked) -> Body:
    """What GET answers."""
    record = dict(task.record)
    execution, node, pool = record.pop("execution"), record.pop("node", None), record.pop("pool", "")
    record.pop("requeued", None)
    entry = {"id": task.id, "url": _url(task, asked), "state": task.state, **record, **task.body, "executionInfo": execution}
    if node is not None and task.state != "active":
        entry["nodeInfo"] = _node_info(TaskNode(*node), pool, asked)
    return entry


def _node_info(node: TaskNode, pool: str, asked: Asked) -> Body:
    address = asked.url("pools", pool, "nodes", node.node_id)
    return {
        "affinityId": node.affinity_id,
        "nodeUrl": address,
        "poolId": pool,
        "nodeId": node.node_id,
        "taskRootDirectory": node.root,
        "taskRootDirectoryUrl": f"{address}/files/{node.root}",
    }


def _url(task: Task, asked: Asked) -> str:
    return asked.url("jobs", asked.segments[1], "tasks", task.id)


def _checked(body: Any) -> Body | BatchError:
    try:
        known = models.checked("BatchTaskCreateOptions", body)
        task_bodies.check(known)
    except BatchError as error:
        return error
    return known


def _result(result: Task | BatchError, name: str, asked: Asked) -> Body:
    if isinstance(result, BatchError):
        return {"status": "clienterror", "taskId": name, "error": result.body()}
    tags = {"eTag": result.record["eTag"], "lastModified": result.record["lastModified"]}
    return {"status": "success", "taskId": result.id, "location": _url(result, asked), **tags}
