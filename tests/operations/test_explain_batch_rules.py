"""What `explain` makes of Batch pools and jobs, cause by cause."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from azure_gpu_operations.batch.pool_facts import PoolFacts
from azure_gpu_operations.explain import batch_job_rules, batch_pool_rules, report
from azure_gpu_operations.explain.batch_facts import JobSeen, NodeSeen, PoolSeen, TaskSeen
from azure_gpu_operations.explain.facts import Cause, Refusal

ID = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Batch/batchAccounts/a/pools/train-1a2b3c4d"
FACTS = PoolFacts("train-1a2b3c4d", "standard_nc4as_t4_v3", allocation="steady", state="active")
BEGAN = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def pool(*nodes: NodeSeen, **facts: Any) -> PoolSeen:
    return PoolSeen("train", ID, FACTS._replace(dedicated=len(nodes), **facts), nodes)


def job(*failures: TaskSeen, **fields: Any) -> JobSeen:
    return JobSeen("run-x", "run-x", **{"state": "active", "failed": len(failures), "failures": failures, **fields})


def failed(code: str, message: str = "it was said", **fields: Any) -> TaskSeen:
    return TaskSeen("main", "completed", code=code, message=message, **fields)


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("AccountCoreQuotaReached", Cause.QUOTA),
        ("AccountVMSeriesCoreQuotaReached", Cause.QUOTA),
        ("AccountSpotCoreQuotaReached", Cause.QUOTA),
        ("AllocationFailed", Cause.NO_CAPACITY),
        ("AllocationTimedOut", Cause.NO_CAPACITY),
        ("ResizeStopped", Cause.STOPPED),
        ("UnsupportedVMSize", Cause.RESIZE),
    ],
)
def test_a_resize_that_failed_is_named_by_its_code(code: str, cause: Cause) -> None:
    finding = batch_pool_rules.explain(pool(target_dedicated=2, resize_errors=((code, "said Azure"),)))
    assert finding.cause is cause
    assert finding.evidence == (f"{code}: said Azure",)
    assert "it has 0 nodes of 2" in finding.what


def test_a_start_task_that_failed_is_shown_with_the_nodes_last_lines() -> None:
    broken = NodeSeen(
        "n2", "starttaskfailed", start_exit_code=100, start_failure="FailureExitCode: exited", log=("E: no package",)
    )
    seen = pool(NodeSeen("n1", "idle"), broken)
    finding = batch_pool_rules.explain(seen)
    assert finding.cause is Cause.START_TASK
    assert "with exit code 100 on 1 of 2 nodes" in finding.what
    lines = report.lines(seen.as_facts(), finding)
    assert "  last lines of the start task on node n2:" in lines
    assert "    E: no package" in lines


def test_an_unusable_node_says_its_own_error() -> None:
    finding = batch_pool_rules.explain(pool(NodeSeen("n1", "unusable", errors=("DiskFull: there is no space",))))
    assert (finding.cause, finding.evidence) == (Cause.UNUSABLE_NODE, ("DiskFull: there is no space",))


def test_an_image_that_a_node_can_not_pull_is_named_as_such() -> None:
    said = "ContainerInvalidImage: manifest unknown"
    assert batch_pool_rules.explain(pool(NodeSeen("n1", "unusable", errors=(said,)))).cause is Cause.IMAGE_NOT_FOUND


def test_a_package_that_can_not_be_brought_is_no_broken_node() -> None:
    said = "ApplicationPackageError: GPUDriver"
    assert batch_pool_rules.explain(pool(NodeSeen("n1", "unusable", errors=(said,)))).cause is Cause.PACKAGE


def test_a_formula_that_can_not_be_evaluated_keeps_the_pool_as_it_is() -> None:
    seen = pool(formula="$x")._replace(formula_error="AutoScalingFormulaEvaluationError: $x")
    assert batch_pool_rules.explain(seen).cause is Cause.FORMULA


def test_a_pool_without_nodes_is_no_failure() -> None:
    finding = batch_pool_rules.explain(pool(formula="$TargetDedicatedNodes=0;"))
    assert finding.cause is Cause.HEALTHY
    assert "costs nothing" in finding.what


def test_spot_nodes_that_were_taken_away_are_named() -> None:
    assert batch_pool_rules.explain(pool(NodeSeen("n1", "preempted", is_spot=True))).cause is Cause.EVICTED


def test_a_pool_that_was_refused_says_azures_own_words() -> None:
    refused = Refusal("InvalidPropertyValue", "vmSize isn't one")
    finding = batch_pool_rules.explain(PoolSeen("train", ID, refusals=(refused,)))
    assert finding.cause is Cause.REFUSED
    assert "InvalidPropertyValue: vmSize isn't one" in finding.evidence
    assert batch_pool_rules.explain(PoolSeen("train", ID)).cause is Cause.NOT_THERE


@pytest.mark.parametrize(
    ("task", "cause"),
    [
        (failed("FailureExitCode", exit_code=3), Cause.PROGRAM_ERROR),
        (failed("FailureExitCode", exit_code=127), Cause.COMMAND_NOT_FOUND),
        (failed("FailureExitCode", exit_code=1, log=("torch: CUDA out of memory",)), Cause.OUT_OF_GPU_MEMORY),
        (failed("FailureExitCode", exit_code=137), Cause.OUT_OF_MEMORY),
        (failed("CommandProgramNotFound"), Cause.COMMAND_NOT_FOUND),
        (failed("ContainerInvalidImage", "manifest unknown", image="r/x:1"), Cause.IMAGE_NOT_FOUND),
        (failed("ContainerInvalidRegistry", "unauthorized: authentication required", image="r/x:1"), Cause.NO_RIGHT_TO_PULL),
        (failed("BlobAccessDenied"), Cause.FILES),
        (failed("BlobNotFound"), Cause.FILES),
        (failed("FileUploadContainerNotFound"), Cause.FILES),
        (failed("ApplicationPackageError"), Cause.PACKAGE),
        (failed("DiskFull"), Cause.UNUSABLE_NODE),
        (failed("TaskEnded", began=BEGAN, ended=BEGAN + timedelta(minutes=5), limit_minutes=5), Cause.TIMEOUT),
        (failed("TaskEnded", began=BEGAN, ended=BEGAN + timedelta(minutes=2), limit_minutes=5), Cause.STOPPED),
    ],
)
def test_a_task_that_failed_is_explained_by_its_code(task: TaskSeen, cause: Cause) -> None:
    assert batch_job_rules.explain(job(task)).cause is cause


def test_the_first_of_many_failures_speaks_for_all_with_its_last_lines() -> None:
    task = failed("FailureExitCode", exit_code=3, log=("ValueError: x",))
    seen = job(task, failed=7, succeeded=3)
    finding = batch_job_rules.explain(seen)
    assert "(the first of 7 tasks that failed, of 10)" in finding.what
    assert "    ValueError: x" in report.lines(seen.as_facts(), finding)


@pytest.mark.parametrize(
    ("waiting", "facts", "said"),
    [
        (TaskSeen("main", "active", nodes=2), {}, "no inter-node communication"),
        (TaskSeen("main", "active", nodes=2), {"inter_node": True, "slots": 4}, "run 4 tasks each"),
        (TaskSeen("main", "active", slots=8), {"slots": 4}, "requires 8 slots"),
        (TaskSeen("main", "active", nodes=3), {"inter_node": True, "target_dedicated": 2}, "but the pool has 2"),
    ],
)
def test_tasks_that_batch_never_starts_are_told_so(waiting: TaskSeen, facts: dict[str, Any], said: str) -> None:
    finding = batch_job_rules.explain(job(active=1, waiting=(waiting,), pool=pool(NodeSeen("n1", "idle"), **facts)))
    assert finding.cause is Cause.NEVER_STARTS
    assert said in finding.what


def test_a_task_that_waits_for_several_nodes_says_how_many_are_free() -> None:
    facts = pool(NodeSeen("n1", "idle"), NodeSeen("n2", "running"), inter_node=True, target_dedicated=2)
    finding = batch_job_rules.explain(job(active=1, waiting=(TaskSeen("main", "active", nodes=2),), pool=facts))
    assert finding.cause is Cause.STARTING
    assert finding.what == "it waits until 2 nodes of its pool are free at once, and 1 of them is now"


def test_tasks_that_wait_for_a_broken_pool_say_why_it_is_broken() -> None:
    broken = pool(target_dedicated=1, resize_errors=(("AccountCoreQuotaReached", "no more"),))
    finding = batch_job_rules.explain(job(active=2, pool=broken))
    assert finding.cause is Cause.QUOTA
    assert finding.what.startswith("its tasks wait for the pool train: ")


@pytest.mark.parametrize(
    ("seen", "cause", "code"),
    [
        (job(exists=False), Cause.NOT_THERE, 1),
        (job(state="completed", succeeded=3), Cause.HEALTHY, 0),
        (job(running=1, active=2, pool=pool(NodeSeen("n1", "running"))), Cause.HEALTHY, 0),
        (job(active=2, pool=pool(NodeSeen("n1", "starting"))), Cause.STARTING, 0),
        (job(state="completed", active=2, reason="its user stopped it"), Cause.STOPPED, 1),
        (job(state="disabled", active=2), Cause.STOPPED, 1),
        (job(), Cause.NEVER_STARTED, 0),
        (job(preparation_node="n1", preparation_exit_code=1, active=1), Cause.PREPARATION, 1),
    ],
)
def test_a_job_without_a_failed_task(seen: JobSeen, cause: Cause, code: int) -> None:
    finding = batch_job_rules.explain(seen)
    assert (finding.cause, report.exit_code(finding)) == (cause, code)
