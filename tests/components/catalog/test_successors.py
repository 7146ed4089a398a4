"""What is proposed instead of a size: what Azure's guides name first, then the cheapest that has as much."""

import csv
from datetime import date
from pathlib import Path

import pytest

from azure_gpu.catalog import offers, regions, successors
from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.problems import Code
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.lookup import Sizes
from azure_gpu.catalog.sizes.model import Driver, Size
from azure_gpu.catalog.successors import Successor
from tests.components.catalog.rule_tables import size_of
from tests.support.rows import each_row

TODAY = date(2026, 11, 21)
# Of the sizes of that day: one that Azure sells later may be a better proposal.
with (Path(__file__).parents[2] / "data" / "gpu_sizes.csv").open(encoding="utf-8", newline="") as lines:
    NAMES = {row["size_name"] for row in csv.DictReader(lines)}
OF_THE_DAY = Sizes([size for size in SIZES if size.name in NAMES])


def proposed(name: str, as_of: date = TODAY, region: str = "westeurope") -> list[Successor]:
    size = size_of(name)
    use = SizeUse(
        service=Service.VIRTUAL_MACHINES,
        size=size.name,
        region=region,
        operating_system=offers.only_system(size),
        path="size",
        region_path="region",
    )
    return list(successors.find(size, use, as_of, OF_THE_DAY, packaged(), offers.reasons))


def names(found: list[Successor]) -> list[str]:
    return [one.size.name.removeprefix("Standard_") for one in found]


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("NC6", ["NC4as_T4_v3", "NC8as_T4_v3", "NC16as_T4_v3"]),  # named by the guide, then by price
        ("NC6s_v2", ["NC24ads_A100_v4", "NC4as_T4_v3", "NC8as_T4_v3"]),  # of the series that the guide names, the nearest alone
        ("ND24rs", ["ND96amsr_A100_v4", "ND40rs_v2", "ND96asr_v4"]),  # eight GPUs do for four; InfiniBand stays
        ("HB60rs", ["HB120rs_v3", "HB176rs_v4", "HX176rs"]),  # not HBv2, whose own end is announced; no cores switched off
    ],
)
def test_what_the_guide_names_comes_first_and_then_the_cheapest_that_has_as_much(size: str, expected: list[str]) -> None:
    found = proposed(size)
    assert names(found) == expected
    assert [one.lacks for one in found] == ["", "", ""]


def test_what_loses_infiniband_is_said_so_and_comes_last() -> None:
    found = proposed("NC24rs_v3")
    assert names(found) == ["ND40rs_v2", "ND96asr_v4", "NC80adis_H100_v5"]
    assert found[2].lacks == "without InfiniBand"
    assert found[2].text(TODAY).startswith("Standard_NC80adis_H100_v5 (without InfiniBand, ")


def test_what_has_less_memory_on_its_gpus_is_said_so_and_only_where_a_guide_names_it() -> None:
    found = proposed("ND6s")  # one P40 with 24 GB; the guide names NCasT4_v3, whose T4 have 16
    assert names(found) == ["NV36ads_A10_v5", "NC24ads_A100_v4", "NC4as_T4_v3"]
    assert [one.lacks for one in found] == ["", "", "with less GPU memory"]


def test_a_guide_that_has_aged_is_followed_on() -> None:
    """The guide of NVv2 names NVv3, which retired on 2026-09-30; the guide of NVv3 names NVadsA10_v5 and two more."""
    assert names(proposed("NV6s_v2")) == ["NV36ads_A10_v5", "NC144ds_xl_RTXPRO6000BSE_v6", "NC4as_T4_v3"]


@pytest.mark.parametrize("size", ["NV4as_v4", "NG8ads_V620_v1", "NC6"])
def test_a_size_of_which_the_gpus_are_not_known_is_never_proposed(size: str) -> None:
    for service in (Service.AKS, Service.ML_COMPUTE, Service.BATCH):
        use = SizeUse(service=service, size=f"Standard_{size}", region="westeurope", path="size", region_path="region")
        instead = [name for problem in offers.check(use, TODAY, prices=packaged()) for name in problem.instead]
        assert "Standard_ND40s_v3" not in instead  # AKS's list of sizes names it; nothing else does


def test_a_size_that_no_price_list_has_in_the_region_is_not_proposed_there() -> None:
    assert "ND40rs_v2" in names(proposed("NC24rs_v3", region="westeurope"))
    assert "ND40rs_v2" not in names(proposed("NC24rs_v3", region="northeurope"))


def test_what_the_service_is_known_to_take_comes_before_what_it_may_not_take() -> None:
    """Managed endpoints list neither HBv5 nor GPUs newer than 2023; of a retired V100 the listed sizes come first."""
    problems = offers.check(
        SizeUse(service=Service.ML_ENDPOINT, size="Standard_NC6s_v3", region="eastus", path="size", region_path="region"),
        TODAY,
        prices=packaged(),
        sizes=OF_THE_DAY,
    )
    [retired] = [problem for problem in problems if problem.code is Code.RETIRED]
    listed = {"Standard_NC40ads_H100_v5", "Standard_NC24ads_A100_v4", "Standard_NC4as_T4_v3", "Standard_NV36ads_A10_v5"}
    assert retired.instead
    assert set(retired.instead) <= listed


def _gone(as_of: date) -> list[Size]:
    return [size for size in SIZES if size.lifecycle.status(as_of) in (Status.RETIRED, Status.RETIRING)]


# A region that opened after the tables; one that no component knows yet; and all that the tables have.
@each_row("region", ["norwaysouth", "", *sorted(regions.known())])
def test_every_successor_is_known_to_be_sold_there_and_runs_the_same_code(region: str) -> None:
    prices = packaged()
    for size in _gone(TODAY):
        for successor in proposed(size.name, region=region):
            found = successor.size
            sold = prices.regions_of(found.name)
            assert region in sold if region else sold, (size.name, found.name)
            assert found.series.architecture == size.series.architecture, (size.name, found.name)
            if size.gpu is not None:
                assert found.gpu is not None
                assert found.gpu.vendor == size.gpu.vendor, (size.name, found.name)


@pytest.mark.parametrize("service", [Service.BATCH, Service.AKS, Service.ML_COMPUTE, Service.ML_ENDPOINT])
@pytest.mark.parametrize("region", ["eastus", "northeurope", "chilecentral"])
def test_every_service_names_what_is_sold_there_and_runs_the_same_code(service: Service, region: str) -> None:
    for size in _gone(TODAY):
        use = offers.use_of(size, service, region)
        for name in {name for problem in offers.check(use, TODAY, prices=packaged()) for name in problem.instead}:
            found = size_of(name)
            assert region in packaged().regions_of(name), (size.name, name)
            assert found.series.architecture == size.series.architecture, (size.name, name)
            if size.gpu is not None:
                assert found.gpu is not None
                assert found.gpu.vendor == size.gpu.vendor, (size.name, name)


def test_on_arm64_nothing_else_than_arm64_is_proposed() -> None:
    for name in ("Standard_ND128isr_NDR_GB200_v6", "Standard_ND128isr_GB300_v6"):
        use = offers.use_of(size_of(name), Service.VIRTUAL_MACHINES, "eastus")
        found = successors.find(size_of(name), use, TODAY, SIZES, packaged(), offers.reasons)
        assert all(one.size.series.architecture == "Arm64" for one in found)


def test_software_that_calls_another_vendors_driver_is_led_to_its_gpus() -> None:
    use = offers.use_of(size_of("NC6"), Service.VIRTUAL_MACHINES, "swedencentral")._replace(needs=Driver.ROCM)
    found = successors.find(size_of("NC6"), use, TODAY, SIZES, packaged(), offers.reasons)
    assert {one.size.gpu.vendor for one in found if one.size.gpu} <= {"AMD"}
