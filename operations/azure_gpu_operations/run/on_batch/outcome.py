"""The result of a run on a pool: exit code, messages, run time and cost. Pure."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import NamedTuple

from azure.batch import models

from azure_gpu.catalog.prices.price_book import Price
from azure_gpu.formats.task_file import Task
from azure_gpu_operations.batch.account import moment_of
from azure_gpu_operations.batch.pool_facts import word
from azure_gpu_operations.exit_codes import FAILED_RUN, TIMED_OUT
from azure_gpu_operations.job_cost import minutes, paid

MOST_NAMED = 5  # tasks that failed
_ENDED_BY_BATCH = "TaskEnded"  # told to end, or over its maxWallClockTime (Microsoft Learn, batch/error-handling)
_FAILED = "failure"


class Outcome(NamedTuple):
    """`failed`: the ids of failed tasks, in the order of the request."""

    code: int
    failed: tuple[str, ...] = ()
    never_ran: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()  # how each of them failed

    @property
    def reasons(self) -> tuple[str, ...]:
        """Reasons other than an exit code, without the task's name."""
        reasons = (line.partition(": ")[2] for line in self.lines)
        return tuple(text for text in reasons if text and not text.startswith("exit code"))


def of_tasks(requested: Sequence[Task], tasks: Sequence[models.BatchTask], timeout_minutes: float | None) -> Outcome:
    """The exit code of the first failed task, in the order of the request."""
    by_id = {task.id.lower(): task for task in tasks}
    code = 0
    failed: list[str] = []
    never: list[str] = []
    lines: list[str] = []
    for each in requested:
        task = by_id.get(each.id.lower())
        info = task.execution_info if task is not None else None
        if task is None or word(task.state) != "completed" or info is None:
            never.append(each.id)
            continue
        if word(info.result) != _FAILED and not info.exit_code:
            continue
        limit = each.timeout_minutes if each.timeout_minutes is not None else timeout_minutes
        failed.append(each.id)
        lines.append(f"{each.id}: {_how(info, limit)}")
        code = code or _code(info, limit)
    if len(lines) > MOST_NAMED:
        lines = [*lines[:MOST_NAMED], f"and {len(failed) - MOST_NAMED} more"]
    return Outcome(code or (FAILED_RUN if never else 0), tuple(failed), tuple(never), tuple(lines))


def words(found: Outcome, total: int) -> str:
    """`succeeded, exit code 0`; `97 of 100 tasks succeeded, 2 failed, 1 never ran …, exit code 3`."""
    if total == 1:
        return f"{'failed' if found.failed or found.never_ran else 'succeeded'}, exit code {found.code}"
    parts = [f"{total - len(found.failed) - len(found.never_ran)} of {total} tasks succeeded"]
    parts += [f"{len(found.failed)} failed"] if found.failed else []
    parts += [f"{len(found.never_ran)} never ran because a task that they depend on failed"] if found.never_ran else []
    return ", ".join([*parts, f"exit code {found.code}"])


class Use(NamedTuple):
    """The pool's nodes that a run used."""

    seconds: float | None  # from the first task's start to the last one's end
    nodes: int
    usd: Decimal | None  # None: a price isn't known
    price: Price | None  # of one node


def held(subtask: models.BatchSubtask, task: models.BatchTask) -> models.BatchSubtask:
    """The subtask, ending with the primary: until then the task occupies the node."""
    _, ended = moment_of(task.execution_info)
    ends = [each for each in (subtask.end_time, ended) if each is not None]
    return models.BatchSubtask({**subtask.as_dict(), "endTime": max(ends)}) if ends else subtask


def use_of(
    tasks: Sequence[models.BatchTask],
    beside: Sequence[models.BatchSubtask],
    dedicated: Mapping[str, bool],
    prices: tuple[Price | None, Price | None],
    now: datetime,
) -> Use:
    """Counts each node from the start of its first task to the end of its last, `now` for one that is being stopped. `prices`: of
    a dedicated and a Spot node."""
    spans: dict[str, tuple[datetime, datetime]] = {}
    for each in (*tasks, *beside):
        began, ended = moment_of(each.execution_info) if isinstance(each, models.BatchTask) else (each.start_time, each.end_time)
        node = (each.node_info.node_id or "") if each.node_info else ""
        if began is None or not node:
            continue
        ended = ended or now
        first, last = spans.get(node, (began, ended))
        spans[node] = (min(first, began), max(last, ended))
    if not spans:
        return Use(None, 0, None, None)
    usd: Decimal | None = Decimal(0)
    shown: Price | None = None
    for node, (began, ended) in spans.items():
        price = prices[0] if dedicated.get(node, True) else prices[1]
        shown = shown or price
        if price is None or usd is None:
            usd = None
            continue
        usd += price.usd_hour * Decimal(str((ended - began).total_seconds())) / 3600
    seconds = (max(end for _, end in spans.values()) - min(begin for begin, _ in spans.values())).total_seconds()
    return Use(seconds, len(spans), usd, shown)


def summary(use: Use, today: date) -> str:
    """`2.3 minutes on 2 nodes, 0.04 USD at 0.53 USD/hour a node (list price of 2026-08-01)`."""
    if use.seconds is None:
        return "nothing ran"
    where, each = ("on 1 node", "") if use.nodes == 1 else (f"on {use.nodes} nodes", " a node")
    return f"{minutes(use.seconds)} {where}, {paid(use.usd, use.price, today, each=each)}"


def _code(info: models.BatchTaskExecutionInfo, limit_minutes: float | None) -> int:
    if _timed_out(info, limit_minutes):
        return TIMED_OUT
    failure = info.failure_info
    if info.exit_code and (failure is None or failure.code != _ENDED_BY_BATCH):
        return info.exit_code & 0xFF or FAILED_RUN  # Windows has codes of 32 bits, a shell those of 8
    return FAILED_RUN


def _how(info: models.BatchTaskExecutionInfo, limit_minutes: float | None) -> str:
    if _timed_out(info, limit_minutes):
        return f"stopped after its timeout ({limit_minutes:g} minutes)"
    failure = info.failure_info
    if info.exit_code is not None and (failure is None or failure.code in (None, "", "FailureExitCode")):
        return f"exit code {info.exit_code}"
    if failure is None:
        return "it failed, and Batch gives no reason"
    first = (failure.message or "").strip().splitlines()
    return f"{failure.code}: {first[0] if first else ''}".rstrip(": ")


def _timed_out(info: models.BatchTaskExecutionInfo, limit_minutes: float | None) -> bool:
    """Batch has the same code for terminated tasks and timeouts, so they are distinguished by the run time."""
    began, ended = moment_of(info)
    if limit_minutes is None or info.failure_info is None or info.failure_info.code != _ENDED_BY_BATCH:
        return False
    return began is not None and ended is not None and (ended - began).total_seconds() >= limit_minutes * 60 - 1
