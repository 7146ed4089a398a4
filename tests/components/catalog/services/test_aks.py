"""What AKS takes as GPU pools. Expectations are literals of Microsoft's pages and lists, not what the catalog says."""

import csv
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog import facts
from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.catalog.services.aks import pool_rules, pools, size_rules as aks, sizes as aks_sizes
from azure_gpu.catalog.services.aks.pool import PoolRequest, Spot
from azure_gpu.catalog.size_use import OperatingSystem, Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Size

TODAY = date(2026, 11, 20)
EVERY_FEATURE = frozenset({"AKSInfinibandSupport", "WindowsGPUPreview", "ManagedGPUExperiencePreview"})
FACTS = Path(__file__).parents[3] / "data" / "gpu_sizes.csv"
WINDOWS = OperatingSystem.WINDOWS


def size(name: str) -> Size:
    found = SIZES.find(name)
    assert found is not None, name
    return found


def pool(size_name: str = "Standard_NC4as_T4_v3", /, **changed: Any) -> PoolRequest:
    values: dict[str, Any] = {"name": "gpu", "features": EVERY_FEATURE, **changed}
    return PoolRequest(path="gpu_pools.gpu", size=size(size_name) if size_name else None, **values)


def use(name: str, **changed: Any) -> SizeUse:
    return SizeUse(service=Service.AKS, size=name, region="westeurope", path="pool.size", region_path="location", **changed)


def of_size(name: str, as_of: date = TODAY, **changed: Any) -> list[Problem]:
    return list(aks.size_problems(size(name), use(name, **changed), as_of))


def only(problems: list[Problem]) -> Problem:
    (problem,) = problems
    return problem


@pytest.mark.parametrize(
    ("name", "image", "version"),
    [
        ("Standard_NC4as_T4_v3", "aks-gpu-cuda-lts", "580.159.04"),
        ("Standard_NC6s_v3", "aks-gpu-cuda-lts", "580.159.04"),
        ("Standard_NC24ads_A100_v4", "aks-gpu-cuda-lts", "580.159.04"),
        ("Standard_ND96isr_H100_v5", "aks-gpu-cuda-lts", "580.159.04"),
        ("Standard_ND96isr_H200_v5", "aks-gpu-cuda-lts", "580.159.04"),
        ("Standard_NV36ads_A10_v5", "aks-gpu-grid", "570.211.01"),
        ("Standard_NC8ads_A10_v4", "aks-gpu-grid", "570.211.01"),
        ("Standard_NC144ds_xl_RTXPRO6000BSE_v6", "aks-gpu-grid-v20", "595.58.03"),
        ("Standard_NC6", "cuda", "470.82.01"),
    ],
)
def test_each_size_gets_its_driver(name: str, image: str, version: str) -> None:
    row = aks_sizes.listing(size(name))
    assert row is not None
    assert row.driver is not None
    assert (row.driver.name, row.driver.version) == (image, version)


def test_the_drivers_are_those_of_the_table_of_facts() -> None:
    images = {"cuda-lts": "aks-gpu-cuda-lts", "grid": "aks-gpu-grid", "grid-v20": "aks-gpu-grid-v20"}
    with FACTS.open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["aks_driver"] in images]
    assert {row["aks_driver"] for row in rows} == images.keys()
    for row in rows:
        listed = aks_sizes.listing(size(row["size_name"]))
        assert listed is not None, row["size_name"]
        assert listed.driver is not None, row["size_name"]
        assert listed.driver.name == images[row["aks_driver"]], row["size_name"]


def test_every_size_of_the_table_with_amd_gpus_is_refused_or_needs_no_driver() -> None:
    with FACTS.open(newline="") as lines:
        names = [row["size_name"] for row in csv.DictReader(lines) if row["gpu_model"].startswith("AMD")]
    assert names
    for name in names:
        assert {problem.code for problem in of_size(name)} & {Code.NOT_OFFERED, Code.WRONG_DRIVER}, name
        assert errors(pools.check(pool(name), TODAY)), name


def test_long_term_support_keeps_a_cluster() -> None:
    assert only(pools.check(pool(kubernetes_version="1.33"), TODAY)).code is Code.RETIRED
    assert pools.check(pool(kubernetes_version="1.33", long_term_support=True), TODAY) == []


def test_the_set_up_of_2019_is_taken_at_its_date() -> None:
    day = date(2019, 5, 2)
    assert of_size("Standard_NC6", day) == []
    assert pools.check(pool("Standard_NC6"), day) == []
    assert pools.check(pool("Standard_NC6", kubernetes_version="1.12.8"), day)[0].severity is Severity.WARNING


def test_a_size_seen_later_is_a_warning_before() -> None:
    problem = only(of_size("Standard_NC4as_T4_v3", date(2020, 1, 1)))
    assert (problem.code, problem.severity) == (Code.UNKNOWN, Severity.WARNING)
    assert "first seen" in problem.message
    assert of_size("Standard_NC4as_T4_v3") == []


def test_nvv4_is_not_supported_and_v620_is_on_no_page() -> None:
    for name in ("Standard_NV4as_v4", "Standard_NG8ads_V620_v1"):
        problem = only(of_size(name))
        assert (problem.code, problem.severity) == (Code.NOT_OFFERED, Severity.ERROR)
        assert "Standard_ND96isr_MI300X_v5" in problem.allowed


def test_mi300x_needs_ubuntu_and_no_driver() -> None:
    name = "Standard_ND96isr_MI300X_v5"
    assert pools.check(pool(name, driver="None"), TODAY) == []
    assert pools.check(pool(name, driver="None", os_sku="Ubuntu"), TODAY) == []
    driver = only(pools.check(pool(name), TODAY))
    assert (driver.code, driver.path, driver.allowed) == (Code.WRONG_DRIVER, "gpu_pools.gpu.driver", "None")
    system = only(pools.check(pool(name, driver="None", os_sku="AzureLinux"), TODAY))
    assert (system.code, system.path, system.allowed) == (Code.NOT_OFFERED, "gpu_pools.gpu.size", "Ubuntu")
    warning = only(of_size(name))
    assert (warning.code, warning.severity) == (Code.WRONG_DRIVER, Severity.WARNING)


@pytest.mark.parametrize("name", ["Standard_NV12ads_V710_v5", "Standard_ND96is_MI300X_v5"])
def test_amd_sizes_that_no_page_names_are_in_doubt(name: str) -> None:
    problem = only(pools.check(pool(name, driver="None"), TODAY))
    assert (problem.code, problem.severity) == (Code.UNKNOWN, Severity.WARNING)


@pytest.mark.parametrize("name", ["Standard_NCC40ads_H100_v5", "Standard_NV6s_v2", "Standard_ND128isrG5_GB300_v6"])
def test_unlisted_gpu_sizes_are_taken_only_without_a_driver(name: str) -> None:
    refused = only(pools.check(pool(name), TODAY))
    assert (refused.code, refused.severity, refused.value) == (Code.WRONG_DRIVER, Severity.ERROR, "Install")
    assert pools.check(pool(name, driver="None"), TODAY) == []
    before = only(pools.check(pool(name), date(2019, 1, 1)))
    assert (before.code, before.severity) == (Code.UNKNOWN, Severity.WARNING)


@pytest.mark.parametrize(
    ("name", "sku", "taken"),
    [
        ("Standard_NC4as_T4_v3", "AzureLinux", True),
        ("Standard_NC4as_T4_v3", "Ubuntu", True),
        ("Standard_NC24ads_A100_v4", "AzureLinux3", True),
        ("Standard_NV36ads_A10_v5", "AzureLinux", False),
        ("Standard_NC144ds_xl_RTXPRO6000BSE_v6", "Ubuntu", True),
        ("Standard_NC144ds_xl_RTXPRO6000BSE_v6", "AzureLinux", False),
        ("Standard_ND128isr_GB300_v6", "Ubuntu", True),
        ("Standard_ND128isr_NDR_GB200_v6", "AzureLinux3", False),
    ],
)
def test_each_size_runs_on_its_systems(name: str, sku: str, taken: bool) -> None:
    problems = pools.check(pool(name, os_sku=sku), TODAY)
    assert [problem.code for problem in problems] == ([] if taken else [Code.NOT_OFFERED])
    if not taken:
        assert pools.check(pool(name, os_sku=sku, driver="None"), TODAY) == []


def test_windows_runs_a_t4_and_no_gb200() -> None:
    assert of_size("Standard_NC4as_T4_v3", operating_system=WINDOWS) == []
    assert only(of_size("Standard_ND128isr_NDR_GB200_v6", operating_system=WINDOWS)).code is Code.NOT_OFFERED


def test_a_size_without_a_gpu_is_none_of_these_rules() -> None:
    assert of_size("Standard_HB120rs_v3") == []
    assert pools.check(pool("Standard_HB120rs_v3"), TODAY) == []


def test_infiniband_wants_a_feature_flag() -> None:
    name = "Standard_ND96isr_H100_v5"
    assert pools.check(pool(name), TODAY) == []
    problem = only(pools.check(pool(name, features=frozenset()), TODAY))
    assert (problem.code, problem.severity) == (Code.UNKNOWN, Severity.WARNING)
    assert "AKSInfinibandSupport" in problem.message
    assert pools.check(pool("Standard_ND96is_H100_v5", features=frozenset()), TODAY) == []


@pytest.mark.parametrize("name", ["a", "gpu", "gpupool12345", "a1"])
def test_names_of_linux_pools_that_are_taken(name: str) -> None:
    assert pools.check(pool(name=name), TODAY) == []


@pytest.mark.parametrize("name", ["", "gpupool123456", "Gpu", "gpu-pool", "1gpu", "gpu_pool", "gpü"])
def test_names_of_linux_pools_that_are_refused(name: str) -> None:
    problem = only(pools.check(pool(name=name), TODAY))
    assert (problem.code, problem.path, problem.value) == (Code.IMPOSSIBLE, "gpu_pools.gpu.name", name)
    assert "1 to 12" in problem.allowed


def test_names_of_windows_pools_have_six_characters() -> None:
    assert pools.check(pool(name="winpoo", operating_system=WINDOWS), TODAY) == []
    problem = only(pools.check(pool(name="winpool", operating_system=WINDOWS), TODAY))
    assert "1 to 6" in problem.allowed


def test_only_user_pools_scale_to_zero() -> None:
    assert pools.check(pool(autoscaler=True, min_count=0, max_count=3), TODAY) == []
    assert pools.check(pool(node_count=0), TODAY) == []
    for changed in ({"autoscaler": True, "min_count": 0}, {"node_count": 0}):
        problem = only(pools.check(pool(mode="System", **changed), TODAY))
        assert (problem.code, problem.value) == (Code.IMPOSSIBLE, 0)
    assert pools.check(pool(mode="System", node_count=1), TODAY) == []


def test_numbers_of_nodes_that_make_no_sense() -> None:
    assert only(pools.check(pool(autoscaler=True, min_count=3, max_count=2), TODAY)).path == "gpu_pools.gpu.max_count"
    assert only(pools.check(pool(node_count=-1), TODAY)).path == "gpu_pools.gpu.node_count"


def test_misspelt_choices_are_named() -> None:
    problems = pools.check(pool(mode="user", driver="none"), TODAY)
    assert [(problem.path, problem.allowed) for problem in problems] == [
        ("gpu_pools.gpu.mode", "User, System"),
        ("gpu_pools.gpu.driver", "Install, None"),
    ]


def test_the_driver_type_is_for_windows_and_a_preview_api() -> None:
    assert pools.check(pool(operating_system=WINDOWS, driver_type="GRID", api_version="2026-01-02-preview"), TODAY) == []
    assert "2025-09-01" in only(pools.check(pool(operating_system=WINDOWS, driver_type="CUDA"), TODAY)).message
    assert "Windows" in only(pools.check(pool(driver_type="CUDA", api_version="2026-01-02-preview"), TODAY)).message
    wrong = only(pools.check(pool(operating_system=WINDOWS, driver_type="ROCm", api_version="2026-01-02-preview"), TODAY))
    assert wrong.allowed == "CUDA, GRID"


def test_the_driver_type_is_one_that_the_size_runs_with() -> None:
    def codes(name: str, driver_type: str) -> list[Code]:
        request = pool(name, operating_system=WINDOWS, driver_type=driver_type, api_version="2026-01-02-preview")
        return [problem.code for problem in pools.check(request, TODAY)]

    assert codes("Standard_NC4as_T4_v3", "CUDA") == codes("Standard_NC4as_T4_v3", "GRID") == []
    assert codes("Standard_ND96is_H100_v5", "CUDA") == []
    assert codes("Standard_ND96is_H100_v5", "GRID") == [Code.WRONG_DRIVER]


@pytest.mark.parametrize("tag", ["SkipGPUDriverInstall", "skipgpudriverinstall"])
def test_the_tag_that_skipped_the_driver_is_rejected_since_2025_08_14(tag: str) -> None:
    assert pools.check(pool("Standard_NC6", tags={tag: "true"}), date(2025, 8, 13)) == []
    problem = only(pools.check(pool("Standard_NC6", tags={tag: "true"}), date(2025, 8, 14)))
    assert (problem.code, problem.path) == (Code.RETIRED, "gpu_pools.gpu.tags")
    assert pools.check(pool(tags={"team": "vision"}), TODAY) == []


@pytest.mark.parametrize("name", ["Standard_NV36ads_A10_v5", "Standard_NC8ads_A10_v4"])
def test_an_a10_needs_a_node_image_of_june_2026(name: str) -> None:
    assert pools.check(pool(name, node_image="AKSUbuntu-2404gen2containerd-202606.08.1"), TODAY) == []
    assert pools.check(pool(name, node_image="202607.01.0"), TODAY) == []
    old = only(pools.check(pool(name, node_image="AKSUbuntu-2204gen2containerd-202606.08.0"), TODAY))
    assert (old.code, old.allowed) == (Code.WRONG_DRIVER, "202606.08.1 and later")
    assert only(pools.check(pool(name, node_image="newest"), TODAY)).code is Code.UNKNOWN
    assert pools.check(pool("Standard_NC4as_T4_v3", node_image="AKSUbuntu-2204gen2containerd-202501.01.0"), TODAY) == []


def test_what_an_existing_pool_keeps_for_good() -> None:
    before = pool()
    after = pool("Standard_NC24ads_A100_v4", driver="None", mig_profile="MIG1g", spot=Spot(), taints=("sku=gpu:NoSchedule",))
    paths = [problem.path.removeprefix("gpu_pools.gpu.") for problem in pool_rules.changes(before, after)]
    assert paths == ["size", "driver", "mig_profile", "spot"], "taints are changed in place"
    assert list(pool_rules.changes(before, pool(node_count=5, autoscaler=True, max_count=9, tags={"a": "b"}))) == []


def test_the_smallest_size_that_the_page_recommends_changed() -> None:
    recommended = [(fact.value, fact.source.day) for fact in facts.about("aks.sizes")]
    assert recommended == [
        ("Standard_NC6", date(2023, 4, 10)),
        ("Standard_NC6s_v3", date(2024, 3, 18)),
        ("Standard_NC4as_T4_v3", date(2026, 7, 2)),
    ]


def test_values_may_be_written_elsewhere_than_in_the_pool() -> None:
    request = pool("Standard_NV4as_v4", paths={"size": "settings.size"})
    assert only(pools.check(request, TODAY)).path == "settings.size"


def test_all_problems_come_at_once() -> None:
    request = pool(
        "Standard_ND96isr_MI300X_v5",
        name="Much-Too-Long-Name",
        kubernetes_version="1.28",
        mig_profile="MIG1g",
        spot=Spot(max_price=0.123456),
        mode="System",
        tags={"SkipGPUDriverInstall": "true"},
    )
    found = {problem.path.removeprefix("gpu_pools.gpu.") for problem in errors(pools.check(request, TODAY))}
    assert found == {"name", "kubernetes_version", "mig_profile", "spot.max_price", "mode", "tags", "driver"}


ANY_TEXT = st.text(max_size=20)


@given(
    st.sampled_from([one.name for one in SIZES]),
    st.dates(date(2015, 1, 1), date(2035, 1, 1)),
    st.sampled_from(list(OperatingSystem)),
    st.fixed_dictionaries(
        {
            "name": ANY_TEXT,
            "mode": ANY_TEXT,
            "driver": st.sampled_from(["Install", "None", "x"]),
            "driver_type": ANY_TEXT,
            "os_sku": st.sampled_from(["", "Ubuntu", "Flatcar", "Windows2019", "x"]) | ANY_TEXT,
            "kubernetes_version": ANY_TEXT,
            "node_image": ANY_TEXT,
            "mig_profile": ANY_TEXT,
            "management_mode": st.sampled_from(["", "Managed", "x"]),
            "mig_strategy": ANY_TEXT,
            "api_version": ANY_TEXT,
            "node_count": st.integers(),
            "spot": st.none() | st.builds(Spot, eviction_policy=ANY_TEXT, max_price=st.floats()),
        }
    ),
)
def test_nothing_raises_whatever_is_asked(name: str, as_of: date, system: OperatingSystem, values: dict[str, Any]) -> None:
    for problem in pools.check(pool(name, operating_system=system, **values), as_of):
        assert problem.message
        assert problem.source or problem.severity is Severity.WARNING
    for problem in aks.size_problems(size(name), use(name, operating_system=system), as_of):
        assert problem.path == "pool.size"
