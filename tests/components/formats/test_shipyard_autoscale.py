"""Shipyard's autoscale scenarios: by name where there is one that does the same, else as a formula that gives the same nodes."""

from datetime import UTC, datetime
from typing import Any

import pytest

from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.formats.autoscale_formula import evaluate, formula_problems, parse
from azure_gpu.formats.left import Left
from azure_gpu.formats.shipyard import files
from azure_gpu.formats.shipyard.pool_settings import settings_of
from tests.support.measured import Measured, steady
from tests.support.rows import each_row

POOL = """\
pool_specification:
  id: p
  vm_configuration: {platform_image: {publisher: Canonical, offer: UbuntuServer, sku: 16.04-LTS}}
  vm_size: STANDARD_NC6
  vm_count: {dedicated: DEDICATED, low_priority: SPOT}
  max_tasks_per_node: 2
  autoscale:
    evaluation_interval: 00:05:00
    scenario:
"""
MONDAY_NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
MONDAY_EVENING = datetime(2026, 11, 23, 18, tzinfo=UTC)
SATURDAY = datetime(2026, 11, 21, 12, tzinfo=UTC)
SUNDAY = datetime(2026, 11, 22, 12, tzinfo=UTC)


def read(scenario: str, least: tuple[int, int] = (0, 0)) -> tuple[dict[str, Any], list[Left], list[Problem]]:
    text = POOL.replace("DEDICATED", str(least[0])).replace("SPOT", str(least[1]))
    text += "\n".join("      " + line for line in scenario.splitlines()) + "\n"
    found, problems = files.read([("pool.yaml", text)])
    assert errors(problems) == []
    pool = settings_of(found)
    return pool.settings.get("autoscale", {}), pool.left, pool.problems


def autoscale(scenario: str, least: tuple[int, int] = (0, 0)) -> dict[str, Any]:
    settings, _, problems = read(scenario, least)
    assert problems == []
    assert settings.pop("interval_minutes") == 5
    return settings


def nodes(formula: str, now: datetime, tasks: int = 0) -> tuple[float, float]:
    """What a formula asks for."""
    assert formula_problems(formula, "formula") == []
    parsed, wrong = parse(formula)
    assert wrong == []
    assert parsed is not None
    result = evaluate(parsed, Measured({"$PendingTasks": steady(tasks, now)}), now)
    assert result.error is None
    return result.dedicated, result.spot


@pytest.mark.parametrize(
    ("scenario", "least", "expected"),
    [
        (
            "name: pending_tasks\nmaximum_vm_count: {dedicated: 16}",
            (0, 0),
            {"scenario": "pending_tasks", "max_nodes": 16},
        ),
        (
            "name: pending_tasks\nmaximum_vm_count: {dedicated: 0, low_priority: 8}",
            (0, 1),
            {"scenario": "pending_tasks", "max_nodes": 8, "min_nodes": 1, "spot": True},
        ),
        (
            "name: active_tasks\nmaximum_vm_count: {dedicated: 4}",
            (1, 0),
            {"scenario": "pending_tasks", "max_nodes": 4, "min_nodes": 1},
        ),
        (
            "name: pending_tasks\nmaximum_vm_count: {dedicated: 8, low_priority: 8}\nbias_node_type: low_priority",
            (0, 0),
            {"scenario": "spot_fallback", "max_nodes": 8},
        ),
        (
            "name: workday\nmaximum_vm_count: {dedicated: 4}",
            (0, 0),
            {"scenario": "workday", "max_nodes": 4, "day_begins": 8, "day_ends": 18},
        ),
        (
            "name: workday\nmaximum_vm_count: {dedicated: 4}\ntime_ranges: {work_hours: {start: 6, end: 21}}",
            (0, 0),
            {"scenario": "workday", "max_nodes": 4, "day_begins": 6, "day_ends": 22},
        ),
    ],
    ids=["pending", "pending on Spot", "active", "Spot first", "workday", "workday with hours"],
)
def test_a_scenario_of_the_same_kind_is_taken_by_name(scenario: str, least: tuple[int, int], expected: dict[str, Any]) -> None:
    assert autoscale(scenario, least) == expected


@each_row(
    ("scenario", "least", "now", "expected"),
    [
        ("name: weekday\nmaximum_vm_count: {dedicated: 4, low_priority: 2}", (1, 0), MONDAY_NOON, (4, 2)),
        ("name: weekday\nmaximum_vm_count: {dedicated: 4, low_priority: 2}", (1, 0), SUNDAY, (1, 0)),
        ("name: weekend\nmaximum_vm_count: {dedicated: 4}", (0, 0), SUNDAY, (4, 0)),
        ("name: weekend\nmaximum_vm_count: {dedicated: 4}", (0, 0), SATURDAY, (4, 0)),
        ("name: weekend\nmaximum_vm_count: {dedicated: 4}", (0, 0), MONDAY_NOON, (0, 0)),
        (
            "name: weekday\nmaximum_vm_count: {dedicated: 4, low_priority: 2}\nbias_node_type: dedicated",
            (0, 1),
            MONDAY_NOON,
            (4, 1),
        ),
        ("name: workday\nmaximum_vm_count: {dedicated: 4, low_priority: 2}", (0, 0), MONDAY_NOON, (4, 2)),
        ("name: workday\nmaximum_vm_count: {dedicated: 4, low_priority: 2}", (0, 0), MONDAY_EVENING, (0, 0)),
        (
            "name: workday\nmaximum_vm_count: {dedicated: 4}\ntime_ranges: {weekdays: {start: 2, end: 6}}",
            (0, 0),
            SATURDAY,
            (4, 0),
        ),
        (
            "name: workday_with_offpeak_max_low_priority\nmaximum_vm_count: {dedicated: 4, low_priority: 9}",
            (1, 0),
            MONDAY_NOON,
            (4, 9),
        ),
        (
            "name: workday_with_offpeak_max_low_priority\nmaximum_vm_count: {dedicated: 4, low_priority: 9}",
            (1, 0),
            SUNDAY,
            (1, 9),
        ),
    ],
)
def test_any_other_is_a_formula_that_gives_the_same_nodes(
    scenario: str, least: tuple[int, int], now: datetime, expected: tuple[int, int]
) -> None:
    assert nodes(autoscale(scenario, least)["formula"], now) == expected


@pytest.mark.parametrize(
    ("bias", "tasks", "expected"),
    [
        ("dedicated", 10, (4, 1)),
        ("dedicated", 4, (2, 0)),
        ("auto", 8, (2, 2)),
        ("auto", 100, (4, 8)),
        ("low_priority", 10, (0, 5)),
        ("low_priority", 24, (4, 8)),
        ("auto", 0, (0, 0)),
    ],
)
def test_both_kinds_of_nodes_by_tasks_are_a_formula(bias: str, tasks: int, expected: tuple[int, int]) -> None:
    settings = autoscale(f"name: pending_tasks\nmaximum_vm_count: {{dedicated: 4, low_priority: 8}}\nbias_node_type: {bias}")
    assert nodes(settings["formula"], MONDAY_NOON, tasks) == expected


def test_a_formula_is_taken_as_it_is_and_the_scenario_beside_it_told() -> None:
    text = POOL.replace("DEDICATED", "0").replace("SPOT", "0") + "      name: workday\n    formula: $TargetDedicatedNodes = 1;\n"
    found, _ = files.read([("pool.yaml", text)])
    pool = settings_of(found)
    assert pool.settings["autoscale"] == {"formula": "$TargetDedicatedNodes = 1;", "interval_minutes": 5}
    assert any("with a formula Shipyard takes no notice of it" in str(left) for left in pool.left)


def test_what_a_scenario_tunes_is_told() -> None:
    settings, left, _ = read(
        "name: pending_tasks\nmaximum_vm_count: {dedicated: 4}\nbias_last_sample: true\nsample_lookback_interval: 00:10:00\n"
        "node_deallocation_option: requeue\nrebalance_preemption_percentage: 50"
    )
    assert settings["scenario"] == "pending_tasks"
    said = "\n".join(map(str, left))
    for key in ("bias_last_sample", "sample_lookback_interval", "node_deallocation_option", "rebalance_preemption_percentage"):
        assert f"pool_specification.autoscale.scenario.{key}: " in said


@pytest.mark.parametrize(
    ("scenario", "least", "message"),
    [
        ("name: pending_tasks\nmaximum_vm_count: {dedicated: -1}", (0, 0), "less than 0 meant no limit"),
        ("name: pending_tasks\nmaximum_vm_count: {dedicated: 1}", (2, 0), "the most is less than the least"),
        ("name: pending_tasks", (0, 0), "no most number of nodes"),
    ],
)
def test_numbers_that_make_no_pool_are_problems(scenario: str, least: tuple[int, int], message: str) -> None:
    _, _, problems = read(scenario, least)
    assert any(message in problem.message for problem in problems)
