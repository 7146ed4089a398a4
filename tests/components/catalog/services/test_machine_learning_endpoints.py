"""Sizes and quota of managed online endpoints. Expectations are literals of the list of 2023-10-18, not what the catalog says."""

import csv
from datetime import date
from pathlib import Path
from typing import Any

from hypothesis import given, strategies as st

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.machine_learning.compute import size_problems
from azure_gpu.catalog.services.machine_learning.endpoints import MANAGED_SIZES, quota_family, quota_vcpus
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Size
from tests.components.catalog.rule_tables import size_of
from tests.support.rows import each_row

TODAY = date(2026, 11, 20)
TABLE = Path(__file__).parents[3] / "data" / "gpu_sizes.csv"


def problems_of(name: str, day: date = TODAY, **changed: Any) -> list[Problem]:
    values: dict[str, Any] = {"region": "westeurope", "path": "size", "region_path": "region", **changed}
    return list(size_problems(size_of(name), SizeUse(service=Service.ML_ENDPOINT, size=name, **values), day))


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
    assert quota_family(size_of(name)) == family
    vcpus = size_of(name).quota_vcpus
    assert vcpus is not None
    assert quota_vcpus(size_of(name), 10) == instances * vcpus


def test_the_list_has_nothing_else_with_a_gpu() -> None:
    assert {one.name for one in MANAGED_SIZES} == {f"Standard_{name}" for name, _, _ in LISTED}


def test_the_column_of_the_size_table_says_the_same() -> None:
    with TABLE.open(newline="") as file:
        rows = {row["size_name"] for row in csv.DictReader(file) if not row["aml_managed_online"].startswith("no")}
    assert rows == {f"Standard_{name}" for name, _, _ in LISTED}


@given(st.sampled_from(list(SIZES)), st.integers(-10, 10_000))
def test_quota_is_between_what_is_asked_and_a_fifth_and_an_instance_more(one: Size, instances: int) -> None:
    needed = quota_vcpus(one, instances)
    if needed is None or not one.quota_vcpus:
        return
    asked = max(instances, 0)
    assert asked * one.quota_vcpus <= needed < (asked * 1.2 + 1) * one.quota_vcpus
    assert needed % one.quota_vcpus == 0
