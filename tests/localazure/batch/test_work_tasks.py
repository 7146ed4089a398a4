"""Tasks as the service keeps them: what may start next, and what the end of a task leads to."""

import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from localazure.batch.errors import BatchError
from localazure.batch.model import Outcome, PoolKey, TaskCounts
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
    key,
    ready,
    run,
    state,
)


class TestWhatMayStart:
    def test_tasks_start_in_the_order_in_which_they_were_added(self, work: Work) -> None:
        add_job(work)
        add(work, "zebra", "apple", "mouse")
        assert ready(work) == ["zebra", "apple", "mouse"]

    def test_a_job_of_higher_priority_comes_first_and_older_ones_before_newer(self, work: Work) -> None:
        add_job(work, "older", priority=5)
        add_job(work, "newer", priority=5)
        add_job(work, "urgent", priority=100)
        for job in ("newer", "older", "urgent"):
            add(work, f"of-{job}", job=job)
        assert ready(work) == ["of-urgent", "of-older", "of-newer"]

    def test_a_job_runs_no_more_tasks_at_once_than_it_allows(self, work: Work) -> None:
        add_job(work, maxParallelTasks=2)
        add(work, "a", "b", "c")
        taken = []
        for each in work.ready(POOL):
            work.begun(each.key, NODE)
            taken.append(each.task["id"])
        assert taken == ["a", "b"]
        work.ended(key("a"), Outcome(BEGAN, ENDED, 0))
        assert ready(work) == ["c"]

    def test_another_pool_has_no_part_in_it(self, work: Work) -> None:
        add_job(work)
        add(work, "a")
        assert list(work.ready(PoolKey(ACCOUNT, "other"))) == []
        assert list(work.ready(PoolKey("another-account", "pool"))) == []

    def test_more_tasks_than_a_page_come_one_by_one(self, work: Work) -> None:
        add_job(work)
        add(work, *(f"task-{number:03}" for number in range(50)))
        assert [run.task["id"] for run in islice(work.ready(POOL), 20, 23)] == ["task-020", "task-021", "task-022"]
        assert len(ready(work)) == 50

    def test_a_run_says_how_many_nodes_and_slots_it_takes(self, work: Work) -> None:
        add_job(work)
        add(work, "wide", multiInstanceSettings={"numberOfInstances": 3, "coordinationCommandLine": "true"})
        add(work, "heavy", requiredSlots=4)
        wide, heavy = work.ready(POOL)
        assert (wide.instances, wide.slots) == (3, 1)
        assert (heavy.instances, heavy.slots) == (1, 4)
        assert work.counts(POOL) == TaskCounts(2, 0, 5, 0)

    def test_a_task_that_began_waits_no_longer_and_counts_as_running(self, work: Work) -> None:
        add_job(work)
        add(work, "a", "b", requiredSlots=2)
        work.begun(key("a"), NODE)
        assert ready(work) == ["b"]
        assert work.counts(POOL) == TaskCounts(1, 1, 2, 2)
        assert work.running(POOL) == [key("a")]
        assert work.node_of(key("a")) == NODE

    def test_a_task_that_is_prepared_runs_once_it_has_started(self, work: Work) -> None:
        add_job(work)
        add(work, "a")
        work.begun(key("a"), NODE, preparing=True)
        assert state(work, "a") == "preparing"
        assert work.running(POOL) == [key("a")]
        work.started(key("a"))
        assert state(work, "a") == "running"


class TestEnds:
    def test_success_needs_an_exit_code_of_0(self, work: Work) -> None:
        add_job(work)
        add(work, "a")
        run(work, "a")
        assert state(work, "a") == "completed"
        assert execution(work, "a") == {
            "startTime": BEGAN,
            "endTime": ENDED,
            "exitCode": 0,
            "result": "success",
            "retryCount": 0,
            "requeueCount": 0,
        }

    def test_another_exit_code_is_a_failure_in_the_service_s_words(self, work: Work) -> None:
        add_job(work)
        add(work, "a")
        run(work, "a", 3)
        assert execution(work, "a")["exitCode"] == 3
        assert execution(work, "a")["result"] == "failure"
        assert execution(work, "a")["failureInfo"] == {
            "category": "usererror",
            "code": "FailureExitCode",
            "message": "The task exited with an exit code representing a failure",
            "details": [
                {"name": "Message", "value": "The task process exited with an unexpected exit code"},
                {"name": "AdditionalErrorCode", "value": "FailureExitCode"},
            ],
        }

    def test_a_failed_task_is_retried_as_often_as_it_says(self, work: Work) -> None:
        add_job(work)
        add(work, "a", constraints={"maxTaskRetryCount": 2})
        for tried in (1, 2):
            run(work, "a", 1)
            assert state(work, "a") == "active"
            assert execution(work, "a")["retryCount"] == tried
            assert ready(work) == ["a"]
        run(work, "a", 1)
        assert state(work, "a") == "completed"
        assert execution(work, "a")["retryCount"] == 2

    def test_the_job_says_how_often_where_the_task_does_not(self, work: Work) -> None:
        add_job(work, constraints={"maxTaskRetryCount": 1})
        add(work, "a")
        run(work, "a", 1)
        assert state(work, "a") == "active"

    def test_what_never_ran_is_not_retried(self, work: Work) -> None:
        add_job(work)
        add(work, "a", constraints={"maxTaskRetryCount": -1})
        failure = {"category": "UserError", "code": "BlobNotFound", "message": "One of the specified Azure Blob(s) is not found."}
        run(work, "a", None, failure=failure)
        assert state(work, "a") == "completed"
        assert execution(work, "a")["failureInfo"] == failure | {"category": "usererror"}
        assert "exitCode" not in execution(work, "a")

    def test_a_task_that_lost_its_node_waits_for_another_and_no_retry_is_used_up(self, work: Work) -> None:
        add_job(work)
        add(work, "a")
        work.begun(key("a"), NODE)
        work.requeued(key("a"), "its node was preempted")
        assert ready(work) == ["a"]
        assert execution(work, "a")["requeueCount"] == 1
        assert execution(work, "a")["retryCount"] == 0
        run(work, "a")
        assert execution(work, "a")["requeueCount"] == 1

    def test_words_about_tasks_that_are_over_or_gone_change_nothing(self, work: Work) -> None:
        add_job(work)
        add(work, "a")
        run(work, "a")
        work.ended(key("a"), Outcome(BEGAN, ENDED, 7))
        work.requeued(key("a"), "lost")
        work.begun(key("a"), NODE)
        work.ended(key("none"), Outcome(BEGAN, ENDED, 0))
        assert execution(work, "a")["exitCode"] == 0
        assert work.counts(POOL) == TaskCounts(0, 0, 0, 0)

    def test_counts_by_state_come_with_their_slots(self, work: Work) -> None:
        add_job(work)
        add(work, "won", "lost", "runs", "waits", requiredSlots=3)
        run(work, "won")
        run(work, "lost", 1)
        work.begun(key("runs"), NODE)
        counts = work.jobs.counts(work.jobs.get(ACCOUNT, "job"))
        assert counts["taskCounts"] == {"active": 1, "running": 1, "completed": 2, "succeeded": 1, "failed": 1}
        assert counts["taskSlotCounts"] == {"active": 3, "running": 3, "completed": 6, "succeeded": 3, "failed": 3}

    def test_everything_outlives_the_server(self, work: Work, tmp_path: Path, clock: Clock) -> None:
        add_job(work)
        add(work, "runs", "waits")
        work.begun(key("runs"), NODE)
        work.close()
        following = Work(tmp_path / "batch.sqlite", clock)
        assert following.running(POOL) == [key("runs")]
        assert following.node_of(key("runs")) == NODE
        assert [run.task["id"] for run in following.ready(POOL)] == ["waits"]
        again = following.run_of(key("runs"))
        assert again is not None
        assert again.task["id"] == "runs"

    @pytest.mark.slow
    def test_what_nodes_told_outlives_a_killed_server(self, tmp_path: Path) -> None:
        script = f"""
import os
from datetime import UTC, datetime
from pathlib import Path
from localazure.batch.model import Outcome, TaskKey, TaskNode
from localazure.batch.work import Work
work = Work(Path({str(tmp_path / "batch.sqlite")!r}), lambda: datetime.now(UTC))
job = work.add_job({ACCOUNT!r}, {{"id": "job", "poolInfo": {{"poolId": "pool"}}}})
work.tasks.add(job, [{{"id": name, "commandLine": "true"}} for name in ("ended", "runs")])
for name in ("ended", "runs"):
    work.begun(TaskKey({ACCOUNT!r}, "job", name), TaskNode("n", "a", "r"))
work.ended(TaskKey({ACCOUNT!r}, "job", "ended"), Outcome({BEGAN!r}, {ENDED!r}, 0))
os.kill(os.getpid(), 9)
"""
        assert subprocess.run([sys.executable, "-c", script], check=False, timeout=60).returncode == -9
        work = Work(tmp_path / "batch.sqlite", Clock())
        assert (state(work, "ended"), state(work, "runs")) == ("completed", "running")
        work.close()


class TestDependencies:
    def test_a_task_waits_until_those_that_it_names_have_succeeded(self, work: Work) -> None:
        add_job(work, usesTaskDependencies=True)
        add(work, "last", dependsOn={"taskIds": ["first", "Second"]})
        add(work, "first", "second")
        assert ready(work) == ["first", "second"]
        run(work, "first")
        assert ready(work) == ["second"]
        run(work, "second")
        assert ready(work) == ["last"]

    def test_held_tasks_are_no_work_for_a_pool_that_is_sized_by_its_tasks(self, work: Work) -> None:
        add_job(work, usesTaskDependencies=True)
        add(work, "first")
        add(work, "last", dependsOn={"taskIds": ["first"]})
        assert work.counts(POOL).active == 1

    def test_a_range_needs_each_number_in_it(self, work: Work) -> None:
        add_job(work, usesTaskDependencies=True)
        add(work, "last", dependsOn={"taskIdRanges": [{"start": 9, "end": 11}]})
        add(work, "9", "10", "011")
        for name in ("9", "10", "011"):
            run(work, name)
        assert ready(work) == []  # 011 is not the number 11 as the service writes it
        add(work, "11")
        run(work, "11")
        assert ready(work) == ["last"]

    def test_an_end_costs_the_same_however_many_wait_for_a_range(self, work: Work) -> None:
        add_job(work, usesTaskDependencies=True)
        add(work, *(str(number) for number in range(1, 51)))
        asked: list[str] = []
        work._tables._db.set_trace_callback(asked.append)
        run(work, "1")
        alone = len(asked)
        add(work, *(f"waits-{number}" for number in range(200)), dependsOn={"taskIdRanges": [{"start": 1, "end": 50}]})
        asked.clear()
        run(work, "2")
        assert len(asked) <= alone + 5
        asked.clear()
        add(work, *(f"more-{number}" for number in range(50)), dependsOn={"taskIdRanges": [{"start": 1, "end": 50}]})
        assert sum("number BETWEEN" in each for each in asked) == 1
        work._tables._db.set_trace_callback(None)
        for number in range(3, 51):
            run(work, str(number))
        assert len(ready(work)) == 250

    def test_a_failure_blocks_unless_the_exit_condition_says_otherwise(self, work: Work) -> None:
        add_job(work, usesTaskDependencies=True)
        satisfied = {"exitCodes": [{"code": 2, "exitOptions": {"dependencyAction": "satisfy"}}]}
        add(work, "a", "b", exitConditions=satisfied)
        add(work, "after-a", dependsOn={"taskIds": ["a"]})
        add(work, "after-b", dependsOn={"taskIds": ["b"]})
        run(work, "a", 1)
        run(work, "b", 2)
        assert ready(work) == ["after-b"]

    def test_success_can_block(self, work: Work) -> None:
        add_job(work, usesTaskDependencies=True)
        add(work, "a", exitConditions={"exitCodeRanges": [{"start": 0, "end": 5, "exitOptions": {"dependencyAction": "block"}}]})
        add(work, "after", dependsOn={"taskIds": ["a"]})
        run(work, "a")
        assert ready(work) == []

    @pytest.mark.parametrize(
        ("exit_code", "failure", "condition"),
        [
            (None, {"category": "UserError", "code": "BlobNotFound"}, "preProcessingError"),
            (0, {"category": "UserError", "code": "FileUploadContainerNotFound"}, "fileUploadError"),
            (9, None, "default"),
        ],
        ids=["it never ran", "its output wasn't uploaded", "any other end"],
    )
    def test_each_sort_of_end_has_its_condition(
        self, work: Work, exit_code: int | None, failure: dict[str, str] | None, condition: str
    ) -> None:
        add_job(work, usesTaskDependencies=True)
        add(work, "a", exitConditions={condition: {"dependencyAction": "satisfy"}})
        add(work, "after", dependsOn={"taskIds": ["a"]})
        run(work, "a", exit_code, failure=failure)
        assert execution(work, "a")["result"] == "failure"
        assert ready(work) == ["after"]

    def test_a_job_without_dependencies_takes_none(self, work: Work) -> None:
        add_job(work)
        with pytest.raises(BatchError, match="TaskDependenciesNotSpecifiedOnJob"):
            add(work, "a", dependsOn={"taskIds": ["b"]})

    def test_a_reactivated_task_blocks_again(self, work: Work) -> None:
        add_job(work, usesTaskDependencies=True)
        add(work, "a", "b")
        add(work, "after", dependsOn={"taskIds": ["a"]})
        run(work, "a", 1)
        work.tasks.reactivate(work.tasks.get(key("a")))
        assert ready(work) == ["a", "b"]
        run(work, "a")
        assert ready(work) == ["b", "after"]
