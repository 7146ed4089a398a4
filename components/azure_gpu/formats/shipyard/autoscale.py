"""Converts Shipyard's autoscale scenarios: by name if a scenario of the stack file does the same, else to a formula.

Shipyard's scenarios have a minimum and a maximum for dedicated and for Spot nodes each; the stack file's have one kind of node,
except `spot_fallback`. A pool with both kinds becomes a formula.
Source: Azure/batch-shipyard, docs/30 (autoscale) and docs/13 (pool), 2023-03; Shipyard counts hours and days in UTC."""

from typing import Any, NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats.autoscale_formula import formula_problems
from azure_gpu.formats.left import Left
from azure_gpu.formats.shipyard.part import Part, duration, minutes_of

_DEFAULT_MINUTES = 15
_PENDING = ("active_tasks", "pending_tasks")
_FINE_TUNING = (
    "maximum_vm_increment_per_evaluation",
    "sample_lookback_interval",
    "required_sample_percentage",
    "bias_last_sample",
)


class Nodes(NamedTuple):
    """How many of one kind."""

    least: int
    most: int


class Hours(NamedTuple):
    """When the pool has nodes: days from Monday = 1, hours of the day from `begin` until before `end`."""

    first_day: int
    last_day: int
    begin: int
    end: int

    @property
    def usual_days(self) -> bool:
        return (self.first_day, self.last_day) == (1, 5)


def settings_of(pool: Part, least: Nodes) -> tuple[dict[str, Any], list[Left], list[Problem]]:
    """`least` are the dedicated and the Spot nodes that the pool itself asks for: here the least of each."""
    left: list[Left] = []
    problems: list[Problem] = []
    settings: dict[str, Any] = {}
    interval = pool.get("autoscale.evaluation_interval")
    if interval is not None:
        length = duration(interval)
        if length is None:
            path = pool.at("autoscale.evaluation_interval")
            problems.append(Problem(path, "not a duration", interval, "d.HH:mm:ss", "write 00:15:00"))
        elif minutes_of(length) != _DEFAULT_MINUTES:
            settings["interval_minutes"] = minutes_of(length)
    formula = pool.get("autoscale.formula")
    if formula:
        if pool.get("autoscale.scenario"):
            left.append(pool.leave("autoscale.scenario", "with a formula Shipyard takes no notice of it"))
        problems += formula_problems(formula, pool.at("autoscale.formula"))
        return {"formula": formula, **settings}, left, problems
    scenario = pool.things("autoscale.scenario")
    if not scenario:
        return {}, left, problems
    most = pool.things("autoscale.scenario.maximum_vm_count")
    dedicated = Nodes(least.least, int(most.get("dedicated") or 0))
    spot = Nodes(least.most, int(most.get("low_priority") or 0))
    problems += _limits(pool, dedicated, spot)
    left += _left(pool)
    return {**_scenario(pool, str(scenario.get("name")), dedicated, spot, left), **settings}, left, problems


def _limits(pool: Part, dedicated: Nodes, spot: Nodes) -> list[Problem]:
    problems: list[Problem] = []
    path = "autoscale.scenario.maximum_vm_count"
    for key, nodes in (("dedicated", dedicated), ("low_priority", spot)):
        if nodes.most < 0:
            message = "less than 0 meant no limit, and a pool here needs one"
            problems.append(Problem(pool.at(f"{path}.{key}"), message, nodes.most, "0 or more", "write the most nodes"))
        elif nodes.most < nodes.least:
            message = f"the most is less than the least, which is vm_count: {nodes.least}"
            problems.append(Problem(pool.at(f"{path}.{key}"), message, nodes.most, f"{nodes.least} or more", "raise it"))
    if dedicated.most == spot.most == 0:
        problems.append(Problem(pool.at(path), "the scenario has no most number of nodes", fix="write dedicated: and a number"))
    return problems


def _left(pool: Part) -> list[Left]:
    left: list[Left] = []
    scenario = "autoscale.scenario"
    for key in _FINE_TUNING:
        if pool.get(f"{scenario}.{key}") is not None:
            left.append(
                pool.leave(f"{scenario}.{key}", "the scenario has its own rule for samples", "set autoscale: {formula: …}")
            )
    if pool.get(f"{scenario}.rebalance_preemption_percentage") is not None:
        message = "dedicated nodes in place of Spot nodes that were taken away are a scenario of their own"
        left.append(pool.leave(f"{scenario}.rebalance_preemption_percentage", message, "scenario: spot_fallback"))
    option = pool.get(f"{scenario}.node_deallocation_option")
    if option not in (None, "taskcompletion"):
        message = f"{option}: the scenarios let running tasks end before they take a node away"
        left.append(pool.leave(f"{scenario}.node_deallocation_option", message, "set autoscale: {formula: …}"))
    return left


def _scenario(pool: Part, name: str, dedicated: Nodes, spot: Nodes, left: list[Left]) -> dict[str, Any]:
    """The scenario of one kind of node where only one is asked for; else a formula."""
    bias = str(pool.get("autoscale.scenario.bias_node_type") or "auto")
    hours = _hours(pool)
    one_kind = dedicated.most == 0 or spot.most == 0
    nodes, is_spot = (spot, True) if dedicated.most == 0 else (dedicated, False)
    counted: dict[str, Any] = {"max_nodes": nodes.most} | ({"min_nodes": nodes.least} if nodes.least else {})
    if is_spot:
        counted["spot"] = True
    if name in _PENDING:
        if name == "active_tasks":
            message = "active_tasks counted only waiting tasks, so nodes went while tasks ran; pending_tasks counts both"
            left.append(pool.change("autoscale.scenario.name", message))
        if one_kind:
            return {"scenario": "pending_tasks", **counted}
        if bias == "low_priority" and dedicated.most >= spot.most:
            least = {"min_nodes": spot.least} if spot.least else {}
            return {"scenario": "spot_fallback", "max_nodes": spot.most, **least}
        return {"formula": _by_tasks(int(pool.get("max_tasks_per_node") or 1), dedicated, spot, bias)}
    if name == "workday" and one_kind and hours.usual_days:
        return {"scenario": "workday", **counted, "day_begins": hours.begin, "day_ends": hours.end}
    return {"formula": _by_time(name, hours, dedicated, spot, bias)}


def _hours(pool: Part) -> Hours:
    """Shipyard's last hour is one of the working hours."""
    days = pool.things("autoscale.scenario.time_ranges.weekdays")
    hours = pool.things("autoscale.scenario.time_ranges.work_hours")
    return Hours(days.get("start", 1), days.get("end", 5), hours.get("start", 8), hours.get("end", 17) + 1)


def _by_tasks(slots: int, dedicated: Nodes, spot: Nodes, bias: str) -> str:
    """As many nodes as tasks wait or run, dedicated or Spot first, or half of each."""
    first = {"dedicated": "wanted", "low_priority": "wanted", "auto": "wanted / 2"}[bias]
    own, other = (("$TargetLowPriorityNodes", spot), ("$TargetDedicatedNodes", dedicated))
    if bias != "low_priority":
        own, other = other, own
    return "\n".join(
        [
            "enough = $PendingTasks.GetSamplePercent(10 * TimeInterval_Minute) >= 70;",
            "last = max(0, $PendingTasks.GetSample(1));",
            "tasks = enough ? max(last, avg($PendingTasks.GetSample(10 * TimeInterval_Minute))) : last;",
            f"wanted = tasks / {slots};",
            f"{own[0]} = max({own[1].least}, min({own[1].most}, {first}));",
            f"{other[0]} = max({other[1].least}, min({other[1].most}, wanted - {own[0]}));",
            "$NodeDeallocationOption = taskcompletion;",
        ]
    )


def _by_time(name: str, hours: Hours, dedicated: Nodes, spot: Nodes, bias: str) -> str:
    """The most nodes at the hours that the scenario is for, the least at all others."""
    days = f"now.weekday >= {hours.first_day} && now.weekday <= {hours.last_day}"
    work = f"{days} && now.hour >= {hours.begin} && now.hour < {hours.end}"
    when = {"weekday": days, "weekend": f"!({days})"}.get(name, work)
    lines = ["now = time();", f"wanted = {when};"]
    for variable, kind, nodes in (
        ("$TargetDedicatedNodes", "dedicated", dedicated),
        ("$TargetLowPriorityNodes", "low_priority", spot),
    ):
        if name == "workday_with_offpeak_max_low_priority" and kind == "low_priority":
            lines.append(f"{variable} = {nodes.most};")
        elif bias in ("auto", kind):
            lines.append(f"{variable} = wanted ? {nodes.most} : {nodes.least};")
        else:
            lines.append(f"{variable} = {nodes.least};")
    return "\n".join([*lines, "$NodeDeallocationOption = taskcompletion;"])
