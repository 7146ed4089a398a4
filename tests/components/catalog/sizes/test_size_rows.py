"""What the catalog says of sizes: literals read in Microsoft's pages and in the SKU API's dumps, a sample of every line."""

from datetime import date

import pytest

from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Driver
from tests.components.catalog.rule_tables import size_of
from tests.support.tables import of_table


@pytest.mark.parametrize(
    ("name", "days"),
    [
        ("Standard_NC24rs_v3", ["2025-03-31"]),
        ("Standard_NC6s_v3", []),
        ("Standard_NC6", ["2023-08-31", "2022-08-31"]),
        ("Standard_NV6", ["2023-08-31", "2022-08-31"]),
    ],
)
def test_other_last_days_that_sources_gave_are_kept(name: str, days: list[str]) -> None:
    assert [source.day.isoformat() for source in size_of(name).lifecycle.also_given] == days


# The source documents' own dates: Azure ML Workbench 2017-09-14, Batch 2018-12-17, ML inference 2019-05-02
@of_table("name", "day")
def test_the_sizes_of_the_source_documents_were_sold_at_their_dates(name: str, day: str) -> None:
    assert size_of(name).lifecycle.status(date.fromisoformat(day)) is Status.GENERAL


@of_table("name", "day", "status")
def test_a_day_is_answered_as_that_day(name: str, day: str, status: str) -> None:
    assert size_of(name).lifecycle.status(date.fromisoformat(day)).name == status


@of_table("name", "drivers")
def test_drivers_are_those_that_work_the_usual_one_first(name: str, drivers: list[str]) -> None:
    assert [each.name for each in size_of(name).series.drivers] == drivers


def test_an_amd_gpu_never_has_a_driver_of_nvidias_nor_the_other_way_round() -> None:
    for size in SIZES:
        if size.gpu:
            of_nvidia = {Driver.CUDA, Driver.GRID} & set(size.series.drivers)
            assert bool(of_nvidia) == (size.gpu.vendor == "NVIDIA")
            assert size.series.drivers


BOTH = ("Gen1", "Gen2")


# "Generation 1 VMs" and "Generation 2 VMs" on the pages of the series
@of_table("name", "generations")
def test_generations_are_those_of_the_page(name: str, generations: list[str]) -> None:
    assert [*size_of(name).series.generations] == generations


# Names and instances: NVIDIA's guide and gpu-multi-instance.md of AKS, 2026-05-22
@of_table("name", "profiles")
def test_mig_profiles_have_nvidias_names_and_aks_keys(name: str, profiles: list[str]) -> None:
    gpu = size_of(name).gpu
    assert gpu is not None
    assert list(gpu.mig) == ["MIG1g", "MIG2g", "MIG3g", "MIG4g", "MIG7g"]
    assert [profile.name for profile in gpu.mig.values()] == profiles
    assert [profile.instances for profile in gpu.mig.values()] == [7, 3, 2, 1, 1]
    assert [f"{profile.memory_gib}gb" for profile in gpu.mig.values()] == [text.split(".")[1] for text in profiles]
    assert gpu.mig_source is not None


def test_aks_cuts_a100_h100_and_h200_alone() -> None:
    assert {size.gpu.name for size in SIZES if size.gpu and size.gpu.mig} == {"A100", "H100", "H200"}


@of_table("name", "architecture", "capability")
def test_gpus_have_the_capability_of_nvidias_table(name: str, architecture: str, capability: str) -> None:
    gpu = size_of(name).gpu
    assert gpu is not None
    assert (gpu.architecture, gpu.compute_capability) == (architecture, capability)


def test_processors_are_arm_in_the_grace_series_alone() -> None:
    assert {size.name for size in SIZES if size.series.architecture == "Arm64"} == {
        "Standard_ND128isr_NDR_GB200_v6",
        "Standard_ND128isr_GB300_v6",
        "Standard_ND128isrG5_GB300_v6",
    }
