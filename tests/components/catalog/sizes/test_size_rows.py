"""What the catalog says of sizes: literals read in Microsoft's pages and in the SKU API's dumps, a sample of every line."""

from datetime import date
from fractions import Fraction

import pytest

from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Driver, Size, Vendor, VmGeneration
from tests.components.tables import of_table
from tests.support.rows import each_row

TODAY = date(2026, 11, 20)


def sold(name: str) -> Size:
    size = SIZES.find(name)
    assert size is not None
    return size


# name, vCPUs that the guest has, that count, GiB of memory, GPUs, GiB of GPU memory in the machine, InfiniBand, quota family
SAMPLE = [
    ("Standard_NC6", 6, 6, 56, "1", 12, False, "standardNCFamily"),
    ("Standard_NC24r", 24, 24, 224, "4", 48, True, "standardNCFamily"),
    ("Standard_NC6_Promo", 6, 6, 56, "1", 12, False, "standardNCPromoFamily"),
    ("Standard_NC24rs_v2", 24, 24, 448, "4", 64, True, "standardNCSv2Family"),
    ("Standard_NC6s_v3", 6, 6, 112, "1", 16, False, "standardNCSv3Family"),
    ("Standard_NC4as_T4_v3", 4, 4, 28, "1", 16, False, "Standard NCASv3_T4 Family"),
    ("Standard_NC64as_T4_v3", 64, 64, 440, "4", 64, False, "Standard NCASv3_T4 Family"),
    ("Standard_NC8ads_A10_v4", 8, 8, 100, "1", None, False, "StandardNCADSA10v4Family"),
    ("Standard_NC24ads_A100_v4", 24, 24, 220, "1", 80, False, "StandardNCADSA100v4Family"),
    ("Standard_NC96ads_A100_v4", 96, 96, 880, "4", 320, False, "StandardNCADSA100v4Family"),
    ("Standard_NC80adis_H100_v5", 80, 80, 640, "2", 188, False, "StandardNCadsH100v5Family"),
    ("Standard_NCC40ads_H100_v5", 40, 40, 320, "1", 94, False, "StandardNCCads2023Family"),
    ("Standard_NC36lds_xl_RTXPRO6000BSE_v6", 36, 36, 72, "1/4", 24, False, "StandardNCdsRTXPRO6000BSEv6XLFamily"),
    ("Standard_NC72ds_xl_RTXPRO6000BSE_v6", 72, 72, 264, "1/2", 48, False, "StandardNCdsRTXPRO6000BSEv6XLFamily"),
    ("Standard_NC128ds_xl_RTXPRO6000BSE_v6", 128, 128, 512, "1", 96, False, "StandardNCRTXPRO6000BSEv6Family"),
    ("Standard_ND24rs", 24, 24, 448, "4", 96, True, "standardNDSFamily"),
    ("Standard_ND40rs_v2", 40, 40, 672, "8", 256, True, "standardNDSv2Family"),
    ("Standard_ND96asr_v4", 96, 96, 900, "8", 320, True, "Standard NDASv4_A100 Family"),
    ("Standard_ND96amsr_A100_v4", 96, 96, 1800, "8", 640, True, "standard NDAMSv4_A100Family"),
    ("Standard_ND96isr_H100_v5", 96, 96, 1900, "8", 640, True, "standardNDSH100v5Family"),
    ("Standard_ND96isr_H200_v5", 96, 96, 1850, "8", 1128, True, "standardNDISRH200V5Family"),
    ("Standard_ND96isr_MI300X_v5", 96, 96, 1850, "8", 1536, True, "standardNDISv5MI300XFamily"),
    ("Standard_ND128isr_NDR_GB200_v6", 128, 128, 900, "4", 768, True, "standardNDISRGB200V6NDRFamily"),
    ("Standard_ND128isr_GB300_v6", 128, 128, 864, "4", 1152, True, "standardNDISRGB300V6Family"),
    ("Standard_ND96isf_H100_v5", 96, 96, None, "8", 640, False, "standardNDSFH100v5Family"),
    ("Standard_NV6", 6, 6, 56, "1", 8, False, "standardNVFamily"),
    ("Standard_NV12_Promo", 12, 12, 112, "2", 16, False, "standardNVPromoFamily"),
    ("Standard_NV24s_v2", 24, 24, 448, "4", 32, False, "standardNVSv2Family"),
    ("Standard_NV48s_v3", 48, 48, 448, "4", 32, False, "standardNVSv3Family"),
    ("Standard_NV4as_v4", 4, 4, 14, "1/8", 2, False, "standardNVSv4Family"),
    ("Standard_NV6ads_A10_v5", 6, 6, 55, "1/6", 4, False, "StandardNVADSA10v5Family"),
    ("Standard_NV12ads_A10_v5", 12, 12, 110, "1/3", 8, False, "StandardNVADSA10v5Family"),
    ("Standard_NV72ads_A10_v5", 72, 72, 880, "2", 48, False, "StandardNVADSA10v5Family"),
    ("Standard_NV28adms_V710_v5", 28, 28, 160, "1", 24, False, "StandardNVadsV710v5Family"),
    ("Standard_NG8ads_V620_v1", 8, 8, 16, "1/4", 8, False, "StandardNGADSV620v1Family"),
    ("Standard_NP20s", 20, 20, 336, "0", 0, False, "standardNPSFamily"),
    ("Standard_H16", 16, 16, 112, "0", 0, False, "standardHFamily"),
    ("Standard_H16mr", 16, 16, 224, "0", 0, True, "standardHFamily"),
    ("Standard_A9", 16, 16, 112, "0", 0, True, "standardA8_A11Family"),
    ("Standard_HB60-45rs", 45, 60, 228, "0", 0, True, ""),
    ("Standard_HB120-16rs_v2", 16, 120, 456, "0", 0, True, "standardHBrsv2Family"),
    ("Standard_HB120-96rs_v3", 96, 120, 456, "0", 0, True, "standardHBv3Family"),
    ("Standard_HB176-24rs_v4", 24, 176, 768, "0", 0, True, "standardHBv4Family"),
    ("Standard_HB368-336rs_v5", 336, 368, 448, "0", 0, True, "standardHBv5Family"),
    ("Standard_HC44-32rs", 32, 44, 352, "0", 0, True, "standardHCSFamily"),
    ("Standard_HX176-144rs", 144, 176, 1408, "0", 0, True, "standardHXFamily"),
]  # fmt: skip


@each_row(("name", "vcpus", "counted", "memory", "gpus", "gpu_memory", "rdma", "family"), SAMPLE)
def test_a_size_has_what_its_page_says(
    name: str, vcpus: int, counted: int, memory: int | None, gpus: str, gpu_memory: int | None, rdma: bool, family: str
) -> None:
    size = sold(name)
    assert (size.vcpus, size.quota_vcpus, size.memory_gib) == (vcpus, counted, memory)
    assert (size.gpu_count, size.gpu_memory_gib, size.rdma) == (Fraction(gpus), gpu_memory, rdma)
    assert size.series.quota_family == family


@of_table("name", "each", "together")
def test_memory_of_one_gpu_and_of_the_machine_are_told_apart(name: str, each: int, together: int) -> None:
    assert sold(name).gpu_memory_each_gib == each
    assert sold(name).gpu_memory_gib == together


@pytest.mark.parametrize("name", ["Standard_NC8ads_A10_v4", "Standard_NV24r", "Standard_NV12hs_v3", "Standard_ND40s_v3"])
def test_unknown_gpu_memory_is_none_and_not_zero(name: str) -> None:
    assert sold(name).gpu_memory_gib is None
    assert sold(name).gpu_memory_each_gib is None


def test_an_fpga_is_no_gpu_though_the_sku_api_counts_it() -> None:
    for name in ("Standard_NP10s", "Standard_NP20s", "Standard_NP40s"):
        assert (sold(name).gpu, sold(name).gpu_count) == (None, 0)


def test_gpu_sizes_with_infiniband_today_are_these_nine() -> None:
    today = {
        size.name
        for size in SIZES
        if size.gpu and size.rdma and not size.series.restricted and size.lifecycle.status(TODAY) is not Status.RETIRED
    }
    assert today == {
        "Standard_ND40rs_v2",
        "Standard_ND96asr_v4",
        "Standard_ND96amsr_A100_v4",
        "Standard_ND96isr_H100_v5",
        "Standard_ND96isr_H200_v5",
        "Standard_ND96isr_MI300X_v5",
        "Standard_ND128isr_NDR_GB200_v6",
        "Standard_ND128isr_GB300_v6",
        "Standard_ND128isrG5_GB300_v6",
    }


# The last day counts as sold. Dates: retirement guides of Microsoft Learn
ENDS = [
    ("Standard_A8", "2021-03-01"),
    ("Standard_H16r", "2022-08-31"),
    ("Standard_NC6", "2023-09-06"),
    ("Standard_NC24rs_v2", "2023-09-06"),
    ("Standard_ND24rs", "2023-09-06"),
    ("Standard_NV6", "2023-09-06"),
    ("Standard_HB60rs", "2024-08-31"),
    ("Standard_NC6s_v3", "2025-09-30"),
    ("Standard_NC24rs_v3", "2025-09-30"),
    ("Standard_NV12s_v3", "2026-09-30"),
    ("Standard_NV32as_v4", "2026-09-30"),
    ("Standard_NP10s", "2027-05-31"),
    ("Standard_HB120rs_v2", "2027-05-31"),
    ("Standard_HC44rs", "2027-05-31"),
]


@each_row(("name", "last_day"), ENDS)
def test_a_size_is_retired_from_the_day_after_its_last(name: str, last_day: str) -> None:
    last = date.fromisoformat(last_day)
    assert sold(name).lifecycle.status(last) is Status.RETIRING
    assert sold(name).lifecycle.status(date.fromordinal(last.toordinal() + 1)) is Status.RETIRED


@pytest.mark.parametrize(
    ("name", "region", "day", "status"),
    [
        ("Standard_NC6s_v3", "usgovvirginia", "2026-12-31", Status.RETIRING),
        ("Standard_NC6s_v3", "US Gov Arizona", "2027-01-01", Status.RETIRED),
        ("Standard_NC24rs_v3", "jioindiawest", "2027-06-30", Status.RETIRING),
        ("Standard_NC24rs_v3", "China North 3", "2027-07-01", Status.RETIRED),
        ("Standard_NC6s_v3", "westeurope", "2025-10-01", Status.RETIRED),
        ("Standard_NV12s_v3", "UAE North", "2027-01-31", Status.RETIRING),
        ("Standard_NV12s_v3", "uaenorth", "2027-02-01", Status.RETIRED),
        ("Standard_NV4as_v4", "uaenorth", "2026-10-01", Status.RETIRED),
    ],
)
def test_some_regions_keep_a_size_longer(name: str, region: str, day: str, status: Status) -> None:
    assert sold(name).lifecycle.status(date.fromisoformat(day), region) is status


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
    assert [source.day.isoformat() for source in sold(name).lifecycle.also_given] == days


# The source documents' own dates: Azure ML Workbench 2017-09-14, Batch 2018-12-17, ML inference 2019-05-02
@of_table("name", "day")
def test_the_sizes_of_the_source_documents_were_sold_at_their_dates(name: str, day: str) -> None:
    assert sold(name).lifecycle.status(date.fromisoformat(day)) is Status.GENERAL


@each_row(
    ("name", "day", "status"),
    [
        ("Standard_NC6", "2017-09-13", Status.UNKNOWN),
        ("Standard_NC4as_T4_v3", "2019-01-01", Status.UNKNOWN),
        ("Standard_NC4as_T4_v3", "2020-08-10", Status.GENERAL),
        ("Standard_NC6", "2021-08-31", Status.GENERAL),
        ("Standard_NC6", "2021-09-01", Status.RETIRING),
        ("Standard_NC6s_v3", "2024-03-18", Status.GENERAL),
        ("Standard_NC6s_v3", "2024-03-19", Status.RETIRING),
        ("Standard_NC24ads_A100_v4", "2022-03-01", Status.PREVIEW),
        ("Standard_NC24ads_A100_v4", "2023-09-19", Status.GENERAL),
        ("Standard_NV4as_v4", "2020-02-03", Status.PREVIEW),
        ("Standard_NV4as_v4", "2020-03-04", Status.GENERAL),
        ("Standard_NC128ds_xl_RTXPRO6000BSE_v6", "2025-12-05", Status.PREVIEW),
        ("Standard_NC128ds_xl_RTXPRO6000BSE_v6", "2026-06-04", Status.RETIRED),
        ("Standard_NC144ds_xl_RTXPRO6000BSE_v6", "2026-11-20", Status.GENERAL),
        ("Standard_NV6s_v2", "2018-12-17", Status.PREVIEW),
        ("Standard_NV6s_v2", "2020-11-01", Status.GENERAL),
        ("Standard_NV6s_v2", "2026-11-20", Status.UNKNOWN),
        ("Standard_ND40s_v3", "2026-11-20", Status.UNKNOWN),
        ("Standard_ND40rs_v2", "2026-11-20", Status.GENERAL),
    ],
)
def test_a_day_is_answered_as_that_day(name: str, day: str, status: Status) -> None:
    assert sold(name).lifecycle.status(date.fromisoformat(day)) is status


@each_row(
    ("name", "drivers"),
    [
        ("Standard_NC6", (Driver.CUDA,)),
        ("Standard_NC4as_T4_v3", (Driver.CUDA, Driver.GRID)),
        ("Standard_NC40ads_H100_v5", (Driver.CUDA,)),
        ("Standard_NC144ds_xl_RTXPRO6000BSE_v6", (Driver.GRID,)),
        ("Standard_NV12", (Driver.GRID, Driver.CUDA)),
        ("Standard_NV12s_v3", (Driver.GRID, Driver.CUDA)),
        ("Standard_NV6ads_A10_v5", (Driver.GRID,)),
        ("Standard_NV4as_v4", (Driver.AMD_GRAPHICS,)),
        ("Standard_NV4ads_V710_v5", (Driver.AMD_GRAPHICS, Driver.ROCM)),
        ("Standard_NG8ads_V620_v1", (Driver.AMD_GRAPHICS,)),
        ("Standard_ND96isr_MI300X_v5", (Driver.ROCM,)),
        ("Standard_HB120rs_v3", ()),
        ("Standard_NP10s", ()),
    ],
)
def test_drivers_are_those_that_work_the_usual_one_first(name: str, drivers: tuple[Driver, ...]) -> None:
    assert sold(name).series.drivers == drivers


def test_an_amd_gpu_never_has_a_driver_of_nvidias_nor_the_other_way_round() -> None:
    for size in SIZES:
        if size.gpu:
            of_nvidia = {Driver.CUDA, Driver.GRID} & set(size.series.drivers)
            assert bool(of_nvidia) == (size.gpu.vendor is Vendor.NVIDIA)
            assert size.series.drivers


BOTH = (VmGeneration.GEN1, VmGeneration.GEN2)


# "Generation 1 VMs" and "Generation 2 VMs" on the pages of the series
@each_row(
    ("name", "generations"),
    [
        ("Standard_NC6", (VmGeneration.GEN1,)),
        ("Standard_NV6", (VmGeneration.GEN1,)),
        ("Standard_NP10s", (VmGeneration.GEN1,)),
        ("Standard_NC6s_v3", BOTH),
        ("Standard_NC4as_T4_v3", BOTH),
        ("Standard_NV6ads_A10_v5", BOTH),
        ("Standard_ND24rs", BOTH),
        ("Standard_HC44rs", BOTH),
        ("Standard_NC24ads_A100_v4", (VmGeneration.GEN2,)),
        ("Standard_NC40ads_H100_v5", (VmGeneration.GEN2,)),
        ("Standard_ND96isr_H100_v5", (VmGeneration.GEN2,)),
        ("Standard_ND40rs_v2", (VmGeneration.GEN2,)),
        ("Standard_NV4ads_V710_v5", (VmGeneration.GEN2,)),
        ("Standard_HB176rs_v4", (VmGeneration.GEN2,)),
        ("Standard_NC8ads_A10_v4", ()),  # no page was found
    ],
)
def test_generations_are_those_of_the_page(name: str, generations: tuple[VmGeneration, ...]) -> None:
    assert sold(name).series.generations == generations


# Names and instances: NVIDIA's guide and gpu-multi-instance.md of AKS, 2026-05-22
@of_table("name", "profiles")
def test_mig_profiles_have_nvidias_names_and_aks_keys(name: str, profiles: list[str]) -> None:
    gpu = sold(name).gpu
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
    gpu = sold(name).gpu
    assert gpu is not None
    assert (gpu.architecture, gpu.compute_capability) == (architecture, capability)


def test_processors_are_arm_in_the_grace_series_alone() -> None:
    assert {size.name for size in SIZES if size.series.architecture == "Arm64"} == {
        "Standard_ND128isr_NDR_GB200_v6",
        "Standard_ND128isr_GB300_v6",
        "Standard_ND128isrG5_GB300_v6",
    }


def test_windows_is_the_only_guest_of_the_graphics_series_of_amd_before_v710() -> None:
    assert {size.series.name for size in SIZES if size.series.windows_only} == {"NVv4", "NGads_V620"}


@pytest.mark.parametrize(
    ("name", "successors"),
    [
        ("Standard_NC6", ("Standard_NC4as_T4_v3", "Standard_NC8as_T4_v3")),
        ("Standard_NC24r", ("Standard_NC64as_T4_v3",)),
        ("Standard_NC24rs_v2", ("Standard_NC96ads_A100_v4",)),
        ("Standard_ND24rs", ("Standard_ND96amsr_A100_v4",)),
        ("Standard_HB60-30rs", ("Standard_HB120-32rs_v3", "Standard_HB120-16rs_v3")),
        ("Standard_NP40s", ("Standard_NC64as_T4_v3", "Standard_NC24ads_A100_v4")),
        ("Standard_NC320lds_xl_RTXPRO6000BSE_v6", ("Standard_NC288lds_xl_RTXPRO6000BSE_v6",)),
    ],
)
def test_successors_of_a_size_are_the_guides_in_its_order(name: str, successors: tuple[str, ...]) -> None:
    assert sold(name).successors == successors
