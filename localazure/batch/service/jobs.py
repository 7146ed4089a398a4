"""Jobs over HTTP: add, get, list, change, disable, enable, terminate, delete, and what their tasks amount to."""

from starlette.responses import Response

from localazure.arm.store import Body
from localazure.batch.errors import BatchError, invalid_value, not_imitated
from localazure.batch.pools import Pools as LivePools
from localazure.batch.service import answers, identifiers, models, odata
from localazure.batch.service.asked import Asked
from localazure.batch.service.task_bodies import check_command
from localazure.batch.work import Work
from localazure.batch.work_tables import Job
from localazure.kinds import batch_quotas


class Jobs:
    """The paths below /jobs that are about jobs themselves."""

    def __init__(self, work: Work, live: LivePools) -> None:
        self._live = live
        self._work = work

    async def add(self, asked: Asked) -> Response:
        body = await asked.body("BatchJobCreateOptions")
        identifiers.check_id("id", body["id"])
        _check(body)
        added = self._work.add_job(asked.account_key, body, quota=batch_quotas.ACTIVE_JOBS)
        return answers.done(asked, 201, view(added, asked), location=asked.url("jobs", added.id))

    async def listed(self, asked: Asked) -> Response:
        answers.no_expand(asked)
        jobs = self._work.jobs.all_of(asked.account_key, asked.after)
        return await answers.listed(asked, "jobs", (view(job, asked) for job in jobs), odata.JOBS)

    async def get(self, asked: Asked) -> Response:
        answers.no_expand(asked)
        entry = view(self._found(asked), asked)
        answers.conditions(asked, entry)
        return answers.one(asked, "jobs", entry)

    async def patch(self, asked: Asked) -> Response:
        return await self._change(asked, "BatchJobUpdateOptions", whole=False)

    async def put(self, asked: Asked) -> Response:
        return await self._change(asked, "BatchJob", whole=True)

    async def delete(self, asked: Asked) -> Response:
        job = self._found(asked)
        answers.conditions(asked, view(job, asked))
        self._work.jobs.delete(job)
        return answers.done(asked, 202)

    async def disable(self, asked: Asked) -> Response:
        body = await asked.body("BatchJobDisableOptions")
        job = self._found(asked)
        answers.conditions(asked, view(job, asked))
        self._work.jobs.disable(job, body["disableTasks"])
        return answers.done(asked, 202, view(job, asked))

    async def enable(self, asked: Asked) -> Response:
        job = self._found(asked)
        answers.conditions(asked, view(job, asked))
        self._work.jobs.enable(job)
        return answers.done(asked, 202, view(job, asked))

    async def terminate(self, asked: Asked) -> Response:
        body = await asked.optional_body("BatchJobTerminateOptions")
        job = self._found(asked)
        answers.conditions(asked, view(job, asked))
        self._work.jobs.terminate(job, body.get("terminateReason") or "UserTerminate")
        return answers.done(asked, 202, view(job, asked))

    async def counts(self, asked: Asked) -> Response:
        return answers.plain(asked, "taskcountsresult/@Element", self._work.jobs.counts(self._found(asked)))

    async def preparations(self, asked: Asked) -> Response:
        job = self._found(asked)
        if not job.body.get("jobPreparationTask"):
            raise BatchError("JobPreparationTaskNotSpecified")
        entries = self._live.preparations(job.account, job.name)
        known = sorted((models.spelled("BatchJobPreparationAndReleaseTaskStatus", each) for each in entries), key=_node)
        return await answers.listed(asked, "jobpreparationandreleasetaskstatuslist", known, odata.PREPARATIONS, _node)

    def _found(self, asked: Asked) -> Job:
        return self._work.jobs.get(asked.account_key, asked.segments[1])

    async def _change(self, asked: Asked, model: str, *, whole: bool) -> Response:
        body = await asked.body(model)
        if whole and not body.get("poolInfo"):
            raise BatchError("MissingRequiredProperty", values={"PropertyName": "poolInfo"})
        _check(body)
        job = self._found(asked)
        answers.conditions(asked, view(job, asked))
        self._work.jobs.change(job, body, whole=whole)
        return answers.done(asked, 200, view(job, asked))


def view(job: Job, asked: Asked) -> Body:
    """What GET answers."""
    record = dict(job.record)
    execution = record.pop("execution")
    record.pop("disableTasks", None)
    return {"id": job.id, "url": asked.url("jobs", job.id), "state": job.state, **record, **job.body, "executionInfo": execution}


def _check(body: Body) -> None:
    """What the shape doesn't say. BatchError for the first thing that is wrong."""
    pool = body.get("poolInfo")
    if pool is not None:
        if pool.get("autoPoolSpecification"):
            raise not_imitated("'autoPoolSpecification' of a job; set 'poolId'")
        if not pool.get("poolId"):
            raise BatchError("MissingRequiredProperty", values={"PropertyName": "poolInfo.poolId"})
        identifiers.check_id("poolInfo.poolId", pool["poolId"])
    identifiers.check_range("priority", body.get("priority"), *identifiers.PRIORITIES)
    if body.get("maxParallelTasks") == 0:
        raise invalid_value("maxParallelTasks", 0, "It takes -1 or a number greater than 0")
    identifiers.check_range("maxParallelTasks", body.get("maxParallelTasks"), -1)
    identifiers.check_constraints(body.get("constraints"), "constraints")
    if body.get("networkConfiguration"):
        raise not_imitated("the 'networkConfiguration' of a job")
    if body.get("allowTaskPreemption"):
        raise not_imitated("'allowTaskPreemption'")
    if body.get("jobReleaseTask") and not body.get("jobPreparationTask"):
        raise invalid_value("jobReleaseTask", "", "A job release task needs a job preparation task")
    for name in ("jobPreparationTask", "jobReleaseTask", "jobManagerTask"):
        task = body.get(name)
        if task:
            if "id" in task:
                identifiers.check_id(f"{name}.id", task["id"])
            check_command(task, name)


def _node(entry: Body) -> str:
    return f"{entry.get('poolId', '')}/{entry.get('nodeId', '')}".lower()
