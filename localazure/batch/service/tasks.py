"""Tasks over HTTP: add one or up to a hundred, get, list, terminate, delete, and the subtasks of a task."""

from typing import Any

from starlette.responses import Response

from localazure.arm.store import Body
from localazure.batch.errors import BatchError, invalid_value
from localazure.batch.model import TaskKey, TaskNode
from localazure.batch.pools import Pools as LivePools
from localazure.batch.service import answers, models, odata, task_bodies
from localazure.batch.service.request import DataPlaneRequest
from localazure.batch.work import Work
from localazure.batch.work_tables import Task

MOST_TOGETHER = 100  # documentation of addtaskcollection


class Tasks:
    """The paths below /jobs/JOB/tasks that are about tasks themselves."""

    def __init__(self, work: Work, live: LivePools) -> None:
        self._live = live
        self._work = work

    async def add(self, request: DataPlaneRequest) -> Response:
        body = await request.body("BatchTaskCreateOptions")
        task_bodies.check(body)
        job = self._work.jobs.get(request.account.key, request.segments[1])
        (added,) = self._work.tasks.add(job, [body])
        if isinstance(added, BatchError):
            raise added
        return answers.done(request, 201, view(added, request), location=_url(added, request))

    async def add_collection(self, request: DataPlaneRequest) -> Response:
        """Each task has its own result. None is a server error: clients send those again and again."""
        content = await request.raw_body()
        bodies = content.get("value") if isinstance(content, dict) else None
        if not isinstance(bodies, list):
            raise BatchError("MissingRequiredProperty", values={"PropertyName": "value"})
        if len(bodies) > MOST_TOGETHER:
            raise invalid_value("value", len(bodies), f"At most {MOST_TOGETHER} tasks can be added together")
        job = self._work.jobs.get(request.account.key, request.segments[1])
        checked = [_checked(each) for each in bodies]
        added = iter(self._work.tasks.add(job, [each for each in checked if isinstance(each, dict)]))
        results = [each if isinstance(each, BatchError) else next(added) for each in checked]
        names = [str(each.get("id", "")) if isinstance(each, dict) else "" for each in bodies]
        entries = [_result(result, name, request) for result, name in zip(results, names, strict=True)]
        return answers.plain(request, "taskaddresult", {"value": entries})

    async def listed(self, request: DataPlaneRequest) -> Response:
        job = self._work.jobs.get(request.account.key, request.segments[1])
        tasks = self._work.tables.tasks(job.account, job.name, request.after)
        return await answers.listed(request, "tasks", (view(task, request) for task in tasks))

    async def get(self, request: DataPlaneRequest) -> Response:
        entry = view(self.found(request), request)
        answers.conditions(request, entry)
        return answers.one(request, "tasks", entry)

    async def delete(self, request: DataPlaneRequest) -> Response:
        task = self.found(request)
        answers.conditions(request, view(task, request))
        await self._live.forget_task(task.key, task.node)
        self._work.tasks.delete(task)
        return answers.done(request, 200)

    async def terminate(self, request: DataPlaneRequest) -> Response:
        task = self.found(request)
        answers.conditions(request, view(task, request))
        if task.running:
            await self._live.end_task(task.key)
            task = self.found(request)
            if task.state == "completed":
                return answers.done(request, 204, view(task, request))
        self._work.tasks.terminate_waiting(task)
        return answers.done(request, 204, view(self.found(request), request))

    async def subtasks(self, request: DataPlaneRequest) -> Response:
        task = self.found(request)
        # "Note that this method does not return information for the primary task (ID 0)": Microsoft Learn, batch/batch-mpi.
        found = [each for each in self._live.subtasks(task.key) if each["id"] > 0]
        entries = [models.spelled("BatchSubtask", each) for each in sorted(found, key=lambda each: each["id"])]
        return answers.plain(
            request, "subtasks", {"value": [odata.selected(each, request.query.get("$select", "")) for each in entries]}
        )

    def found(self, request: DataPlaneRequest) -> Task:
        return self._work.tasks.get(TaskKey(request.account.key, request.segments[1].lower(), request.segments[3].lower()))


def view(task: Task, request: DataPlaneRequest) -> Body:
    """What GET answers."""
    record = dict(task.record)
    execution, node, pool = record.pop("execution"), record.pop("node", None), record.pop("pool", "")
    entry = {"id": task.id, "url": _url(task, request), "state": task.state, **record, **task.body, "executionInfo": execution}
    if node is not None and task.state != "active":
        entry["nodeInfo"] = TaskNode(*node).info(request.address, pool)
    return entry


def _url(task: Task, request: DataPlaneRequest) -> str:
    return request.url("jobs", request.segments[1], "tasks", task.id)


def _checked(body: Any) -> Body | BatchError:
    try:
        known = models.checked("BatchTaskCreateOptions", body)
        task_bodies.check(known)
    except BatchError as error:
        return error
    return known


def _result(result: Task | BatchError, name: str, request: DataPlaneRequest) -> Body:
    if isinstance(result, BatchError):
        return {"status": "clienterror", "taskId": name, "error": result.body()}
    tags = {"eTag": result.record["eTag"], "lastModified": result.record["lastModified"]}
    return {"status": "success", "taskId": result.id, "location": _url(result, request), **tags}
