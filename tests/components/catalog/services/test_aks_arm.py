"""AKS's values against ARM's own types at the API version that the provider speaks."""

import json
from pathlib import Path
from typing import Any

import pytest

from azure_gpu.catalog.services.aks import mig, pool as aks_pool, spot, systems

TYPES = Path(__file__).resolve().parents[5] / "shared" / "azure-types" / "microsoft.containerservice_2025-09-01.json"

pytestmark = pytest.mark.skipif(
    not TYPES.exists(), reason="needs Microsoft's ARM types in ../shared/azure-types beside the checkout"
)


def element(types: list[dict[str, Any]], reference: dict[str, str]) -> dict[str, Any]:
    return types[int(reference["$ref"].removeprefix("#/"))]


def values(name: str) -> set[str]:
    """What ARM names for this property of an agent pool; an open list may take more."""
    types: list[dict[str, Any]] = json.loads(TYPES.read_text())
    pool = next(one for one in types if one.get("name") == "ManagedClusterAgentPoolProfileProperties")
    union = element(types, pool["properties"][name]["type"])
    found = [element(types, one) for one in union["elements"]]
    return {one["value"] for one in found if one["$type"] == "StringLiteralType"}


def test_the_provider_speaks_this_version() -> None:
    assert aks_pool.PROVIDER_API == "2025-09-01"


def test_profiles_policies_and_modes_are_arms() -> None:
    assert values("gpuInstanceProfile") == set(mig.PROFILES)
    assert values("scaleSetEvictionPolicy") == set(spot.EVICTION_POLICIES)
    assert {aks_pool.SYSTEM, aks_pool.USER} <= values("mode")


def test_the_provider_has_exactly_the_skus_that_are_marked_so() -> None:
    assert {sku.name for sku in systems.OS_SKUS.values() if sku.in_provider} == values("osSKU")


def test_the_gpu_profile_has_the_driver_alone() -> None:
    types: list[dict[str, Any]] = json.loads(TYPES.read_text())
    profile = next(one for one in types if one.get("name") == "GPUProfile")
    assert list(profile["properties"]) == ["driver"]
