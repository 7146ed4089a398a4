"""The numbers of nodes of a Batch pool: fixed ones, autoscale formulas and their intervals, and formulas for scenarios."""

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Literal, NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.batch.request import PoolRequest

DEFAULT_INTERVAL = timedelta(minutes=15)
SHORTEST_INTERVAL = timedelta(minutes=5)
LONGEST_INTERVAL = timedelta(hours=168)
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
        yield refused("batch.numbers_and_formula", request.at("autoscale_formula"), _fixed(request))
    elif request.autoscale_formula and request.resize_timeout is not None:
        yield refused("batch.timeout_of_formula", request.at("resize_timeout"), str(request.resize_timeout))
    elif not request.autoscale_formula and not fixed:
        yield refused("batch.no_numbers", request.at("dedicated_nodes"))
    for key, number in (("dedicated_nodes", request.dedicated_nodes or 0), ("spot_nodes", request.spot_nodes or 0)):
        if number < 0:
            yield refused("batch.negative_nodes", request.at(key), number)
        if number > LARGEST_NUMBER:
            yield refused("batch.too_many_nodes", request.at(key), number, most=LARGEST_NUMBER)
        if request.image_kind == "managed image" and number > MOST_FROM_MANAGED_IMAGE[key]:
            yield refused("batch.nodes_of_managed_image", request.at(key), number, most=MOST_FROM_MANAGED_IMAGE[key])
    if request.resize_timeout is not None and request.resize_timeout < SHORTEST_RESIZE_TIMEOUT:
        yield refused("batch.timeout_too_short", request.at("resize_timeout"), str(request.resize_timeout))
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
        limits = {"most": most, "each": SLOTS_PER_CORE, "largest": MOST_TASK_SLOTS}
        yield refused("batch.task_slots", request.at("task_slots"), request.task_slots, **limits)


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


def scenario_problems(request: ScenarioRequest) -> list[Problem]:
    """What is wrong with the numbers."""
    least = 0 if request.scenario == "fixed" else 1
    several = request.nodes_per_task > 1
    on_spot = several and (request.spot or request.scenario == "spot_fallback")
    in_hours = request.scenario in IN_HOURS
    rules = (
        ("max_nodes", "maximum_too_small", request.max_nodes < least),
        ("max_nodes", "maximum_too_large", request.max_nodes > LARGEST_NUMBER),
        ("min_nodes", "negative_minimum", request.min_nodes < 0),
        ("min_nodes", "minimum_above_maximum", request.min_nodes > max(request.max_nodes, least)),
        ("nodes_per_task", "no_node_for_a_task", request.nodes_per_task < 1),
        ("nodes_per_task", "task_never_starts", request.nodes_per_task > request.max_nodes >= 1),
        ("nodes_per_task", "task_slots", several and request.task_slots != 1),
        ("spot" if request.spot else "scenario", "spot", on_spot),
        ("utc_offset_hours", "bad_offset", in_hours and not -12 <= request.utc_offset_hours <= 14),
        ("day_begins", "bad_hour", in_hours and not 0 <= request.day_begins <= 24),
        ("day_ends", "bad_hour", in_hours and not 0 <= request.day_ends <= 24),
        ("day_ends", "day_ends_first", in_hours and request.day_begins >= request.day_ends),
        *(
            (key, "without_effect", _is_set(request, key))
            for key in ("utc_offset_hours", "day_begins", "day_ends")
            if not in_hours
        ),
        ("min_nodes", "without_effect", request.scenario == "fixed" and _is_set(request, "min_nodes")),
    )
    beside = {"request": request, "least": least, "most": LARGEST_NUMBER}
    prefix = f"{request.path}." if request.path else ""
    return [
        refused(f"scenario.{name}", prefix + key, str(getattr(request, key)), **beside) for key, name, wrong in rules if wrong
    ]


def _is_set(request: ScenarioRequest, key: str) -> bool:
    return getattr(request, key) != ScenarioRequest._field_defaults[key]
