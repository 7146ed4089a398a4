"""Whether a service takes a size: the rules that hold everywhere, the successors, and the source documents at their own dates."""

from datetime import date
from typing import get_args

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog import offers
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.catalog.size_use import TAKES_SIZES, OperatingSystem, Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Driver

TODAY = date(2026, 11, 21)
USE = SizeUse(
    service=Service.VIRTUAL_MACHINES, size="Standard_NC4as_T4_v3", region="westeurope", path="pool.size", region_path="location"
)


def said(use: SizeUse, as_of: date = TODAY) -> list[Problem]:
    return offers.check(use, as_of, prices=packaged())


def codes(use: SizeUse, as_of: date = TODAY) -> set[Code]:
    return {problem.code for problem in errors(said(use, as_of))}


@pytest.mark.parametrize("spelling", ["Standard_NC4as_T4_v3", "nc4as_t4_v3", "NC4AS_T4_V3", "standard_nc4as_t4_v3"])
def test_a_size_that_is_sold_is_taken_in_any_spelling(spelling: str) -> None:
    assert said(USE._replace(size=spelling)) == []


def test_a_misspelt_size_is_refused_and_one_that_may_be_newer_is_a_warning_with_the_nearest_names() -> None:
    [slip] = said(USE._replace(size="Standard_NC4as_T4v3"))
    assert (slip.severity, slip.instead) == (Severity.ERROR, ("Standard_NC4as_T4_v3",))
    [newer] = said(USE._replace(size="Standard_NC4as_T4_v9"))
    assert (newer.code, newer.severity) == (Code.UNKNOWN, Severity.WARNING)
    assert "Standard_NC4as_T4_v3" in newer.instead


def test_a_retired_size_is_refused_with_the_date_and_a_successor_that_is_sold() -> None:
    [problem] = errors(said(USE._replace(size="Standard_NC6")))
    assert problem.code is Code.RETIRED
    assert "retired on 2023-09-06" in problem.message
    assert problem.instead[0] == "Standard_NC4as_T4_v3"
    assert "0.658 USD/hour" in problem.fix  # the list price in West Europe of 2026-06-18


@pytest.mark.parametrize(
    ("region", "refused"),
    [("westeurope", True), ("jioindiawest", False), ("usgovvirginia", False), ("chinanorth3", False)],
)
def test_ncv3_is_retired_except_where_microsoft_gave_longer(region: str, refused: bool) -> None:
    assert (Code.RETIRED in codes(USE._replace(size="Standard_NC6s_v3", region=region))) == refused


def test_amd_is_refused_for_cuda_and_taken_for_rocm() -> None:
    use = USE._replace(size="Standard_ND96isr_MI300X_v5", region="")
    [problem] = errors(said(use._replace(needs=Driver.CUDA)))
    assert problem.code is Code.WRONG_DRIVER
    assert "AMD Instinct MI300X" in problem.message
    assert problem.instead
    assert codes(use._replace(needs=Driver.ROCM)) == set()


def test_cuda_runs_on_the_grid_driver_of_an_a10_but_grid_not_on_an_h100() -> None:
    assert codes(USE._replace(size="Standard_NV36ads_A10_v5", needs=Driver.CUDA)) == set()
    assert codes(USE._replace(size="Standard_NC40ads_H100_v5", needs=Driver.GRID)) == {Code.WRONG_DRIVER}


def test_a_size_without_a_gpu_is_refused_for_cuda() -> None:
    assert codes(USE._replace(size="Standard_HB176rs_v4", region="", needs=Driver.CUDA)) == {Code.WRONG_DRIVER}


def test_work_for_infiniband_is_refused_on_a_size_without_it() -> None:
    use = USE._replace(size="Standard_NC96ads_A100_v4", rdma=True)
    assert codes(use) == {Code.IMPOSSIBLE}
    assert codes(use._replace(size="Standard_ND96asr_v4")) == set()


def test_what_replaces_nc24rs_v3_for_rdma_has_infiniband_and_cuda() -> None:
    [problem] = errors(said(USE._replace(size="Standard_NC24rs_v3", rdma=True, needs=Driver.CUDA)))
    assert problem.code is Code.RETIRED
    assert problem.instead
    for name in problem.instead:
        size = SIZES.find(name)
        assert size is not None
        assert size.rdma
        assert Driver.CUDA in size.series.drivers


def test_windows_only_sizes_are_refused_for_linux() -> None:
    use = USE._replace(size="Standard_NV4as_v4", region="")
    day = date(2026, 6, 1)  # before 2026-09-30
    assert codes(use, day) == {Code.IMPOSSIBLE}
    assert codes(use._replace(operating_system="Windows"), day) == set()


def test_a_region_without_a_price_is_a_warning_where_other_regions_have_one() -> None:
    use = USE._replace(size="Standard_ND96isr_H200_v5")  # priced in East US 2 and Sweden Central, not in West Europe
    [problem] = said(use, date(2026, 8, 17))
    assert (problem.code, problem.severity) == (Code.NOT_IN_REGION, Severity.WARNING)
    assert "swedencentral" in problem.allowed
    [problem] = said(use, date(2026, 8, 18))  # past the shelf life of prices
    assert (problem.code, problem.severity, problem.instead) == (Code.NOT_LISTED, Severity.WARNING, ())
    assert said(use._replace(region="swedencentral")) == []


def test_prices_say_nothing_of_regions_before_their_day() -> None:
    use = USE._replace(size="Standard_ND96isr_H200_v5")
    assert Code.NOT_IN_REGION not in {problem.code for problem in said(use, date(2026, 6, 17))}


def test_restricted_sizes_are_a_warning() -> None:
    [problem] = said(USE._replace(size="Standard_ND96isf_H200_v5", region=""))
    assert (problem.code, problem.severity) == (Code.UNKNOWN, Severity.WARNING)


@pytest.mark.parametrize(
    ("service", "size", "region", "day", "system"),
    [
        (Service.VIRTUAL_MACHINES, "NC6", "southcentralus", date(2017, 9, 14), "Linux"),  # a Data Science VM
        (Service.BATCH, "NC6 Standard", "southcentralus", date(2018, 12, 17), "Windows"),
        (Service.BATCH, "NC6 Standard", "southcentralus", date(2018, 12, 17), "Linux"),
        # No price list has a size with InfiniBand and without a GPU in westus.
        (Service.BATCH, "H16r Standard", "westus", date(2018, 12, 17), "Windows"),
        (Service.BATCH, "H16r Standard", "westus", date(2018, 12, 17), "Linux"),
        (Service.AKS, "Standard_NC6", "eastus", date(2019, 5, 2), "Linux"),
    ],
)
def test_the_documents_own_sizes_are_taken_at_their_dates_and_refused_today_with_what_is_known_to_be_sold_there(
    service: Service, size: str, region: str, day: date, system: OperatingSystem
) -> None:
    use = USE._replace(service=service, size=size, region=region, operating_system=system)
    assert errors(said(use, day)) == []
    retired = [problem for problem in said(use) if problem.code is Code.RETIRED]
    assert retired
    for problem in retired:
        assert problem.instead or (region == "westus" and "`az vm list-skus --location westus " in problem.fix)
        for name in problem.instead:
            assert errors(said(use._replace(size=name))) == []


def test_a_t4_on_a_stack_edge_is_taken_in_2021_and_today() -> None:
    use = USE._replace(service=Service.STACK_EDGE, size="Standard_NC4as_T4_v3", region="")
    assert errors(said(use, date(2021, 3, 5))) == []
    assert errors(said(use)) == []


ALL_USES = st.builds(
    SizeUse,
    service=st.sampled_from(list(Service)),
    size=st.sampled_from([size.name for size in SIZES]),
    region=st.sampled_from(["", "westeurope", "East US 2", "usgovvirginia", "jioindiawest", "nowhere"]),
    nodes=st.integers(min_value=-1, max_value=1000),
    spot=st.booleans(),
    operating_system=st.sampled_from(list(get_args(OperatingSystem))),
    needs=st.sampled_from([None, *Driver]),
    rdma=st.booleans(),
    path=st.just("pool.size"),
    region_path=st.just("location"),
)
DAYS = st.dates(min_value=date(2014, 1, 1), max_value=date(2032, 12, 31))


@given(use=ALL_USES, day=DAYS)
def test_no_size_service_and_day_raises_and_every_problem_is_whole(use: SizeUse, day: date) -> None:
    for problem in said(use, day):
        assert problem.path in ("pool.size", "location")
        assert problem.message
        assert problem.code is not Code.INVALID
        assert use.size.lower() not in [name.lower() for name in problem.instead]


@given(use=ALL_USES, day=DAYS)
def test_amd_is_never_proposed_for_cuda(use: SizeUse, day: date) -> None:
    for problem in said(use._replace(needs=Driver.CUDA), day):
        for name in problem.instead:
            size = SIZES.find(name)
            assert size is None or size.gpu is None or size.gpu.vendor == "NVIDIA"


@given(use=ALL_USES, day=DAYS)
def test_what_is_proposed_works(use: SizeUse, day: date) -> None:
    for problem in said(use, day):
        if problem.code is Code.RETIRED and use.service in TAKES_SIZES:
            for name in problem.instead:
                if SIZES.find(name):
                    assert errors(said(use._replace(size=name), day)) == []


def test_a_proposal_stands_behind_the_rules_own_fix() -> None:
    [retiring] = said(USE._replace(size="Standard_NP10s"))
    assert retiring.code is Code.RETIRING
    assert "or use a subscription that already has this series; else choose Standard_NC8as_T4_v3 (" in retiring.fix


def test_of_a_retired_size_only_the_retirement_is_said() -> None:
    [retired] = errors(said(USE._replace(service=Service.ML_ENDPOINT, size="Standard_NC24rs_v3")))
    assert retired.code is Code.RETIRED


def test_a_rules_own_proposal_stays() -> None:
    use = USE._replace(service=Service.STACK_EDGE, size="Standard_NC24ads_A100_v4")
    problems = errors(said(use, date(2024, 10, 1)))
    assert [problem.instead for problem in problems] == [("Standard_NC4as_T4_v3",)]
    assert all("choose" not in problem.fix for problem in problems)


def test_of_a_retired_size_it_is_not_said_where_it_was_sold() -> None:
    assert {problem.code for problem in said(USE._replace(size="Standard_NC6", region="norwayeast"))} == {Code.RETIRED}
