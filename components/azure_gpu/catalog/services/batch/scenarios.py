"""Builds autoscale formulas for named scenarios.

All count tasks by the maximum of the last minutes, so that a pool grows at once and shrinks a little later, scale to zero
without tasks, and let a task finish before its node goes. They use functions that every version of the documentation has. The
service truncates a target, so adding all but one slot before dividing rounds up.

A task on several nodes counts as one task, as users observed; the page of 2019 says that $ActiveTasks counts its instances. If
that is true, a pool requests more nodes than its tasks need, but never more than its maximum.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Literal, NamedTuple

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.batch import sources
from azure_gpu.catalog.services.batch.autoscale import ENOUGH_SAMPLES
from azure_gpu.catalog.services.batch.scale import LARGEST_NUMBER

LOOK_BACK_MINUTES = 5  # for tasks
GONE_MINUTES = 3  # after which an evicted Spot node is replaced, as in the documented formula


class Scenario(StrEnum):
    """What the number of nodes follows."""

    PENDING_TASKS = "pending_tasks"  # tasks that wait or run
    WORKDAY = "workday"  # the same, only in the hours of a workday
    NIGHTS_AND_WEEKENDS = "nights_and_weekends"  # the same, only outside these hours
    SPOT_FALLBACK = "spot_fallback"  # the same with Spot nodes, and a dedicated one for each evicted Spot node
    FIXED = "fixed"  # nothing: always the maximum


ScenarioName = Scenario | Literal["pending_tasks", "workday", "nights_and_weekends", "spot_fallback", "fixed"]


IN_HOURS = (Scenario.WORKDAY, Scenario.NIGHTS_AND_WEEKENDS)


class ScenarioRequest(NamedTuple):
    """A scenario with its numbers, and where it is written."""

    scenario: Scenario
    path: str
    max_nodes: int = 1
    min_nodes: int = 0  # that stay when nothing is to do; outside its hours a scenario has none
    spot: bool = False  # Spot nodes instead of dedicated ones
    task_slots: int = 1
    nodes_per_task: int = 1  # a task on several nodes counts as one that waits
    utc_offset_hours: int = 0
    day_begins: int = 8  # hours of Monday to Friday
    day_ends: int = 18


def formula(request: ScenarioRequest) -> str:
    """The formula, valid if `scenario_problems` has no problems of the request."""
    if request.scenario is Scenario.FIXED:
        lines = [f"$nodes = {request.max_nodes};", *_targets(request)]
    else:
        lines = [*_tasks(), *_nodes(request), *_targets(request)]
    lines.append("$NodeDeallocationOption = taskcompletion;")
    return "\n".join([f"// {request.scenario}", *lines]) + "\n"


def most_nodes(request: ScenarioRequest) -> tuple[int, int]:
    """The most expensive numbers of dedicated and Spot nodes: a fallback may replace all Spot nodes by dedicated ones."""
    if request.spot and request.scenario is not Scenario.SPOT_FALLBACK:
        return 0, _most(request)
    return _most(request), 0


def scenario_problems(request: ScenarioRequest) -> list[Problem]:
    """What is wrong with the numbers."""
    return list(_problems(request))


def _tasks() -> list[str]:
    """Waiting and running tasks: the maximum of the last minutes, or the last sample if there are too few."""
    span = f"TimeInterval_Minute * {LOOK_BACK_MINUTES}"
    return [
        f"$share = $PendingTasks.GetSamplePercent({span});",
        "$last = max(0, $PendingTasks.GetSample(1));",
        f"$tasks = $share < {ENOUGH_SAMPLES} ? $last : max($last, $PendingTasks.GetSample({span}));",
    ]


def _nodes(request: ScenarioRequest) -> list[str]:
    """Nodes for these tasks, within the bounds and the hours."""
    nodes = "$tasks"
    if request.nodes_per_task > 1:
        nodes = f"$tasks * {request.nodes_per_task}"  # a task of several nodes counts as one
    elif request.task_slots > 1:
        nodes = f"($tasks + {request.task_slots - 1}) / {request.task_slots}"
    nodes = f"max({request.min_nodes}, {nodes})" if request.min_nodes else nodes
    nodes = f"min({_most(request)}, {nodes})"
    if request.scenario not in IN_HOURS:
        return [f"$nodes = {nodes};"]
    inside, outside = (nodes, "0") if request.scenario is Scenario.WORKDAY else ("0", nodes)
    offset = f" + {request.utc_offset_hours} * TimeInterval_Hour" if request.utc_offset_hours else ""
    return [
        f"$now = time(){offset};",
        "$weekday = $now.weekday >= 1 && $now.weekday <= 5;",
        f"$working = $weekday && $now.hour >= {request.day_begins} && $now.hour < {request.day_ends};",
        f"$nodes = $working ? {inside} : {outside};",
    ]


def _targets(request: ScenarioRequest) -> list[str]:
    if request.scenario is Scenario.SPOT_FALLBACK:
        span = f"TimeInterval_Minute * {GONE_MINUTES}"
        count = "$PreemptedNodeCount"
        return [
            f"$seen = {count}.GetSamplePercent({span});",
            f"$gone = $seen < {ENOUGH_SAMPLES} ? max(0, {count}.GetSample(1)) : min({count}.GetSample({span}));",
            "$TargetLowPriorityNodes = $nodes;",
            "$TargetDedicatedNodes = min($nodes, $gone);",
        ]
    dedicated, spot = ("0", "$nodes") if request.spot else ("$nodes", "0")
    return [f"$TargetDedicatedNodes = {dedicated};", f"$TargetLowPriorityNodes = {spot};"]


def _most(request: ScenarioRequest) -> int:
    """The maximum number of nodes, rounded down to whole tasks."""
    if request.scenario is Scenario.FIXED or request.nodes_per_task < 1:
        return request.max_nodes
    return request.max_nodes - request.max_nodes % request.nodes_per_task


def _problems(request: ScenarioRequest) -> Iterator[Problem]:
    least = 0 if request.scenario is Scenario.FIXED else 1
    if request.max_nodes < least:
        yield _problem(request, "max_nodes", f"the maximum is below {least} node", f"{least} or more")
    if request.max_nodes > LARGEST_NUMBER:
        yield _problem(request, "max_nodes", "the number of nodes is too large for Batch", f"at most {LARGEST_NUMBER}")
    if request.min_nodes < 0:
        yield _problem(request, "min_nodes", "the number of nodes is negative", "0 or more")
    elif request.min_nodes > max(request.max_nodes, least):
        message = f"more than max_nodes, {request.max_nodes}"
        yield _problem(request, "min_nodes", message, f"0 to {request.max_nodes}")
    if request.nodes_per_task < 1:
        yield _problem(request, "nodes_per_task", "the number of nodes of a task is below 1", "1 or more")
    elif request.nodes_per_task > request.max_nodes >= 1:
        message = f"a task on {request.nodes_per_task} nodes never starts: the pool has at most {request.max_nodes}"
        yield _problem(request, "nodes_per_task", message, f"1 to {request.max_nodes}, or a larger max_nodes")
    if request.nodes_per_task > 1:
        yield from _of_several_nodes(request)
    if request.scenario in IN_HOURS:
        yield from _hours(request)
    yield from _without_effect(request)


def _of_several_nodes(request: ScenarioRequest) -> Iterator[Problem]:
    if request.task_slots != 1:
        message = "tasks on several nodes require one task slot per node"
        yield _problem(request, "nodes_per_task", message, f"1 with {request.task_slots} task slots; else one slot a node")
    if request.spot or request.scenario is Scenario.SPOT_FALLBACK:
        problem = _problem(
            request,
            "spot" if request.spot else "scenario",
            "Spot nodes can be evicted at any time, which ends the whole task on several nodes",
            "",
            "use dedicated nodes, or write checkpoints often",
        )
        yield problem._replace(code=Code.UNKNOWN, severity=Severity.WARNING, source=str(sources.SPOT))


def _without_effect(request: ScenarioRequest) -> Iterator[Problem]:
    """Warnings of settings without effect in this scenario."""
    unused = [] if request.scenario in IN_HOURS else ["utc_offset_hours", "day_begins", "day_ends"]
    unused += ["min_nodes"] if request.scenario is Scenario.FIXED else []
    for key in unused:
        if getattr(request, key) != ScenarioRequest._field_defaults[key]:
            problem = _problem(request, key, f"no effect in the scenario {request.scenario}", "", "leave it out")
            yield problem._replace(severity=Severity.WARNING)


def _hours(request: ScenarioRequest) -> Iterator[Problem]:
    if not -12 <= request.utc_offset_hours <= 14:
        yield _problem(request, "utc_offset_hours", "not a valid offset from UTC", "-12 to 14")
    for key in ("day_begins", "day_ends"):
        if not 0 <= getattr(request, key) <= 24:
            yield _problem(request, key, "not a valid hour", "0 to 24")
    if request.day_begins >= request.day_ends:
        yield _problem(
            request, "day_ends", f"the workday ends before it begins, at {request.day_begins}", "an hour after day_begins"
        )


def _problem(request: ScenarioRequest, key: str, message: str, allowed: str, fix: str = "") -> Problem:
    return Problem(
        path=f"{request.path}.{key}" if request.path else key,
        message=message,
        value=str(getattr(request, key)),
        allowed=allowed,
        fix=fix or f"write {allowed}",
        source=str(sources.AUTOSCALE),
        code=Code.IMPOSSIBLE,
    )
