"""Regions as people and as ARM spell them."""

import pytest

from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Severity
from azure_gpu.stack.settings import read
from tests.components.answering import clusters_that_answer
from tests.components.recording import PROJECT, STACK, declare
from tests.components.settings_of import TODAY, all_problems, configuration, encrypted


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


@pytest.mark.parametrize("region", ["belgiumcentral", "eastus3", "southeastus", "austriaeast", "West US 4"])
def test_a_region_that_may_be_newer_than_the_list_is_warned_of(region: str) -> None:
    [problem] = regions.check(region, "location")
    assert problem.severity is Severity.WARNING
    assert regions.check_known(region, "--region")[0].severity is Severity.ERROR, "nothing can be told of it"


def test_whatever_a_stack_has_in_such_a_region_is_warned_of_once() -> None:
    pool = {"size": "Standard_NC4as_T4_v3", "expires_after": "2026-12-31"}
    says = {
        "location": "belgiumcentral",
        "foundation": {"identity": "create", "storage": "create"},
        "jobs": {"train": {"gpu": "T4", "image": "mcr.microsoft.com/a:1", "expires_after": "2026-12-31"}},
        "batch_account": {},
        "pools": {"p": pool},
        "clusters": {"c": {"gpu_pools": {"t4": {"size": pool["size"], "max_nodes": 1}}, "expires_after": "2026-12-31"}},
    }
    settings = read(configuration(says), TODAY, encrypted(says))
    found: list[tuple[str, Severity]] = []
    with clusters_that_answer():
        declare(lambda: found.extend((each.path, each.severity) for each in all_problems(settings, PROJECT, STACK)))
    assert found == [("location", Severity.WARNING)]


@pytest.mark.parametrize(
    ("region", "meant"),
    [("westerope", "westeurope"), ("esatus", "eastus"), ("swedncentral", "swedencentral"), ("East USA", "eastus")],
)
def test_a_slip_is_refused_with_what_was_meant(region: str, meant: str) -> None:
    [problem] = regions.check(region, "location")
    assert (problem.severity, problem.fix) == (Severity.ERROR, f"write {meant!r}")


def test_what_is_like_no_region_is_one_problem_with_the_way_to_see_them_all() -> None:
    [problem] = regions.check("moon", "location")
    assert "az account list-locations" in problem.fix


@pytest.mark.parametrize("region", ["eastus", "westeurope", "westus2", "southeastasia", "centralindia", "northeurope"])
def test_the_regions_that_had_gpus_in_container_instances_are_known(region: str) -> None:
    assert region in regions.known()
