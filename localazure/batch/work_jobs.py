"""Clients' changes of jobs: add, change, terminate, delete.

A job that has to end running tasks first stays on its way (terminating, deleting) until `endings` has done that.
Sources: the documentation of the operations in azure-batch 15.1, of BatchJobExecutionInfo, and of BatchJobConstraints.
"""

from datetime import datetime

from azure_gpu.catalog import durations
from localazure.arm.store import Body
from localazure.batch import work_rules as rules
from localazure.batch.changes import Changed, written
from localazure.batch.errors import BatchError
from localazure.batch.model import UNLIMITED_DAYS
from localazure.batch.work_tables import Job, Tables

_DEFAULTS: Body = {
    "usesTaskDependencies": False,
    "priority": 0,
    "allowTaskPreemption": False,
    "maxParallelTasks": -1,
    "onAllTasksComplete": "noaction",
    "onTaskFailure": "noaction",
}
_CONSTRAINTS: Body = {"maxWallClockTime": rules.UNLIMITED, "maxTaskRetryCount": 0}
CHANGEABLE = (
    "priority",
    "allowTaskPreemption",
    "maxParallelTasks",
    "constraints",
    "poolInfo",
    "onAllTasksComplete",
    "metadata",
    "networkConfiguration",
)


class Jobs:
    """The jobs of all accounts."""

    def __init__(self, tables: Tables, changed: Changed) -> None:
        self._tables = tables
        self._changed = changed

    # Looking

    def get(self, account: str, name: str) -> Job:
        """BatchError 404 where there is none."""
        job = self._tables.job(account, name)
        if job is None:
            raise BatchError("JobNotFound")
        return job

    def counts(self, job: Job) -> Body:
        """Tasks and slots by state, as the operation `taskcounts` answers them."""
        names = ("active", "running", "completed", "succeeded", "failed")
        tasks: dict[str, int] = {}.fromkeys(names, 0)
        slots = dict(tasks)
        for task in self._tables.of(job.account, job.name).all.values():
            where = ["running" if task.running else task.state]
            if task.state == "completed":
                where.append("succeeded" if task.result == "success" else "failed")
            for name in where:
                tasks[name] += 1
                slots[name] += task.slots
        return {"taskCounts": tasks, "taskSlotCounts": slots}

    # Changing

    def add(self, account: str, body: Body, *, quota: int | None = None) -> Job:
        """A new job, active at once. Checked already but for what depends on other jobs."""
        name = body["id"].lower()
        if self._tables.job(account, name):
            raise BatchError("JobExists")
        if quota is not None and sum(each.state != "completed" for each in self._tables.jobs(account)) >= quota:
            raise BatchError("ActiveJobAndScheduleQuotaReached")
        body = _DEFAULTS | {key: value for key, value in body.items() if value is not None}
        job = Job(account=account, name=name, pool="", state="active", priority=0, parallel=-1, deadline="", body=body)
        with self._changed.told():
            self._changed.state(job, "active")
            job.record |= {"creationTime": job.record["lastModified"]}
            job.record["execution"] = {"startTime": job.record["creationTime"]}
            self._settle(job)
            self._tables.put(job)
            self._changed.job(job)  # it may have a deadline
        return job

    def change(self, job: Job, body: Body, *, whole: bool) -> None:
        """PATCH, or PUT where `whole`: what isn't given then gets its default again."""
        refuse_ended(job)
        given = {name: body.get(name) for name in CHANGEABLE if whole or body.get(name) is not None}
        pool = (given.get("poolInfo") or {}).get("poolId")
        if pool and pool.lower() != job.pool:
            raise BatchError("OperationInvalidForCurrentState", "The pool of a job can be changed only while it is disabled.")
        if given.get("poolInfo") is None:
            given.pop("poolInfo", None)  # a PUT has to name it; a PATCH leaves it
        if not whole and "constraints" in given:
            given["constraints"] = job.body["constraints"] | given["constraints"]
        for name, value in given.items():
            if value is None:
                job.body.pop(name, None)
            else:
                job.body[name] = value
        job.body = _DEFAULTS | job.body
        with self._changed.told():
            self._changed.touched(job.record)
            self._settle(job)
            self._tables.put(job)
            self._changed.pool(job.pool_key)
            self._changed.job(job)
            self.look(job)

    def terminate(self, job: Job, reason: str = "UserTerminate") -> None:
        refuse_ended(job)
        job.record["execution"]["terminateReason"] = reason
        self._move(job, "terminating")

    def delete(self, job: Job) -> None:
        if job.state == "deleting":
            raise BatchError("JobBeingDeleted")
        self._move(job, "deleting")

    def look(self, job: Job) -> None:
        """Terminates a job that ends with its tasks and has none left to run."""
        ends = job.body["onAllTasksComplete"].lower() == "terminatejob"
        tasks = self._tables.of(job.account, job.name).all.values()
        if ends and job.state == "active" and all(task.state == "completed" for task in tasks):
            self.terminate(job, "AllTasksComplete")

    # The ends of what `endings` brings about

    def settled(self, job: Job) -> None:
        """A job that was terminated has ended."""
        with self._changed.told():
            job.record["execution"]["endTime"] = self._changed.stamp()
            job.deadline = ""
            self._changed.state(job, "completed")
            self._tables.put(job)

    def gone(self, job: Job) -> None:
        self._tables.remove_job(job.account, job.name)

    def expire(self) -> str:
        """Terminates jobs whose maxWallClockTime is over. When the next one's is, or ""."""
        now = self._changed.stamp()
        for job in self._tables.jobs_with_deadline():
            if job.deadline > now:
                return job.deadline
            if job.state == "active":
                self.terminate(job, "MaxWallClockTimeExpiry")
            else:
                job.deadline = ""
                with self._changed.told():
                    self._tables.put(job)
        return ""

    def _move(self, job: Job, state: str) -> None:
        with self._changed.told():
            if state in ("terminating", "deleting"):
                job.deadline = ""
            self._changed.state(job, state)
            self._tables.put(job)
            self._changed.pool(job.pool_key)
            self._changed.job(job)

    def _settle(self, job: Job) -> None:
        """What the tables have columns for, from a new body."""
        job.body["constraints"] = _CONSTRAINTS | {
            name: value for name, value in (job.body.get("constraints") or {}).items() if value is not None
        }
        job.pool = job.body["poolInfo"]["poolId"].lower()
        job.priority, job.parallel = job.body["priority"], job.body["maxParallelTasks"]
        limit = durations.length(job.body["constraints"]["maxWallClockTime"])
        started = datetime.fromisoformat(job.record["execution"]["startTime"])
        job.deadline = "" if limit is None or limit.days > UNLIMITED_DAYS else written(started + limit)
        job.record["execution"]["poolId"] = job.body["poolInfo"]["poolId"]


_ENDED = {"terminating": "JobBeingTerminated", "deleting": "JobBeingDeleted", "completed": "JobCompleted"}


def refuse_ended(job: Job) -> None:
    """BatchError where a job has ended, or is about to."""
    if job.state in _ENDED:
        raise BatchError(_ENDED[job.state])
