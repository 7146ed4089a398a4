"""Shipyard's autoscale scenarios: by name where there is one that does the same, else as a formula that gives the same nodes."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.formats.autoscale_formula import evaluate, formula_problems, parse
from azure_gpu.formats.left import Left
from azure_gpu.formats.shipyard import files
from azure_gpu.formats.shipyard.pool_settings import settings_of
from tests.components.tables import of_table
from tests.support.measured import Measured, steady

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
NOWS = {
    "monday noon": datetime(2026, 11, 23, 12, tzinfo=UTC),
    "monday evening": datetime(2026, 11, 23, 18, tzinfo=UTC),
    "saturday": datetime(2026, 11, 21, 12, tzinfo=UTC),
    "sunday": datetime(2026, 11, 22, 12, tzinfo=UTC),
}


def read(scenario: str, least: Sequence[int] = (0, 0)) -> tuple[dict[str, Any], list[Left], list[Problem]]:
    text = POOL.replace("DEDICATED", str(least[0])).replace("SPOT", str(least[1]))
    text += "\n".join("      " + line for line in scenario.splitlines()) + "\n"
    found, problems = files.read([("pool.yaml", text)])
    assert errors(problems) == []
    pool = settings_of(found)
    return pool.settings.get("autoscale", {}), pool.left, pool.problems


def autoscale(scenario: str, least: Sequence[int] = (0, 0)) -> dict[str, Any]:
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


@of_table("scenario", "least", "expected")
def test_a_scenario_of_the_same_kind_is_taken_by_name(scenario: Any, least: list[int], expected: dict[str, Any]) -> None:
    assert autoscale(yaml.safe_dump(scenario), least) == expected


@of_table("scenario", "least", "now", "expected")
def test_any_other_is_a_formula_that_gives_the_same_nodes(scenario: Any, least: list[int], now: str, expected: list[int]) -> None:
    assert nodes(autoscale(yaml.safe_dump(scenario), least)["formula"], NOWS[now]) == tuple(expected)


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
    assert nodes(settings["formula"], NOWS["monday noon"], tasks) == expected


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
