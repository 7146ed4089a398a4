"""Sizes by what they have, cheapest first, with the reason for each that was left out."""

from datetime import date
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog import search
from azure_gpu.catalog.prices import PriceBook, packaged, price_table
from azure_gpu.catalog.search import SearchResult, SizeQuery
from azure_gpu.catalog.size_use import TAKES_SIZES, Service
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Driver
from tests.components.catalog.rule_tables import size_of

TODAY = date(2026, 11, 21)


SPOT = """size,region,usd_hour,usd_hour_spot,as_of,source
Standard_NC16as_T4_v3,eastus,1.2,0.5,2026-06-18,api
Standard_NC64as_T4_v3,eastus,4.3,0.4,2026-06-18,api
"""


def ask(wish: SizeQuery, as_of: date = TODAY) -> SearchResult:
    return search.search(wish, as_of, prices=packaged())


def names(answer: SearchResult) -> list[str]:
    return [one.size.name for one in answer.matches]


def reasons(answer: SearchResult, name: str) -> str:
    [left] = [one for one in answer.left_out if one.size.name == name]
    return "; ".join(left.reasons)


def test_two_a100_with_80_gb_in_west_europe_for_aks() -> None:
    answer = ask(SizeQuery(service=Service.AKS, region="westeurope", gpu="A100", gpus=Fraction(2), gpu_memory_gib=80))
    assert names(answer) == ["Standard_NC48ads_A100_v4"]
    assert reasons(answer, "Standard_NC24ads_A100_v4") == "it has 1 GPU, not 2"
    assert "each of its GPUs has 40 GiB, not 80" in reasons(answer, "Standard_ND96asr_v4")
    assert "its GPU is NVIDIA T4, not A100" in reasons(answer, "Standard_NC4as_T4_v3")


def test_at_least_two_come_cheapest_first() -> None:
    wish = SizeQuery(service=Service.AKS, region="westeurope", gpu="A100", gpus=Fraction(2), at_least=True, gpu_memory_gib=80)
    assert names(ask(wish)) == ["Standard_NC48ads_A100_v4", "Standard_NC96ads_A100_v4", "Standard_ND96amsr_A100_v4"]


def test_what_replaces_nc24rs_v3_for_rdma() -> None:
    answer = ask(search.like(size_of("nc24rs_v3"), SizeQuery(rdma=True)))
    assert set(names(answer)) == {
        "Standard_ND40rs_v2",
        "Standard_ND96asr_v4",
        "Standard_ND96amsr_A100_v4",
        "Standard_ND96isr_H100_v5",
        "Standard_ND96isr_H200_v5",
        "Standard_ND128isr_NDR_GB200_v6",
        "Standard_ND128isr_GB300_v6",
        "Standard_ND128isrG5_GB300_v6",
    }
    assert "InfiniBand" in reasons(answer, "Standard_NC96ads_A100_v4")
    assert "AMD Instinct MI300X" in reasons(answer, "Standard_ND96isr_MI300X_v5")
    assert "retired on 2025-09-30" in reasons(answer, "Standard_NC24rs_v3")


def test_a10_is_not_a100() -> None:
    assert {one.size.series.name for one in ask(SizeQuery(gpu="A10")).matches} == {"NVadsA10_v5", "NCads_A10_v4"}


@pytest.mark.parametrize("words", ["H100", "h100"])
def test_a_model_is_found_by_its_word(words: str) -> None:
    found = names(ask(SizeQuery(gpu=words)))
    assert "Standard_NC40ads_H100_v5" in found
    assert "Standard_ND96isr_H100_v5" in found


def test_fractions_are_exact() -> None:
    answer = ask(SizeQuery(gpu="A10", gpus=Fraction(1, 6)))
    assert names(answer) == ["Standard_NV6ads_A10_v5"]


def test_in_2019_a_k80_is_sold_and_an_h100_is_not_known() -> None:
    answer = ask(SizeQuery(gpu="K80"), date(2019, 6, 1))
    assert "Standard_NC6" in names(answer)
    assert names(ask(SizeQuery(gpu="K80"))) == []
    [h100] = [one for one in ask(SizeQuery(gpu="H100", gpus=Fraction(2)), date(2019, 6, 1)).matches]
    assert any("first seen" in remark for remark in h100.remarks)


def test_an_unknown_price_comes_last_and_is_not_zero() -> None:
    answer = ask(SizeQuery(gpu="GB300"))
    assert [one.price for one in answer.matches] == [None, None]


def test_a_limit_leaves_out_what_is_dearer_and_what_has_no_price() -> None:
    wish = SizeQuery(region="eastus", gpu="T4", most_usd_hour=Decimal("0.6"))
    assert names(ask(wish)) == ["Standard_NC4as_T4_v3"]  # 0.526 USD an hour in East US
    assert "more than 0.6" in reasons(ask(wish), "Standard_NC64as_T4_v3")
    unpriced = search.search(wish, TODAY, prices=PriceBook(()))
    assert unpriced.matches == ()


WISHES = st.builds(
    SizeQuery,
    service=st.sampled_from(list(TAKES_SIZES)),
    region=st.sampled_from(["", "westeurope", "eastus"]),
    gpu=st.sampled_from(["", "A100", "T4", "MI300X"]),
    gpus=st.sampled_from([None, Fraction(1, 6), Fraction(1), Fraction(8)]),
    at_least=st.booleans(),
    gpu_memory_gib=st.sampled_from([None, 16, 80]),
    needs=st.sampled_from([None, *Driver]),
    rdma=st.booleans(),
    mig=st.booleans(),
    spot=st.booleans(),
    vcpus=st.sampled_from([None, 8, 96]),
    most_usd_hour=st.sampled_from([None, Decimal("0.6"), Decimal(30)]),
)
DAYS = st.dates(min_value=date(2015, 1, 1), max_value=date(2032, 12, 31))


@given(wish=WISHES, day=DAYS)
def test_every_size_is_either_found_or_left_out_with_a_reason(wish: SizeQuery, day: date) -> None:
    answer = ask(wish, day)
    assert sorted([*names(answer), *(one.size.name for one in answer.left_out)]) == sorted(one.name for one in SIZES)
    assert all(one.reasons for one in answer.left_out)
    known = [one.price.usd_hour for one in answer.matches if one.price]
    assert known == sorted(known)


@given(wish=WISHES, day=DAYS)
def test_amd_is_never_found_for_cuda(wish: SizeQuery, day: date) -> None:
    for one in ask(wish._replace(needs=Driver.CUDA), day).matches:
        assert one.size.gpu is not None
        assert one.size.gpu.vendor == "NVIDIA"


def test_an_arm_processor_is_remarked() -> None:
    [gb200] = ask(SizeQuery(gpu="GB200")).matches
    assert "its processor is Arm64" in gb200.remarks
    assert all("Arm64" not in remark for one in ask(SizeQuery(gpu="H100")).matches for remark in one.remarks)


def test_what_replaces_a_machine_for_mpi_is_one_with_infiniband_and_without_gpus() -> None:
    answer = ask(search.like(size_of("Standard_HC44rs"), SizeQuery()))
    assert "Standard_HB120rs_v3" in names(answer)
    assert "Standard_ND96asr_v4" not in names(answer)
    assert "Standard_NC4as_T4_v3" not in names(answer)
    assert all(one.size.rdma and one.size.gpu_count == 0 and (one.size.vcpus or 0) >= 44 for one in answer.matches)


def test_a_gpu_that_is_asked_for_in_place_of_a_machine_for_mpi_is_found() -> None:
    assert "Standard_NC4as_T4_v3" in names(ask(search.like(size_of("Standard_HC44rs"), SizeQuery(gpu="T4"))))


def test_what_replaces_a_size_has_at_least_the_memory_on_each_gpu() -> None:
    answer = ask(search.like(size_of("Standard_NC24ads_A100_v4"), SizeQuery()))
    assert "Standard_NC40ads_H100_v5" in names(answer)
    assert reasons(answer, "Standard_NC4as_T4_v3") == "each of its GPUs has 16 GiB, not 80"


def test_at_least_so_many_vcpus_takes_exactly_so_many() -> None:
    assert names(ask(SizeQuery(gpu="T4", vcpus=64))) == ["Standard_NC64as_T4_v3"]
    assert "it has 16 vCPU, not 64" in reasons(ask(SizeQuery(gpu="T4", vcpus=64)), "Standard_NC16as_T4_v3")


def test_a_size_without_a_price_in_a_region_where_others_have_one_is_left_out_there() -> None:
    answer = ask(SizeQuery(region="northeurope", gpu="V100"))
    assert "a price of Standard_ND40rs_v2 in northeurope isn't on the list of 2026-06-18" in reasons(answer, "Standard_ND40rs_v2")


def test_spot_is_ordered_by_spot_prices() -> None:
    prices = PriceBook(price_table.read(SPOT))
    both = SizeQuery(region="eastus", gpu="T4", vcpus=16)
    ordinary, spot = (search.search(wish, TODAY, prices=prices).matches for wish in (both, both._replace(spot=True)))
    assert [(one.size.name, str(one.price.usd_hour)) for one in ordinary if one.price] == [
        ("Standard_NC16as_T4_v3", "1.2"),
        ("Standard_NC64as_T4_v3", "4.3"),
    ]
    assert [(one.size.name, str(one.price.usd_hour)) for one in spot if one.price] == [
        ("Standard_NC64as_T4_v3", "0.4"),
        ("Standard_NC16as_T4_v3", "0.5"),
    ]
