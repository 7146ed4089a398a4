"""Regions as people and as ARM spell them."""

import pytest

from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Severity
from azure_gpu.stack.settings import read
from tests.components.answering import clusters_that_answer
from tests.components.recording import PROJECT, STACK, declare
from tests.components.settings_of import TODAY, all_problems, configuration, encrypted


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


@pytest.mark.parametrize("region", ["eastus", "westeurope", "westus2", "southeastasia", "centralindia", "northeurope"])
def test_the_regions_that_had_gpus_in_container_instances_are_known(region: str) -> None:
    assert region in regions.known()
