"""What holds for plain virtual machines. Expectations are literals from Azure's page of retirements (2026-09-25)."""

from datetime import date

import pytest

from azure_gpu.catalog import facts
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services import virtual_machines
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES


def problems(name: str, day: date, region: str = "westeurope") -> list[Problem]:
    size = SIZES.find(name)
    assert size is not None
    use = SizeUse(service=Service.VIRTUAL_MACHINES, size=name, region=region, path="vm.size", region_path="location")
    return list(virtual_machines.size_problems(size, use, day))


@pytest.mark.parametrize("name", ["HB120rs_v2", "HC44rs"])
def test_a_series_with_an_announced_end_is_closed_to_new_subscriptions(name: str) -> None:
    (problem,) = problems(name, date(2026, 11, 20))
    assert (problem.code, problem.severity, problem.path) == (Code.RETIRING, Severity.WARNING, "vm.size")
    assert "2027-05-31" in problem.message


def test_within_180_days_the_end_itself_is_what_is_warned_of() -> None:
    assert problems("HC44rs", date(2026, 12, 2)) == []  # 180 days before 2027-05-31
    assert len(problems("HC44rs", date(2026, 12, 1))) == 1


@pytest.mark.parametrize("name", ["NC4as_T4_v3", "ND96isr_H100_v5"])
def test_nothing_speaks_against_a_series_without_an_end(name: str) -> None:
    assert problems(name, date(2026, 11, 20)) == []


def test_the_providers_default_api_versions_are_told_of_every_service() -> None:
    """The literals are those of pulumi-azure-native 3.29.0."""
    versions = {
        "virtual_machines": "2024-11-01",
        "batch.sizes": "2024-07-01",
        "aks.pool": "2025-09-01",
        "stack_edge_commands": "2023-07-01",
        "container_instances": "2024-05-01-preview",
        "container_apps": "2025-02-02-preview",
        "machine_learning.deployments": "2025-12-01",
        "machine_learning.extension": "2023-05-01",
    }
    for service, version in versions.items():
        assert facts.one(service, "API version").value.startswith(version)


def test_before_the_page_nothing_is_claimed() -> None:
    assert problems("HC44rs", date(2026, 9, 24)) == []
