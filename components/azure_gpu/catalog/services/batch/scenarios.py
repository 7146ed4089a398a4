"""Autoscale formulas by name: what a pool is to follow, and the formula that does it.

In: a `ScenarioRequest`. Out: its formula, problems, and the most nodes that it asks for. All count tasks by the most of the last
minutes, so that a pool grows at once and shrinks a little later, end at no nodes where there is nothing to do, and let a task
finish before its node goes. They use the functions of every version of the documentation: the service cuts off what is behind
the point of a target, so adding all but one slot before dividing rounds up.

A task on several nodes is taken as one task, as users saw it; the page of 2019 says that $ActiveTasks counts its instances. Where
that holds a pool asks for more nodes than its tasks take, never for more than its most.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Literal, NamedTuple

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.batch import sources
from azure_gpu.catalog.services.batch.autoscale import ENOUGH_SAMPLES
from azure_gpu.catalog.services.batch.scale import LARGEST_NUMBER

LOOK_BACK_MINUTES = 5  # for tasks
GONE_MINUTES = 3  # after which a Spot node that was taken away is replaced, as in the documented formula


class Scenario(StrEnum):
    """What the number of nodes follows."""

    PENDING_TASKS = "pending_tasks"  # tasks that wait or run
    WORKDAY = "workday"  # the same, in the hours of a workday alone
    NIGHTS_AND_WEEKENDS = "nights_and_weekends"  # the same, outside these hours alone
    SPOT_FALLBACK = "spot_fallback"  # the same with Spot nodes, and a dedicated one for each that Azure took away
    FIXED = "fixed"  # nothing: always the most


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
    """The formula. It is sound where `scenario_problems` has nothing against the request."""
    if request.scenario is Scenario.FIXED:
        lines = [f"$nodes = {request.max_nodes};", *_targets(request)]
    else:
        lines = [*_tasks(), *_nodes(request), *_targets(request)]
    lines.append("$NodeDeallocationOption = taskcompletion;")
    return "\n".join([f"// {request.scenario}", *lines]) + "\n"


def most_nodes(request: ScenarioRequest) -> tuple[int, int]:
    """Dedicated and Spot nodes when it asks for the dearest that it can: a fallback replaces all Spot nodes by dedicated ones."""
    if request.spot and request.scenario is not Scenario.SPOT_FALLBACK:
        return 0, _most(request)
    return _most(request), 0


def scenario_problems(request: ScenarioRequest) -> list[Problem]:
    """What is wrong with the numbers."""
    return list(_problems(request))


def _tasks() -> list[str]:
    """Tasks that wait or run: the most of the last minutes, or the last sample where too few samples are there."""
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
    """The most nodes that are of use: no part of what a task takes."""
    if request.scenario is Scenario.FIXED or request.nodes_per_task < 1:
        return request.max_nodes
    return request.max_nodes - request.max_nodes % request.nodes_per_task


def _problems(request: ScenarioRequest) -> Iterator[Problem]:
    least = 0 if request.scenario is Scenario.FIXED else 1
    if request.max_nodes < least:
        yield _problem(request, "max_nodes", f"a pool that follows its tasks has at least {least} node", f"{least} or more")
    if request.max_nodes > LARGEST_NUMBER:
        yield _problem(request, "max_nodes", "this is no number of nodes that Batch can read", f"at most {LARGEST_NUMBER}")
    if request.min_nodes < 0:
        yield _problem(request, "min_nodes", "a pool has no negative number of nodes", "0 or more")
    elif request.min_nodes > max(request.max_nodes, least):
        message = f"the nodes that stay are more than the most, {request.max_nodes}"
        yield _problem(request, "min_nodes", message, f"0 to {request.max_nodes}")
    if request.nodes_per_task < 1:
        yield _problem(request, "nodes_per_task", "a task runs on one node or more", "1 or more")
    elif request.nodes_per_task > request.max_nodes >= 1:
        message = f"a task of so many nodes never starts: the pool has at most {request.max_nodes}"
        yield _problem(request, "nodes_per_task", message, f"1 to {request.max_nodes}, or a larger max_nodes")
    if request.nodes_per_task > 1:
        yield from _of_several_nodes(request)
    if request.scenario in IN_HOURS:
        yield from _hours(request)
    yield from _without_effect(request)


def _of_several_nodes(request: ScenarioRequest) -> Iterator[Problem]:
    if request.task_slots != 1:
        message = "tasks that take several nodes need nodes that run one task at a time"
        yield _problem(request, "nodes_per_task", message, f"1 with {request.task_slots} task slots; else one slot a node")
    if request.spot or request.scenario is Scenario.SPOT_FALLBACK:
        problem = _problem(
            request,
            "spot" if request.spot else "scenario",
            "Spot nodes can be taken away at any time, which ends a whole task on several nodes; long ones don't suit them",
            "",
            "use dedicated nodes, or write checkpoints often",
        )
        yield problem._replace(code=Code.UNKNOWN, severity=Severity.WARNING, source=str(sources.SPOT))


def _without_effect(request: ScenarioRequest) -> Iterator[Problem]:
    """What is said and changes nothing in this scenario: whoever wrote it expects something else."""
    unused = [] if request.scenario in IN_HOURS else ["utc_offset_hours", "day_begins", "day_ends"]
    unused += ["min_nodes"] if request.scenario is Scenario.FIXED else []
    for key in unused:
        if getattr(request, key) != ScenarioRequest._field_defaults[key]:
            problem = _problem(request, key, f"this changes nothing in the scenario {request.scenario}", "", "leave it out")
            yield problem._replace(severity=Severity.WARNING)


def _hours(request: ScenarioRequest) -> Iterator[Problem]:
    if not -12 <= request.utc_offset_hours <= 14:
        yield _problem(request, "utc_offset_hours", "no place on earth is so far from UTC", "-12 to 14")
    for key in ("day_begins", "day_ends"):
        if not 0 <= getattr(request, key) <= 24:
            yield _problem(request, key, "a day has the hours 0 to 24", "0 to 24")
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
