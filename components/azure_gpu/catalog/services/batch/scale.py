"""The numbers of nodes of a Batch pool: fixed ones, autoscale formulas and their intervals, and formulas for scenarios.

Sources of the limits: `sources.AUTOSCALE` and `sources.LIMITS`."""

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Literal, NamedTuple

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.batch import sources
from azure_gpu.catalog.services.batch.request import PoolRequest
from azure_gpu.catalog.sources import Dated, Source

DEFAULT_INTERVAL = timedelta(minutes=15)
SHORTEST_INTERVAL = timedelta(minutes=5)
LONGEST_INTERVAL = timedelta(hours=168)
INTERVALS = Source(
    "Microsoft Learn, dotnet/api/azure.compute.batch: BatchPoolSpecification.AutoScaleEvaluationInterval",
    Dated.OBSERVED,
    sources.PROVIDER.day,
)
LONGEST_FORMULA = 8 * 1024  # characters
MOST_STATEMENTS = 100
ENOUGH_SAMPLES = 70  # percent of the samples of a period; with fewer, the documented formulas use only the last sample


def interval_problems(interval: timedelta, path: str) -> Iterator[Problem]:
    """The interval at which a formula is evaluated."""
    if not SHORTEST_INTERVAL <= interval <= LONGEST_INTERVAL:
        yield refused("batch.evaluation_interval", path, str(interval))


def formula_problems(formula: str, path: str) -> Iterator[Problem]:
    """The length of a formula and the number of its statements."""
    if len(formula) > LONGEST_FORMULA:
        yield refused("batch.formula_too_long", path, len(formula), longest_formula=LONGEST_FORMULA)
    without_comments = re.sub(r"//.*", "", formula)
    statements = len([part for part in without_comments.split(";") if part.strip()])
    if statements > MOST_STATEMENTS:
        yield refused("batch.too_many_statements", path, statements, most_statements=MOST_STATEMENTS)


DEFAULT_RESIZE_TIMEOUT = timedelta(minutes=15)
SHORTEST_RESIZE_TIMEOUT = timedelta(minutes=5)
DEFAULT_TASK_SLOTS = 1
SLOTS_PER_CORE = 4
MOST_TASK_SLOTS = 256
LARGEST_NUMBER = 2**31 - 1  # the API's numbers of nodes are integers of 32 bits; an account's quota is far smaller
MOST_FROM_MANAGED_IMAGE: Mapping[str, int] = {"dedicated_nodes": 2000, "spot_nodes": 1000}


def scale_problems(request: PoolRequest) -> Iterator[Problem]:
    """Fixed numbers or a formula, never both and never neither; the times that go with them; what Spot nodes can't have."""
    fixed = request.dedicated_nodes is not None or request.spot_nodes is not None
    if fixed and request.autoscale_formula:
        message = "a pool can't have both fixed numbers of nodes and an autoscale formula"
        yield _impossible(request, "autoscale_formula", message, _fixed(request), "one of the two")
    elif request.autoscale_formula and request.resize_timeout is not None:
        message = "a resize timeout applies to a fixed number of nodes, not to an autoscale formula"
        yield _impossible(
            request, "resize_timeout", message, str(request.resize_timeout), "a fixed number of nodes, or no timeout"
        )
    elif not request.autoscale_formula and not fixed:
        message = "a pool needs a number of dedicated or of Spot nodes, or an autoscale formula"
        yield _impossible(request, "dedicated_nodes", message, None, "one of the two numbers, 0 included")
    for key, number in (("dedicated_nodes", request.dedicated_nodes), ("spot_nodes", request.spot_nodes)):
        if number is not None and number < 0:
            yield _impossible(request, key, "the number of nodes is negative", number, "0 or more")
        if number is not None and number > LARGEST_NUMBER:
            yield _impossible(request, key, "the number of nodes is too large for Batch", number, f"at most {LARGEST_NUMBER}")
        if number is not None and request.image_kind == "managed image" and number > MOST_FROM_MANAGED_IMAGE[key]:
            most = MOST_FROM_MANAGED_IMAGE[key]
            message = f"a pool from a managed image has at most {most} of these nodes"
            yield _impossible(request, key, message, number, f"at most {most}", sources.LIMITS)
    if request.resize_timeout is not None and request.resize_timeout < SHORTEST_RESIZE_TIMEOUT:
        message = "the resize timeout is too short"
        yield _impossible(request, "resize_timeout", message, str(request.resize_timeout), "PT5M or more; the default is PT15M")
    if request.autoscale_formula:
        yield from formula_problems(request.autoscale_formula, request.at("autoscale_formula"))
    if request.evaluation_interval is not None:
        yield from interval_problems(request.evaluation_interval, request.at("evaluation_interval"))


def _fixed(request: PoolRequest) -> str:
    """The fixed numbers that are set together with a formula."""
    given = (("dedicated nodes", request.dedicated_nodes), ("Spot nodes", request.spot_nodes))
    return ", ".join([*(f"{kind}: {number}" for kind, number in given if number is not None), "a formula"])


def slot_problems(request: PoolRequest) -> Iterator[Problem]:
    """Tasks that run on a node at the same time: 1 up to the smaller of 4 times its cores and 256."""
    cores = request.size.vcpus if request.size is not None else None
    most = MOST_TASK_SLOTS if cores is None else min(SLOTS_PER_CORE * cores, MOST_TASK_SLOTS)
    if not 1 <= request.task_slots <= most:
        message = f"a node runs 1 to {most} tasks at a time: at most {SLOTS_PER_CORE} for each core, and {MOST_TASK_SLOTS}"
        yield _impossible(request, "task_slots", message, request.task_slots, f"1 to {most}")


def _impossible(
    request: PoolRequest, key: str, message: str, value: object, allowed: str, source: Source = sources.PROVIDER
) -> Problem:
    return Problem(
        path=request.at(key),
        message=message,
        value=value,
        allowed=allowed,
        fix=f"give {allowed}",
        source=str(source),
        code=Code.IMPOSSIBLE,
    )


LOOK_BACK_MINUTES = 5  # for tasks
GONE_MINUTES = 3  # after which an evicted Spot node is replaced, as in the documented formula


Scenario = Literal[
    "pending_tasks",  # tasks that wait or run
    "workday",  # the same, only in the hours of a workday
    "nights_and_weekends",  # the same, only outside these hours
    "spot_fallback",  # the same with Spot nodes, and a dedicated one for each evicted Spot node
    "fixed",  # nothing: always the maximum
]
"""What the number of nodes follows."""


IN_HOURS = ("workday", "nights_and_weekends")


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
    if request.scenario == "fixed":
        lines = [f"$nodes = {request.max_nodes};", *_targets(request)]
    else:
        lines = [*_tasks(), *_nodes(request), *_targets(request)]
    lines.append("$NodeDeallocationOption = taskcompletion;")
    return "\n".join([f"// {request.scenario}", *lines]) + "\n"


def most_nodes(request: ScenarioRequest) -> tuple[int, int]:
    """The most expensive numbers of dedicated and Spot nodes: a fallback may replace all Spot nodes by dedicated ones."""
    if request.spot and request.scenario != "spot_fallback":
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
    inside, outside = (nodes, "0") if request.scenario == "workday" else ("0", nodes)
    offset = f" + {request.utc_offset_hours} * TimeInterval_Hour" if request.utc_offset_hours else ""
    return [
        f"$now = time(){offset};",
        "$weekday = $now.weekday >= 1 && $now.weekday <= 5;",
        f"$working = $weekday && $now.hour >= {request.day_begins} && $now.hour < {request.day_ends};",
        f"$nodes = $working ? {inside} : {outside};",
    ]


def _targets(request: ScenarioRequest) -> list[str]:
    if request.scenario == "spot_fallback":
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
    if request.scenario == "fixed" or request.nodes_per_task < 1:
        return request.max_nodes
    return request.max_nodes - request.max_nodes % request.nodes_per_task


def _problems(request: ScenarioRequest) -> Iterator[Problem]:
    least = 0 if request.scenario == "fixed" else 1
    if request.max_nodes < least:
        yield _of_key(request, "max_nodes", f"the maximum is below {least} node", f"{least} or more")
    if request.max_nodes > LARGEST_NUMBER:
        yield _of_key(request, "max_nodes", "the number of nodes is too large for Batch", f"at most {LARGEST_NUMBER}")
    if request.min_nodes < 0:
        yield _of_key(request, "min_nodes", "the number of nodes is negative", "0 or more")
    elif request.min_nodes > max(request.max_nodes, least):
        message = f"more than max_nodes, {request.max_nodes}"
        yield _of_key(request, "min_nodes", message, f"0 to {request.max_nodes}")
    if request.nodes_per_task < 1:
        yield _of_key(request, "nodes_per_task", "the number of nodes of a task is below 1", "1 or more")
    elif request.nodes_per_task > request.max_nodes >= 1:
        message = f"a task on {request.nodes_per_task} nodes never starts: the pool has at most {request.max_nodes}"
        yield _of_key(request, "nodes_per_task", message, f"1 to {request.max_nodes}, or a larger max_nodes")
    if request.nodes_per_task > 1:
        yield from _of_several_nodes(request)
    if request.scenario in IN_HOURS:
        yield from _hours(request)
    yield from _without_effect(request)


def _of_several_nodes(request: ScenarioRequest) -> Iterator[Problem]:
    if request.task_slots != 1:
        message = "tasks on several nodes require one task slot per node"
        yield _of_key(request, "nodes_per_task", message, f"1 with {request.task_slots} task slots; else one slot a node")
    if request.spot or request.scenario == "spot_fallback":
        problem = _of_key(
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
    unused += ["min_nodes"] if request.scenario == "fixed" else []
    for key in unused:
        if getattr(request, key) != ScenarioRequest._field_defaults[key]:
            problem = _of_key(request, key, f"no effect in the scenario {request.scenario}", "", "leave it out")
            yield problem._replace(severity=Severity.WARNING)


def _hours(request: ScenarioRequest) -> Iterator[Problem]:
    if not -12 <= request.utc_offset_hours <= 14:
        yield _of_key(request, "utc_offset_hours", "not a valid offset from UTC", "-12 to 14")
    for key in ("day_begins", "day_ends"):
        if not 0 <= getattr(request, key) <= 24:
            yield _of_key(request, key, "not a valid hour", "0 to 24")
    if request.day_begins >= request.day_ends:
        yield _of_key(
            request, "day_ends", f"the workday ends before it begins, at {request.day_begins}", "an hour after day_begins"
        )


def _of_key(request: ScenarioRequest, key: str, message: str, allowed: str, fix: str = "") -> Problem:
    return Problem(
        path=f"{request.path}.{key}" if request.path else key,
        message=message,
        value=str(getattr(request, key)),
        allowed=allowed,
        fix=fix or f"write {allowed}",
        source=str(sources.AUTOSCALE),
        code=Code.IMPOSSIBLE,
    )
