"""MIG, Spot, systems, managed GPUs and add-ons on AKS. Expectations are literals of Microsoft's and NVIDIA's pages."""

from datetime import date
from typing import Any

import pytest

from azure_gpu.catalog import facts
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.aks import access as aks_access, addons, mig, pools, spot as aks_spot, systems
from azure_gpu.catalog.services.aks.pool import PoolRequest, Spot
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Size

TODAY = date(2026, 11, 20)
WINDOWS = OperatingSystem.WINDOWS
EVERY_FEATURE = frozenset({"AKSInfinibandSupport", "WindowsGPUPreview", "ManagedGPUExperiencePreview"})


def size(name: str) -> Size:
    found = SIZES.find(name)
    assert found is not None, name
    return found


def pool(size_name: str = "Standard_NC4as_T4_v3", /, **changed: Any) -> PoolRequest:
    values: dict[str, Any] = {"name": "gpu", "features": EVERY_FEATURE, **changed}
    return PoolRequest(path="pool", size=size(size_name), **values)


def only(problems: list[Problem]) -> Problem:
    (problem,) = problems
    return problem


# MIG: Microsoft Learn, gpu-multi-instance.md, 2026-05-22


@pytest.mark.parametrize("profile", ["MIG1g", "MIG2g", "MIG3g", "MIG4g", "MIG7g"])
@pytest.mark.parametrize(
    "name", ["Standard_NC24ads_A100_v4", "Standard_NC40ads_H100_v5", "Standard_NC80adis_H100_v5", "Standard_ND96isr_H200_v5"]
)
def test_a100_h100_and_h200_can_be_cut(name: str, profile: str) -> None:
    assert pools.check(pool(name, mig_profile=profile), TODAY) == []


@pytest.mark.parametrize("name", ["Standard_NC4as_T4_v3", "Standard_NV36ads_A10_v5", "Standard_NC6s_v3"])
def test_other_gpus_cannot_be_cut(name: str) -> None:
    problem = only(pools.check(pool(name, mig_profile="MIG1g"), TODAY))
    assert (problem.code, problem.path, problem.allowed) == (Code.IMPOSSIBLE, "pool.mig_profile", "sizes with A100, H100, H200")


def test_of_a_gpu_that_came_after_the_page_it_says_nothing() -> None:
    problems = pools.check(pool("Standard_ND128isr_GB300_v6", mig_profile="MIG1g"), TODAY)
    problem = only([each for each in problems if each.path == "pool.mig_profile"])
    assert (problem.code, problem.severity) == (Code.UNKNOWN, Severity.WARNING)


def test_a_profile_has_aks_name_and_an_api_that_knows_it() -> None:
    a100 = "Standard_NC24ads_A100_v4"
    assert only(pools.check(pool(a100, mig_profile="1g.10gb"), TODAY)).allowed == "MIG1g, MIG2g, MIG3g, MIG4g, MIG7g"
    assert only(pools.check(pool(a100, mig_profile="MIG1g", api_version="2021-07-01"), TODAY)).path == "pool.api_version"
    assert pools.check(pool(a100, mig_profile="MIG1g", api_version="2021-08-01"), TODAY) == []


def test_mig_on_single_sizes_came_on_its_day() -> None:
    day_before = pools.check(pool("Standard_NC80adis_H100_v5", mig_profile="MIG1g"), date(2026, 4, 1))
    assert [problem.code for problem in day_before] == [Code.NOT_OFFERED]
    assert "2026-04-02" in day_before[0].message
    assert pools.check(pool("Standard_NC80adis_H100_v5", mig_profile="MIG1g"), date(2026, 4, 2)) == []
    assert pools.check(pool("Standard_NC40ads_H100_v5", mig_profile="MIG1g"), date(2025, 1, 30)) == []


def test_the_resource_of_an_instance_has_its_profile_only_when_mixed() -> None:
    a100_40, a100_80 = size("Standard_ND96asr_v4").gpu, size("Standard_NC24ads_A100_v4").gpu
    assert a100_40 is not None
    assert a100_80 is not None
    assert mig.resource(a100_40.mig["MIG1g"], "mixed") == "nvidia.com/mig-1g.5gb"
    assert mig.resource(a100_80.mig["MIG1g"], "mixed") == "nvidia.com/mig-1g.10gb"
    assert mig.resource(a100_80.mig["MIG1g"], "single") == "nvidia.com/gpu"
    assert {name: profile.instances for name, profile in a100_40.mig.items()} == {
        "MIG1g": 7, "MIG2g": 3, "MIG3g": 2, "MIG4g": 1, "MIG7g": 1
    }  # fmt: skip


# Spot: Microsoft Learn, spot-node-pool.md, 2025-04-06


@pytest.mark.parametrize("price", [-1, 0.98765, 0.00001, 12, 3.5, -1.0])
def test_prices_that_are_taken(price: float) -> None:
    assert pools.check(pool(spot=Spot(max_price=price)), TODAY) == []


@pytest.mark.parametrize("price", [0, -2, 0.123456, 0.000001, float("nan"), float("inf"), 1e-300])
def test_prices_that_are_refused(price: float) -> None:
    problem = only(pools.check(pool(spot=Spot(max_price=price)), TODAY))
    assert (problem.code, problem.path) == (Code.IMPOSSIBLE, "pool.spot.max_price")


def test_the_rules_of_spot_pools() -> None:
    assert pools.check(pool(spot=Spot(eviction_policy="Deallocate"), autoscaler=True, min_count=0), TODAY) == []
    for changed, path in (
        ({"mode": "System"}, "pool.mode"),
        ({"scale_set": False}, "pool.scale_set"),
        ({"standard_load_balancer": False}, "pool.standard_load_balancer"),
        ({"max_surge": "33%"}, "pool.max_surge"),
    ):
        assert only(pools.check(pool(spot=Spot(), **changed), TODAY)).path == path
        assert pools.check(pool(**changed), TODAY) == []
    policy = only(pools.check(pool(spot=Spot(eviction_policy="Stop")), TODAY))
    assert policy.allowed == "Delete, Deallocate"


def test_what_aks_writes_onto_spot_nodes() -> None:
    assert aks_spot.LABEL == ("kubernetes.azure.com/scalesetpriority", "spot")
    assert aks_spot.TAINT == "kubernetes.azure.com/scalesetpriority=spot:NoSchedule"


# Systems


@pytest.mark.parametrize("sku", ["Flatcar", "AzureLinuxOSGuard"])
def test_flatcar_and_os_guard_have_no_nvidia_gpus(sku: str) -> None:
    problems = pools.check(pool(os_sku=sku, api_version="2026-01-02-preview"), TODAY)
    assert Code.NOT_OFFERED in {problem.code for problem in problems}
    assert any("NVIDIA" in problem.message for problem in problems)
    without_gpu = pools.check(pool("Standard_HB120rs_v3", os_sku="AzureLinuxOSGuard", api_version="2026-01-02-preview"), TODAY)
    assert without_gpu == []


def test_no_new_flatcar_pools_since_july_2026() -> None:
    request = pool("Standard_HB120rs_v3", os_sku="Flatcar", api_version="2026-01-02-preview")
    problem = only(pools.check(request, TODAY))
    assert (problem.code, problem.path) == (Code.NOT_OFFERED, "pool.os_sku")
    assert only(pools.check(request, date(2026, 7, 10))).severity is Severity.WARNING


def test_the_provider_version_lacks_some_skus() -> None:
    assert "2025-09-01" in only(pools.check(pool(os_sku="Windows2025", operating_system=WINDOWS), TODAY)).message
    newer = pool(os_sku="Windows2025", operating_system=WINDOWS, api_version="2026-01-02-preview")
    assert pools.check(newer, TODAY) == []


def test_systems_end() -> None:
    def codes(sku: str, day: date, **changed: Any) -> list[Code]:
        return [problem.code for problem in pools.check(pool(os_sku=sku, **changed), day)]

    assert codes("CBLMariner", TODAY) == [Code.RETIRED]
    assert Code.RETIRING in codes("CBLMariner", date(2025, 11, 30))
    assert Code.RETIRED in codes("CBLMariner", date(2025, 12, 1))
    assert codes("Windows2019", date(2026, 3, 2), operating_system=WINDOWS)[0] is Code.RETIRED
    assert codes("Windows2019", TODAY, operating_system=WINDOWS) == [Code.RETIRED]
    assert Code.RETIRING in codes("Windows2019", date(2026, 3, 1), operating_system=WINDOWS)
    assert codes("Windows2022", TODAY, operating_system=WINDOWS) == []
    assert codes("Ubuntu2204", date(2026, 12, 1)) == []
    assert codes("Ubuntu2204", date(2027, 6, 30)) == [Code.RETIRING]
    assert codes("Ubuntu2204", date(2027, 7, 1)) == [Code.RETIRED]


def test_a_sku_of_the_other_system_or_of_none() -> None:
    assert only(pools.check(pool(os_sku="Ubuntu", operating_system=WINDOWS), TODAY)).code is Code.IMPOSSIBLE
    assert only(pools.check(pool(os_sku="BeOS"), TODAY)).code is Code.UNKNOWN


def test_what_aks_takes_where_no_sku_is_asked_for() -> None:
    assert systems.default_sku(WINDOWS, "1.36") == "Windows2022"
    assert systems.default_sku(WINDOWS, "1.37.1") == "Windows2025"
    assert systems.default_sku(WINDOWS, "") == "Windows2022"
    assert systems.default_sku(OperatingSystem.LINUX, "1.35") == "Ubuntu"
    assert [systems.ubuntu_release(version) for version in ("1.34", "1.35", "")] == ["22.04", "24.04", ""]


def test_gpus_on_windows_are_a_preview_from_1_29() -> None:
    assert pools.check(pool(operating_system=WINDOWS, kubernetes_version="1.36"), TODAY) == []
    old = pools.check(pool(operating_system=WINDOWS, kubernetes_version="1.28"), date(2024, 9, 1))
    assert [problem.allowed for problem in old if problem.code is Code.IMPOSSIBLE] == ["1.29 and later"]
    flag = only(pools.check(pool(operating_system=WINDOWS, features=frozenset()), TODAY))
    assert (flag.severity, "WindowsGPUPreview" in flag.message) == (Severity.WARNING, True)
    assert only(pools.check(pool(operating_system=WINDOWS, mode="System"), TODAY)).path == "pool.mode"


def test_kubenet_ends_in_2028() -> None:
    assert systems.check_network_plugin("kubenet", TODAY, "network") == []
    assert only(systems.check_network_plugin("kubenet", date(2028, 3, 31), "network")).code is Code.RETIRING
    assert only(systems.check_network_plugin("kubenet", date(2028, 4, 1), "network")).code is Code.RETIRED
    assert systems.check_network_plugin("azure", date(2030, 1, 1), "network") == []


# Managed GPUs: Microsoft Learn, aks-managed-gpu-nodes.md, 2026-07-02

MANAGED = {"management_mode": "Managed", "api_version": "2026-01-02-preview"}


def test_a_managed_pool_is_taken_by_the_preview_api() -> None:
    assert pools.check(pool(**MANAGED, mig_strategy="None", kubernetes_version="1.36"), TODAY) == []
    problem = only(pools.check(pool(management_mode="Managed"), TODAY))
    assert (problem.code, problem.path) == (Code.IMPOSSIBLE, "pool.management_mode")
    assert "2025-09-01" in problem.message


def test_what_a_managed_pool_refuses() -> None:
    for changed, path in (
        ({"autoscaler": True}, "pool.autoscaler"),
        ({"operating_system": WINDOWS}, "pool.operating_system"),
        ({"driver": "None"}, "pool.driver"),
    ):
        problem = only(pools.check(pool(**MANAGED, **changed), TODAY))
        assert (problem.code, problem.path) == (Code.IMPOSSIBLE, path)
    assert pools.check(pool(**{**MANAGED, "management_mode": "Unmanaged"}, autoscaler=True), TODAY) == []
    amd = pools.check(pool("Standard_ND96isr_MI300X_v5", **MANAGED), TODAY)
    assert "pool.size" in {problem.path for problem in amd}
    old = pools.check(pool(**MANAGED, kubernetes_version="1.33"), date(2026, 7, 2))
    assert [problem.allowed for problem in old if problem.code is Code.IMPOSSIBLE] == ["1.34 and later"]


def test_a_managed_pool_wants_its_feature_and_its_values() -> None:
    flag = only(pools.check(pool(**MANAGED, features=frozenset()), TODAY))
    assert "ManagedGPUExperiencePreview" in flag.message
    values = pools.check(pool(management_mode="On", mig_strategy="single", api_version="2026-01-02-preview"), TODAY)
    assert [problem.allowed for problem in values] == ["Unmanaged, Managed", "None, Single, Mixed"]
    assert facts.about("aks.managed_gpu")[0].value == "kubernetes.azure.com/dcgm-exporter=enabled"


# Add-ons


def test_kaito_takes_new_nvidia_gpus_on_linux() -> None:
    def found(name: str, system: OperatingSystem = OperatingSystem.LINUX) -> list[Code]:
        return [problem.code for problem in addons.kaito_problems(size(name), system, "pool")]

    assert found("Standard_NC24ads_A100_v4") == []
    assert found("Standard_NV36ads_A10_v5") == []
    for name in ("Standard_NC4as_T4_v3", "Standard_NC6s_v3", "Standard_ND96isr_MI300X_v5"):
        assert found(name) == [Code.IMPOSSIBLE]
    assert found("Standard_NC24ads_A100_v4", WINDOWS) == [Code.IMPOSSIBLE]
    assert found("Standard_HB120rs_v3") == []


def test_without_local_accounts_a_program_needs_kubelogin() -> None:
    assert list(aks_access.check(True, "", "cluster.login")) == []
    assert list(aks_access.check(False, "workloadidentity", "cluster.login")) == []
    for login in ("", "devicecode"):
        assert only(list(aks_access.check(False, login, "cluster.login"))).code is Code.IMPOSSIBLE


def test_the_gpu_operator_brings_the_driver_and_wants_one_linux() -> None:
    assert list(addons.operator_problems([pool(driver="None"), pool(driver="None")])) == []
    assert only(list(addons.operator_problems([pool()]))).path == "pool.driver"
    assert only(list(addons.operator_problems([pool(driver="None", operating_system=WINDOWS)]))).code is Code.IMPOSSIBLE
    assert only(list(addons.operator_problems([pool(driver="None", os_sku="Flatcar")]))).value == "Flatcar"
    two = [pool(driver="None", os_sku="Ubuntu"), pool(driver="None", os_sku="AzureLinux")]
    assert "several OS SKUs" in only(list(addons.operator_problems(two))).message
    spot = only(list(addons.operator_problems([pool(driver="None", spot=Spot())])))
    assert (spot.severity, spot.path) == (Severity.WARNING, "pool.spot")
    assert list(addons.operator_problems([])) == []


def test_versions_of_the_addons() -> None:
    values = {fact.name: fact.value for fact in facts.about("aks.addons")}
    assert (values["Kueue upstream"], values["GPU Operator upstream"]) == ("v0.19.2", "v26.7.0")
    assert values["KAITO"].startswith("0.6.0")
    assert "oci://registry.k8s.io/kueue/charts/kueue" in values["Kueue"]
    assert values["taint of GPU pools"].startswith("sku=gpu:NoSchedule")
    assert values["taint of GPU pools as best practice"] == "nvidia.com/gpu:NoSchedule"
