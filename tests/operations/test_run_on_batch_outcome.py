"""How a run on a pool ended, or whether it goes on: exit codes, words, minutes and cost."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast

import pytest
from azure.batch import models

from azure_gpu.catalog.prices.price_book import Price
from azure_gpu.formats.task_file import Task
from azure_gpu_operations.run.on_batch import outcome, run as on_batch
from azure_gpu_operations.run.target import Target, run_name

BEGAN = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
DAY = date(2026, 11, 21)
NOW = BEGAN + timedelta(hours=2)
PRICE = Price(Decimal("0.526"), date(2026, 6, 18), "")


def task(
    name: str, code: int | None = 0, failure: str = "", *, seconds: float = 60, node: str = "n1", state: str = "completed"
) -> Any:
    result = "failure" if failure or code else "success"
    info = models.BatchTaskExecutionInfo(retry_count=0, requeue_count=0, exit_code=code, result=result)
    info.start_time, info.end_time = BEGAN, BEGAN + timedelta(seconds=seconds)
    if failure:
        info.failure_info = models.BatchTaskFailureInfo(category="usererror", code=failure, message=f"{failure} was said")
    return models.BatchTask({"id": name, "state": state, "executionInfo": info.as_dict(), "nodeInfo": {"nodeId": node}})


def asked(*names: str, **fields: Any) -> list[Task]:
    return [Task(id=name, command="", path="", **fields) for name in names]


def test_the_first_task_that_failed_by_the_order_of_the_file_gives_the_exit_code() -> None:
    tasks = [task("c", 9, "FailureExitCode"), task("b", 4, "FailureExitCode"), task("a")]
    found = outcome.of_tasks(asked("a", "b", "c"), tasks, None)
    assert (found.code, found.failed, found.never_ran) == (4, ("b", "c"), ())
    assert found.lines == ("b: exit code 4", "c: exit code 9")
    assert outcome.words(found, 3) == "1 of 3 tasks succeeded, 2 failed, exit code 4"


def test_a_task_that_never_ran_is_no_success() -> None:
    found = outcome.of_tasks(asked("a", "b"), [task("a"), task("b", state="active", code=None)], None)
    assert (found.code, found.never_ran) == (125, ("b",))


@pytest.mark.parametrize(
    ("one", "limit", "code", "reason"),
    [
        (task("a", 7, "FailureExitCode"), None, 7, ()),
        (task("a", None, "ContainerInvalidImage"), None, 125, ("ContainerInvalidImage: ContainerInvalidImage was said",)),
        (task("a", 0, "FileUploadMiscError"), None, 125, ("FileUploadMiscError: FileUploadMiscError was said",)),
        (task("a", 137, "TaskEnded", seconds=60), 1.0, 124, ("stopped after its timeout (1 minutes)",)),
        (task("a", 137, "TaskEnded", seconds=20), 1.0, 125, ("TaskEnded: TaskEnded was said",)),
        (task("a", 0xC000013A, "FailureExitCode"), None, 0x3A, ()),
    ],
)
def test_exit_codes_of_a_single_task(one: Any, limit: float | None, code: int, reason: tuple[str, ...]) -> None:
    found = outcome.of_tasks(asked("a"), [one], limit)
    assert (found.code, found.reasons) == (code, reason)


def test_each_node_costs_from_its_first_task_to_the_end_of_its_last() -> None:
    tasks = [task("a", seconds=1800), task("b", seconds=3600), task("c", seconds=3600, node="n2")]
    use = outcome.use_of(tasks, [], {"n1": True, "n2": False}, (PRICE, PRICE._replace(usd_hour=Decimal("0.1"))), NOW)
    assert (use.seconds, use.nodes, use.usd) == (3600, 2, Decimal("0.626"))
    text = outcome.summary(use, DAY)
    assert text.startswith("60.0 minutes on 2 nodes, 0.63 USD at 0.526 USD/hour a node (list price of 2026-06-18")


def test_nodes_beside_the_first_of_a_task_count_too() -> None:
    beside = models.BatchSubtask({"id": 1, "nodeInfo": {"nodeId": "n2"}})
    beside.start_time, beside.end_time = BEGAN, BEGAN + timedelta(seconds=3600)
    use = outcome.use_of([task("a", seconds=3600)], [beside], {}, (PRICE, None), NOW)
    assert (use.nodes, use.usd) == (2, Decimal("1.052"))


def test_what_is_not_known_stays_so() -> None:
    use = outcome.use_of([task("a"), task("b", node="n2")], [], {"n2": False}, (PRICE, None), NOW)
    assert outcome.summary(use, DAY) == "1.0 minutes on 2 nodes, cost isn't known"
    assert outcome.summary(outcome.use_of([], [], {}, (PRICE, None), NOW), DAY) == "nothing ran"


def test_a_job_is_called_after_its_image_and_not_after_the_registry() -> None:
    made = run_name(Target(image="docker.io/library/python:3.11-slim"))
    assert made.startswith("run-python-3-11-slim-")


@pytest.mark.parametrize(
    ("states", "goes_on"),
    [(None, False), ((), False), (("completed", "completed"), False), (("completed", "running"), True), (("active",), True)],
)
def test_a_run_goes_on_until_each_of_its_tasks_has_ended(
    monkeypatch: pytest.MonkeyPatch, states: tuple[str, ...] | None, goes_on: bool
) -> None:
    account = SimpleNamespace(
        job=lambda name: None if states is None else SimpleNamespace(id=name),
        tasks=lambda _: [SimpleNamespace(state=state) for state in states or ()],
        close=lambda: None,
    )
    monkeypatch.setattr(on_batch, "BatchAccount", lambda *_: account)
    pool = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Batch/batchAccounts/a/pools/p"
    view = cast(Any, SimpleNamespace(pools={"p": pool}))
    assert on_batch.is_under_way(cast(Any, None), view, "run-1") is goes_on
