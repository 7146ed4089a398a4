"""Sizes and quota of managed online endpoints. Expectations are literals of the list of 2023-10-18, not what the catalog says."""

import csv
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.machine_learning.endpoints import MANAGED_SIZES, quota_family, quota_vcpus
from azure_gpu.catalog.services.machine_learning.sizes import size_problems
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Size, same_family
from tests.support.rows import each_row

TODAY = date(2026, 11, 20)
TABLE = Path(__file__).parents[3] / "data" / "gpu_sizes.csv"


def size(name: str) -> Size:
    found = SIZES.find(name)
    assert found is not None
    return found


def problems_of(name: str, day: date = TODAY, **changed: Any) -> list[Problem]:
    values: dict[str, Any] = {"region": "westeurope", "path": "size", "region_path": "region", **changed}
    return list(size_problems(size(name), SizeUse(service=Service.ML_ENDPOINT, size=name, **values), day))


def only(problems: list[Problem]) -> Problem:
    (problem,) = problems
    return problem


# The page's table: size, quota family, instances of quota for ten asked
LISTED = [
    ("NC4as_T4_v3", "standard NCASv3_T4 Family", 12), ("NC8as_T4_v3", "standard NCASv3_T4 Family", 12),
    ("NC16as_T4_v3", "standard NCASv3_T4 Family", 12), ("NC64as_T4_v3", "standard NCASv3_T4 Family", 12),
    ("NC24ads_A100_v4", "standardNCADSA100v4Family", 10), ("NC48ads_A100_v4", "standardNCADSA100v4Family", 10),
    ("NC96ads_A100_v4", "standardNCADSA100v4Family", 10), ("NC40ads_H100_v5", "standardNCADSH100v5Family", 10),
    ("NC80adis_H100_v5", "standardNCADSH100v5Family", 10), ("ND40rs_v2", "standardNDSv2Family", 10),
    ("ND96asr_v4", "standard NDASv4_A100 Family", 10), ("ND96amsr_A100_v4", "standard NDAMSv4_A100Family", 10),
    ("ND96is_H100_v5", "standardNDv5H100Family", 10), ("ND96isr_H100_v5", "standardNDv5H100Family", 10),
    ("NV6ads_A10_v5", "standardNVADSA10v5Family", 12), ("NV12ads_A10_v5", "standardNVADSA10v5Family", 12),
    ("NV18ads_A10_v5", "standardNVADSA10v5Family", 12), ("NV36ads_A10_v5", "standardNVADSA10v5Family", 12),
    ("NV36adms_A10_v5", "standardNVADSA10v5Family", 12), ("NV72ads_A10_v5", "standardNVADSA10v5Family", 12),
    ("NC6s_v2", "standardNCSv2Family", 12), ("NC12s_v2", "standardNCSv2Family", 12), ("NC24s_v2", "standardNCSv2Family", 12),
    ("NC6s_v3", "standardNCSv3Family", 12), ("NC12s_v3", "standardNCSv3Family", 12), ("NC24s_v3", "standardNCSv3Family", 12),
]  # fmt: skip


@each_row(("name", "family", "instances"), LISTED)
def test_a_listed_size_is_taken_and_needs_its_quota(name: str, family: str, instances: int) -> None:
    assert problems_of(name) == []
    assert quota_family(size(name)) == family
    vcpus = size(name).quota_vcpus
    assert vcpus is not None
    assert quota_vcpus(size(name), 10) == instances * vcpus


def test_the_list_has_nothing_else_with_a_gpu() -> None:
    assert {one.name for one in MANAGED_SIZES} == {f"Standard_{name}" for name, _, _ in LISTED}


def test_the_column_of_the_size_table_says_the_same() -> None:
    with TABLE.open(newline="") as file:
        rows = {row["size_name"] for row in csv.DictReader(file) if not row["aml_managed_online"].startswith("no")}
    assert rows == {f"Standard_{name}" for name, _, _ in LISTED}


@pytest.mark.parametrize(
    ("name", "instances", "vcpus"),
    [
        ("NC4as_T4_v3", 1, 8),  # 20 % of one instance is a whole one
        ("NC4as_T4_v3", 5, 24),
        ("NC4as_T4_v3", 6, 32),
        ("NC24ads_A100_v4", 1, 24),
        ("ND96isr_H100_v5", 3, 288),
        ("NV36ads_A10_v5", 2, 108),
        ("NV8ads_V710_v5", 10, 96),  # not listed, so not exempt
        ("NC4as_T4_v3", 0, 0),
        ("NC4as_T4_v3", -3, 0),
    ],
)
def test_a_fifth_more_instances_of_quota_rounded_up(name: str, instances: int, vcpus: int) -> None:
    assert quota_vcpus(size(name), instances) == vcpus


def test_azure_machine_learning_spells_some_families_in_its_own_way() -> None:
    h100 = size("ND96isr_H100_v5")
    assert quota_family(h100) == "standardNDv5H100Family"
    assert same_family(h100.series.quota_family, "standardNDSH100v5Family")  # compute's name for the same
    assert not same_family(quota_family(h100), h100.series.quota_family)
    h200 = size("ND96isr_H200_v5")
    assert quota_family(h200) == h200.series.quota_family  # not listed, so no other name is known


@pytest.mark.parametrize("name", ["ND96isr_H200_v5", "NC36ds_xl_RTXPRO6000BSE_v6", "ND128isr_NDR_GB200_v6"])
def test_a_size_newer_than_the_list_is_a_warning(name: str) -> None:
    problem = only(problems_of(name))
    assert (problem.code, problem.severity) == (Code.UNKNOWN, Severity.WARNING)
    assert "2023-10-18" in problem.message


def test_a_size_that_the_list_left_out_is_not_offered() -> None:
    # NC24rs_v3 was sold from 2018 on and isn't on the list of 2023-10-18
    problem = only(problems_of("NC24rs_v3", date(2024, 1, 1)))
    assert (problem.code, problem.severity) == (Code.NOT_OFFERED, Severity.ERROR)
    before = only(problems_of("NC24rs_v3", date(2023, 1, 1)))
    assert (before.code, before.severity) == (Code.UNKNOWN, Severity.WARNING)


def test_of_a_size_that_was_gone_before_the_list_it_says_nothing() -> None:
    problem = only(problems_of("NC6", date(2023, 1, 1)))
    assert (problem.code, problem.severity) == (Code.UNKNOWN, Severity.WARNING)


def test_before_the_list_a_listed_size_is_a_warning() -> None:
    problem = only(problems_of("NC4as_T4_v3", date(2023, 10, 17)))
    assert (problem.code, problem.severity) == (Code.UNKNOWN, Severity.WARNING)
    assert problems_of("NC4as_T4_v3", date(2023, 10, 18)) == []


def test_a_managed_deployment_has_at_least_one_instance() -> None:
    assert problems_of("NC4as_T4_v3", nodes=1) == []
    problem = only(problems_of("NC4as_T4_v3", nodes=0))
    assert (problem.code, problem.value) == (Code.IMPOSSIBLE, 0)


def test_managed_endpoints_have_no_spot() -> None:
    problem = only(problems_of("NC4as_T4_v3", spot=True))
    assert (problem.code, problem.severity) == (Code.IMPOSSIBLE, Severity.ERROR)


@given(st.sampled_from(list(SIZES)), st.integers(-10, 10_000))
def test_quota_is_between_what_is_asked_and_a_fifth_and_an_instance_more(one: Size, instances: int) -> None:
    needed = quota_vcpus(one, instances)
    if needed is None or not one.quota_vcpus:
        return
    asked = max(instances, 0)
    assert asked * one.quota_vcpus <= needed < (asked * 1.2 + 1) * one.quota_vcpus
    assert needed % one.quota_vcpus == 0
