"""How many nodes a pool under a formula can ever get."""

import pytest

from azure_gpu.catalog.services.batch.scenarios import Scenario, ScenarioRequest, formula
from azure_gpu_operations.run.on_batch.formula_most import most_nodes


@pytest.mark.parametrize("scenario", [one for one in Scenario if one is not Scenario.SPOT_FALLBACK])
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
