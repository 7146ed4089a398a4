"""What clients do to jobs and tasks, what a job does by itself, and who hears of it."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from localazure.batch.errors import BatchError
from localazure.batch.model import Outcome, PoolKey
from localazure.batch.work import Work
from tests.localazure.batch.work_words import (
    ACCOUNT,
    BEGAN,
    ENDED,
    NODE,
    POOL,
    Clock,
    add,
    add_job,
    execution,
    job_state,
    key,
    ready,
    run,
    state,
)


class TestJobs:
    def test_a_job_that_ends_with_its_tasks_is_on_its_way_once_the_last_has_ended(self, work: Work) -> None:
        add_job(work)
        add(work, "a", "b")
        job = work.jobs.get(ACCOUNT, "job")
        work.jobs.change(job, {"onAllTasksComplete": "terminatejob"}, whole=False)
        run(work, "a")
        assert job_state(work) == "active"
        run(work, "b", 1)
        assert job_state(work) == "terminating"
        assert work.jobs.get(ACCOUNT, "job").record["execution"]["terminateReason"] == "AllTasksComplete"

    def test_a_job_without_tasks_ends_at_once_where_it_ends_with_its_tasks(self, work: Work) -> None:
        add_job(work, onAllTasksComplete="terminatejob")
        assert job_state(work) == "terminating"

    def test_a_failed_task_ends_its_job_where_that_was_asked_for(self, work: Work) -> None:
        add_job(work, onTaskFailure="performexitoptionsjobaction")
        add(work, "good", "bad")
        run(work, "good")
        assert job_state(work) == "active"
        run(work, "bad", 1)
        assert job_state(work) == "terminating"
        assert work.jobs.get(ACCOUNT, "job").record["execution"]["terminateReason"] == "TaskFailed"

    def test_an_exit_condition_can_disable_the_job_or_leave_it(self, work: Work) -> None:
        add_job(work, onTaskFailure="performexitoptionsjobaction")
        conditions = {
            "exitCodes": [{"code": 5, "exitOptions": {"jobAction": "none"}}, {"code": 6, "exitOptions": {"jobAction": "disable"}}]
        }
        add(work, "a", "b", exitConditions=conditions)
        run(work, "a", 5)
        assert job_state(work) == "active"
        run(work, "b", 6)
        assert job_state(work) == "disabling"
        assert work.jobs.get(ACCOUNT, "job").record["disableTasks"] == "requeue"

    def test_the_end_of_the_manager_ends_the_job(self, work: Work) -> None:
        add_job(work, jobManagerTask={"id": "manager", "commandLine": "true"})
        add(work, "a")
        assert ready(work) == ["manager", "a"]
        run(work, "manager")
        assert job_state(work) == "terminating"
        assert work.jobs.get(ACCOUNT, "job").record["execution"]["terminateReason"] == "JMComplete"

    def test_a_manager_can_leave_the_job_to_its_tasks(self, work: Work) -> None:
        add_job(work, jobManagerTask={"id": "manager", "commandLine": "true", "killJobOnCompletion": False})
        run(work, "manager")
        assert job_state(work) == "active"

    def test_what_runs_too_long_is_terminated(self, work: Work, clock: Clock) -> None:
        add_job(work, constraints={"maxWallClockTime": "PT10M"})
        add_job(work, "endless")
        clock.now += timedelta(minutes=9)
        assert work.jobs.expire() == "2026-11-21T10:10:00.000000Z"
        clock.now += timedelta(minutes=1)
        assert work.jobs.expire() == ""
        assert (job_state(work), job_state(work, "endless")) == ("terminating", "active")
        assert work.jobs.get(ACCOUNT, "job").record["execution"]["terminateReason"] == "MaxWallClockTimeExpiry"

    def test_a_disabled_job_s_tasks_do_not_start(self, work: Work) -> None:
        add_job(work)
        add(work, "a")
        work.jobs.disable(work.jobs.get(ACCOUNT, "job"), "wait")
        assert ready(work) == []
        assert work.counts(POOL).active == 0
        work.jobs.settled(work.jobs.get(ACCOUNT, "job"), "disabled")
        work.jobs.enable(work.jobs.get(ACCOUNT, "job"))
        work.jobs.settled(work.jobs.get(ACCOUNT, "job"), "active")
        assert ready(work) == ["a"]

    def test_the_pool_can_be_changed_while_the_job_is_disabled_alone(self, work: Work) -> None:
        add_job(work)
        job = work.jobs.get(ACCOUNT, "job")
        with pytest.raises(BatchError, match="OperationInvalidForCurrentState"):
            work.jobs.change(job, {"poolInfo": {"poolId": "other"}}, whole=False)
        work.jobs.disable(work.jobs.get(ACCOUNT, "job"), "wait")
        work.jobs.settled(work.jobs.get(ACCOUNT, "job"), "disabled")
        work.jobs.change(work.jobs.get(ACCOUNT, "job"), {"poolInfo": {"poolId": "other"}}, whole=False)
        assert work.jobs.get(ACCOUNT, "job").pool == "other"

    def test_a_whole_change_puts_back_what_it_leaves_out(self, work: Work) -> None:
        add_job(work, priority=7, maxParallelTasks=3, metadata=[{"name": "a", "value": "b"}])
        pool = {"poolInfo": {"poolId": "pool"}}
        work.jobs.change(work.jobs.get(ACCOUNT, "job"), {"priority": 9}, whole=False)
        assert work.jobs.get(ACCOUNT, "job").body["maxParallelTasks"] == 3
        work.jobs.change(work.jobs.get(ACCOUNT, "job"), pool, whole=True)
        job = work.jobs.get(ACCOUNT, "job")
        assert (job.priority, job.parallel) == (0, -1)
        assert "metadata" not in job.body

    @pytest.mark.parametrize(
        ("state", "code"),
        [("terminating", "JobBeingTerminated"), ("completed", "JobCompleted"), ("deleting", "JobBeingDeleted")],
    )
    def test_a_job_that_ends_takes_no_tasks_and_no_changes(self, work: Work, state: str, code: str) -> None:
        add_job(work)
        job = work.jobs.get(ACCOUNT, "job")
        if state == "deleting":
            work.jobs.delete(job)
        else:
            work.jobs.terminate(job)
            if state == "completed":
                work.jobs.settled(job, "completed")
        for act in (
            lambda: add(work, "a"),
            lambda: work.jobs.change(work.jobs.get(ACCOUNT, "job"), {"priority": 1}, whole=False),
            lambda: work.jobs.terminate(work.jobs.get(ACCOUNT, "job")),
            lambda: work.jobs.disable(work.jobs.get(ACCOUNT, "job"), "wait"),
        ):
            with pytest.raises(BatchError, match=code):
                act()

    def test_a_quota_counts_jobs_that_have_not_completed(self, work: Work) -> None:
        add_job(work, "one")
        with pytest.raises(BatchError, match="ActiveJobAndScheduleQuotaReached"):
            work.add_job(ACCOUNT, {"id": "two", "poolInfo": {"poolId": "pool"}}, quota=1)
        job = work.jobs.get(ACCOUNT, "one")
        work.jobs.terminate(job)
        work.jobs.settled(job, "completed")
        work.add_job(ACCOUNT, {"id": "two", "poolInfo": {"poolId": "pool"}}, quota=1)

    def test_ids_are_compared_without_letter_case(self, work: Work) -> None:
        add_job(work, "Job")
        with pytest.raises(BatchError, match="JobExists"):
            add_job(work, "JOB")
        add(work, "Task")
        with pytest.raises(BatchError, match="TaskExists"):
            add(work, "TASK")

    @pytest.mark.parametrize(
        ("given", "name", "code"),
        [
            ({"jobPreparationTask": {"commandLine": "true"}}, "JobPreparation", "TaskIdSameAsJobPreparationTask"),
            ({"jobReleaseTask": {"id": "bye", "commandLine": "true"}}, "bye", "TaskIdSameAsJobReleaseTask"),
        ],
        ids=["preparation", "release"],
    )
    def test_the_job_s_own_tasks_keep_their_ids(self, work: Work, given: dict[str, Any], name: str, code: str) -> None:
        add_job(work, **given)
        with pytest.raises(BatchError, match=code):
            add(work, name)

    def test_an_account_that_goes_takes_its_jobs_along(self, work: Work) -> None:
        add_job(work)
        add(work, "a")
        work.add_job("another", {"id": "job", "poolInfo": {"poolId": "pool"}})
        asyncio.run(work.forget_account(ACCOUNT))
        assert [job.id for job in work.jobs.all_of(ACCOUNT)] == []
        assert [job.id for job in work.jobs.all_of("another")] == ["job"]


class TestTasksByClients:
    def test_one_refusal_does_not_spoil_the_others_of_a_collection(self, work: Work) -> None:
        add_job(work)
        job = work.jobs.get(ACCOUNT, "job")
        results = work.tasks.add(job, [{"id": name, "commandLine": "true"} for name in ("a", "a", "b")])
        assert [isinstance(each, BatchError) and each.code for each in results] == [False, "TaskExists", False]
        assert ready(work) == ["a", "b"]

    def test_a_task_that_waits_is_ended_by_a_word(self, work: Work) -> None:
        add_job(work)
        add(work, "a")
        work.tasks.terminate_waiting(work.tasks.get(key("a")))
        assert state(work, "a") == "completed"
        assert execution(work, "a")["failureInfo"]["code"] == "TaskEnded"
        assert ready(work) == []

    def test_only_what_failed_is_reactivated(self, work: Work) -> None:
        add_job(work)
        add(work, "waits", "won", "lost", constraints={"maxTaskRetryCount": 1})
        run(work, "won")
        run(work, "lost", 1)
        run(work, "lost", 1)
        with pytest.raises(BatchError, match="TaskNotCompleted"):
            work.tasks.reactivate(work.tasks.get(key("waits")))
        with pytest.raises(BatchError, match="TaskSucceeded"):
            work.tasks.reactivate(work.tasks.get(key("won")))
        work.tasks.reactivate(work.tasks.get(key("lost")))
        assert execution(work, "lost") == {"retryCount": 0, "requeueCount": 0}
        assert "lost" in ready(work)

    def test_the_last_task_s_deletion_ends_a_job_that_ends_with_its_tasks(self, work: Work) -> None:
        add_job(work)
        add(work, "a")
        work.jobs.change(work.jobs.get(ACCOUNT, "job"), {"onAllTasksComplete": "terminatejob"}, whole=False)
        work.tasks.delete(work.tasks.get(key("a")))
        assert job_state(work) == "terminating"

    def test_a_job_action_needs_a_job_that_acts_on_failures(self, work: Work) -> None:
        add_job(work)
        with pytest.raises(BatchError, match="InvalidPropertyValue"):
            add(work, "a", exitConditions={"default": {"jobAction": "terminate"}})


class TestListeners:
    def test_a_pool_hears_of_new_work_after_it_is_durable(self, work: Work) -> None:
        heard: list[list[str]] = []
        work.listen(lambda pool: heard.append([run.task["id"] for run in work.ready(pool)]))
        add_job(work)
        add(work, "a")
        assert heard[-1] == ["a"]

    def test_a_pool_hears_of_what_an_end_has_freed(self, work: Work) -> None:
        add_job(work, usesTaskDependencies=True)
        add(work, "a")
        add(work, "b", dependsOn={"taskIds": ["a"]})
        heard: list[PoolKey] = []
        work.listen(heard.append)
        run(work, "a")
        assert heard == [POOL]

    def test_a_refused_task_tells_nobody(self, work: Work) -> None:
        add_job(work)
        heard: list[PoolKey] = []
        job = work.jobs.get(ACCOUNT, "job")
        work.jobs.terminate(job)
        work.listen(heard.append)
        with pytest.raises(BatchError):
            work.tasks.add(work.jobs.get(ACCOUNT, "job"), [{"id": "a", "commandLine": "true"}])
        assert heard == []

    def test_a_task_s_tag_changes_with_each_change(self, work: Work) -> None:
        add_job(work)
        add(work, "a")
        tags = {work.tasks.get(key("a")).record["eTag"]}
        work.begun(key("a"), NODE)
        tags.add(work.tasks.get(key("a")).record["eTag"])
        work.ended(key("a"), Outcome(BEGAN, ENDED, 0))
        tags.add(work.tasks.get(key("a")).record["eTag"])
        assert len(tags) == 3
