"""The fewest and the most nodes that a pool under a formula can have."""

from typing import get_args

import pytest

from azure_gpu.catalog.services.batch.scale import Scenario, ScenarioRequest, formula
from azure_gpu.formats.autoscale_formula.bounds import idle_nodes, most_nodes


@pytest.mark.parametrize("scenario", [one for one in get_args(Scenario) if one != "spot_fallback"])
@pytest.mark.parametrize("spot", [False, True])
def test_a_scenario_gives_its_most_nodes_at_some_hour_of_the_week(scenario: Scenario, spot: bool) -> None:
    text = formula(ScenarioRequest(scenario, "pool.autoscale", max_nodes=5, spot=spot))
    assert most_nodes(text) == 5


def test_a_formula_of_ones_own_is_as_large_as_it_gets() -> None:
    assert most_nodes("$TargetDedicatedNodes = 2;\n$TargetLowPriorityNodes = min(3, $ActiveTasks.GetSample(1));") == 5
    assert (most_nodes("$TargetDedicatedNodes = $CurrentDedicatedNodes + 1;") or 0) > 100


@pytest.mark.parametrize("text", ["", "no formula", "$TargetDedicatedNodes = 1 / 0;"])
def test_where_the_formula_cannot_be_followed_nothing_is_said(text: str) -> None:
    assert most_nodes(text) is None


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("$TargetDedicatedNodes = max(1, min(4, $PendingTasks.GetSample(1)));", (1, 0)),
        ("$TargetLowPriorityNodes = time().hour > 6 ? 3 : 0;", (0, 3)),
        ("$TargetDedicatedNodes = min(4, $PendingTasks.GetSample(1));", (0, 0)),
        ("no formula", None),
    ],
)
def test_the_nodes_that_stay_are_those_of_a_week_in_which_nothing_waits(text: str, nodes: tuple[int, int] | None) -> None:
    assert idle_nodes(text) == nodes
