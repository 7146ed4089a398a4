"""Regions as people and as ARM spell them."""

import pytest

from azure_gpu.catalog import regions


@pytest.mark.parametrize(
    ("spelt", "name"), [("West Europe", "westeurope"), ("westeurope", "westeurope"), ("East US 2", "eastus2")]
)
def test_both_spellings_of_a_region_are_the_same_region(spelt: str, name: str) -> None:
    assert regions.normalise(spelt) == name
    assert regions.check(spelt, "location") == []


def test_a_misspelt_region_is_one_problem_with_the_likely_one() -> None:
    [problem] = regions.check("west europ", "location")
    assert (problem.path, problem.value, problem.fix) == ("location", "west europ", "write 'westeurope'")
    assert "eastus" in problem.allowed


def test_what_is_like_no_region_is_one_problem_with_the_way_to_see_them_all() -> None:
    [problem] = regions.check("moon", "location")
    assert "az account list-locations" in problem.fix


@pytest.mark.parametrize("region", ["eastus", "westeurope", "westus2", "southeastasia", "centralindia", "northeurope"])
def test_the_regions_that_had_gpus_in_container_instances_are_known(region: str) -> None:
    assert region in regions.known()
