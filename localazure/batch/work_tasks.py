"""Clients' changes of tasks (add, terminate, delete), and the ends of tasks.

Sources: the documentation of the operations in azure-batch 15.1 (terminate, delete), of BatchTaskDependencies, and
of the job's onTaskFailure.
"""

from collections.abc import Sequence

from localazure.arm.store import Body
from localazure.batch import work_rules as rules
from localazure.batch.changes import Changed
from localazure.batch.errors import BatchError, not_imitated
from localazure.batch.model import Outcome, TaskKey
from localazure.batch.task_environment import preparation_id
from localazure.batch.work_jobs import Jobs, refuse_ended
from localazure.batch.work_tables import Job, Tables, Task

_CONSTRAINTS: Body = {"maxWallClockTime": rules.UNLIMITED, "retentionTime": "P7D"}


class Tasks:
    """The tasks of all jobs."""

    def __init__(self, tables: Tables, changed: Changed, jobs: Jobs) -> None:
        self._tables = tables
        self._changed = changed
        self._jobs = jobs

    # Looking

    def get(self, key: TaskKey) -> Task:
        """BatchError 404 where there is none, or no such job."""
        task = self._tables.task(key)
        if task is None:
            self._jobs.get(key.account, key.job)
            raise BatchError("TaskNotFound")
        return task

    # Changing

    def add(self, job: Job, bodies: Sequence[Body]) -> list[Task | BatchError]:
        """New tasks, each with its own refusal. Checked already but for what depends on the job and its other tasks."""
        refuse_ended(job)
        added: list[Task | BatchError] = []
        with self._changed.told():
            for body in bodies:
                try:
                    added.append(self._add(job, body))
                except BatchError as error:
                    added.append(error)
            self._changed.pool(job.pool_key)
        return added

    def terminate_waiting(self, task: Task) -> None:
        """Ends a task that no node has. One that runs is ended by its node."""
        if task.state == "completed":
            raise BatchError("TaskCompleted")
        job = self._jobs.get(task.key.account, task.key.job)
        now = self._changed.stamp()
        with self._changed.told():
            self.complete(task, job, Outcome("", now, None, rules.ENDED, None, retried=False))
            self._changed.job_if_moving(job)

    def delete(self, task: Task) -> None:
        job = self._jobs.get(task.key.account, task.key.job)
        with self._changed.told():
            self._tables.remove_task(task.key)
            self._changed.pool(job.pool_key)
            self._changed.job_if_moving(job)
            self._jobs.look(job)

    # The ends of runs

    def complete(self, task: Task, job: Job, outcome: Outcome) -> None:
        """A task has ended for good. Frees what waited for it, and does to its job what its exit conditions say."""
        options = rules.exit_options(task.body, outcome)
        task.result, task.satisfied = rules.result_of(outcome), options["dependencyAction"] == "satisfy"
        task.record["execution"] = rules.execution_of(task.record["execution"], outcome)
        self._changed.state(task, "completed")
        self._tables.put(task)
        if task.satisfied:
            self._free(task, job)
        if job.parallel != -1:
            self._changed.pool(job.pool_key)  # there is room for another of the job's tasks
        self._act(job, options["jobAction"])

    def again(self, task: Task, what: str) -> None:
        """It waits for a node again. `what`: Retry, or Requeue."""
        execution = rules.counters(task.record["execution"])
        count = f"{what.lower()}Count"
        task.record["execution"] = execution | {count: execution[count] + 1, f"last{what}Time": self._changed.stamp()}
        self._changed.state(task, "active")
        self._tables.put(task)

    def _free(self, task: Task, job: Job) -> None:
        tasks = self._tables.of(job.account, job.name)
        for waiting in tasks.waiting_for(task):
            if not tasks.unmet(waiting):
                waiting.held = False
                self._tables.put(waiting)
                self._changed.pool(job.pool_key)

    def _act(self, job: Job, action: str) -> None:
        if job.state in ("terminating", "completed", "deleting"):
            return
        if job.body["onTaskFailure"].lower() == "performexitoptionsjobaction" and action == "terminate":
            self._jobs.terminate(job, "TaskFailed")
        else:
            self._jobs.look(job)

    def _add(self, job: Job, body: Body) -> Task:
        key = TaskKey(job.account, job.name, body["id"].lower())
        if self._tables.task(key):
            raise BatchError("TaskExists")
        if job.body.get("jobPreparationTask") and preparation_id(job.body).lower() == key.task:
            raise BatchError("TaskIdSameAsJobPreparationTask")
        actions = _job_actions(body.get("exitConditions") or {})
        if "disable" in actions:
            raise not_imitated("the jobAction 'disable'")
        if actions and job.body["onTaskFailure"].lower() == "noaction":
            values = {"PropertyName": "jobAction", "Reason": "The job's onTaskFailure is noaction"}
            raise BatchError("InvalidPropertyValue", values=values)
        if (body.get("dependsOn") or {}).get("taskIds") and not job.body["usesTaskDependencies"]:
            raise BatchError("TaskDependenciesNotSpecifiedOnJob")
        body = {name: value for name, value in body.items() if value is not None}
        body["requiredSlots"] = body.get("requiredSlots") or 1
        body["constraints"] = _constraints(body.get("constraints"), job)
        task = Task(
            key=key,
            state="active",
            held=False,
            slots=body["requiredSlots"],
            body=body,
            record={"execution": {"retryCount": 0, "requeueCount": 0}},
        )
        self._changed.state(task, "active")
        task.record["creationTime"] = task.record["lastModified"]
        task.held = self._tables.of(job.account, job.name).unmet(task)
        self._tables.put(task)
        return task


def _constraints(given: Body | None, job: Job) -> Body:
    """A task's constraints; how often it is tried is the job's to say where the task doesn't."""
    said = {name: value for name, value in (given or {}).items() if value is not None}
    return _CONSTRAINTS | {"maxTaskRetryCount": job.body["constraints"]["maxTaskRetryCount"]} | said


def _job_actions(conditions: Body) -> set[str]:
    singles = [conditions.get(name) for name in ("preProcessingError", "fileUploadError", "default")]
    listed = [each.get("exitOptions") for name in ("exitCodes", "exitCodeRanges") for each in conditions.get(name) or []]
    return {str(each["jobAction"]).lower() for each in [*singles, *listed] if each and each.get("jobAction")}
