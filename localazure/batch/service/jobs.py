"""Jobs over HTTP: add, get, list, change, terminate, delete, and the counts of their tasks."""

from starlette.responses import Response

from localazure.arm.store import Body
from localazure.batch.errors import BatchError, invalid_value, not_imitated
from localazure.batch.pools import Pools as LivePools
from localazure.batch.service import answers, models, task_bodies
from localazure.batch.service.request import DataPlaneRequest
from localazure.batch.service.task_bodies import check_command
from localazure.batch.work import Work
from localazure.batch.work_tables import Job
from localazure.kinds import batch_quotas


class Jobs:
    """The paths below /jobs that are about jobs themselves."""

    def __init__(self, work: Work, live: LivePools) -> None:
        self._live = live
        self._work = work

    async def add(self, request: DataPlaneRequest) -> Response:
        body = await request.body("BatchJobCreateOptions")
        task_bodies.check_id("id", body["id"])
        _check(body)
        added = self._work.add_job(request.account.key, body, quota=batch_quotas.ACTIVE_JOBS)
        return answers.done(request, 201, view(added, request), location=request.url("jobs", added.id))

    async def listed(self, request: DataPlaneRequest) -> Response:
        jobs = self._work.tables.jobs(request.account.key, request.after)
        return await answers.listed(request, "jobs", (view(job, request) for job in jobs))

    async def get(self, request: DataPlaneRequest) -> Response:
        entry = view(self._found(request), request)
        answers.conditions(request, entry)
        return answers.one(request, "jobs", entry)

    async def patch(self, request: DataPlaneRequest) -> Response:
        return await self._change(request, "BatchJobUpdateOptions", whole=False)

    async def put(self, request: DataPlaneRequest) -> Response:
        return await self._change(request, "BatchJob", whole=True)

    async def delete(self, request: DataPlaneRequest) -> Response:
        job = self._found(request)
        answers.conditions(request, view(job, request))
        self._work.jobs.delete(job)
        return answers.done(request, 202)

    async def terminate(self, request: DataPlaneRequest) -> Response:
        body = await request.optional_body("BatchJobTerminateOptions")
        job = self._found(request)
        answers.conditions(request, view(job, request))
        self._work.jobs.terminate(job, body.get("terminateReason") or "UserTerminate")
        return answers.done(request, 202, view(job, request))

    async def counts(self, request: DataPlaneRequest) -> Response:
        return answers.plain(request, "taskcountsresult/@Element", self._work.jobs.counts(self._found(request)))

    async def preparations(self, request: DataPlaneRequest) -> Response:
        job = self._found(request)
        if not job.body.get("jobPreparationTask"):
            raise BatchError("JobPreparationTaskNotSpecified")
        entries = self._live.preparations(job.account, job.name)
        known = sorted((models.spelled("BatchJobPreparationAndReleaseTaskStatus", each) for each in entries), key=_node)
        return await answers.listed(request, "jobpreparationandreleasetaskstatuslist", known, _node)

    def _found(self, request: DataPlaneRequest) -> Job:
        return self._work.jobs.get(request.account.key, request.segments[1])

    async def _change(self, request: DataPlaneRequest, model: str, *, whole: bool) -> Response:
        body = await request.body(model)
        if whole and not body.get("poolInfo"):
            raise BatchError("MissingRequiredProperty", values={"PropertyName": "poolInfo"})
        _check(body)
        job = self._found(request)
        answers.conditions(request, view(job, request))
        self._work.jobs.change(job, body, whole=whole)
        return answers.done(request, 200, view(job, request))


def view(job: Job, request: DataPlaneRequest) -> Body:
    """What GET answers."""
    record = dict(job.record)
    execution = record.pop("execution")
    return {
        "id": job.id,
        "url": request.url("jobs", job.id),
        "state": job.state,
        **record,
        **job.body,
        "executionInfo": execution,
    }


def _check(body: Body) -> None:
    """What the shape doesn't say. BatchError for the first thing that is wrong."""
    pool = body.get("poolInfo")
    if pool is not None:
        if pool.get("autoPoolSpecification"):
            raise not_imitated("'autoPoolSpecification' of a job; set 'poolId'")
        if not pool.get("poolId"):
            raise BatchError("MissingRequiredProperty", values={"PropertyName": "poolInfo.poolId"})
        task_bodies.check_id("poolInfo.poolId", pool["poolId"])
    task_bodies.check_range("priority", body.get("priority"), *task_bodies.PRIORITIES)
    if body.get("maxParallelTasks") == 0:
        raise invalid_value("maxParallelTasks", 0, "It takes -1 or a number greater than 0")
    task_bodies.check_range("maxParallelTasks", body.get("maxParallelTasks"), -1)
    task_bodies.check_constraints(body.get("constraints"), "constraints")
    for name in ("networkConfiguration", "allowTaskPreemption", "jobManagerTask", "jobReleaseTask"):
        if body.get(name):
            raise not_imitated(f"the '{name}' of a job")
    preparation = body.get("jobPreparationTask")
    if preparation:
        if "id" in preparation:
            task_bodies.check_id("jobPreparationTask.id", preparation["id"])
        check_command(preparation, "jobPreparationTask")


def _node(entry: Body) -> str:
    return f"{entry.get('poolId', '')}/{entry.get('nodeId', '')}".lower()
