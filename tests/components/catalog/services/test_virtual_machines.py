"""What holds for plain virtual machines. Expectations are literals from Azure's page of retirements (2026-09-25)."""

from datetime import date

from azure_gpu.catalog import facts
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services import virtual_machines
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES


def problems(name: str, day: date, region: str = "westeurope") -> list[Problem]:
    size = SIZES.find(name)
    assert size is not None
    use = SizeUse(service=Service.VIRTUAL_MACHINES, size=name, region=region, path="vm.size", region_path="location")
    return list(virtual_machines.size_problems(size, use, day))


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
