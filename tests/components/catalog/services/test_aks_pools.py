"""MIG, Spot, systems, managed GPUs and add-ons on AKS. Expectations are literals of Microsoft's and NVIDIA's pages."""

from typing import Any

from azure_gpu.catalog import facts
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.aks import addons, spot as aks_spot
from azure_gpu.catalog.services.aks.pool import PoolRequest, Spot
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Size

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


# Spot: Microsoft Learn, spot-node-pool.md, 2025-04-06


def test_what_aks_writes_onto_spot_nodes() -> None:
    assert aks_spot.LABEL == ("kubernetes.azure.com/scalesetpriority", "spot")
    assert aks_spot.TAINT == "kubernetes.azure.com/scalesetpriority=spot:NoSchedule"


# Systems


# Managed GPUs: Microsoft Learn, aks-managed-gpu-nodes.md, 2026-07-02


# Add-ons


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
