"""AKS's values against ARM's own types at the API version that the provider speaks."""

from azure_gpu.catalog.services.aks import mig, pool as aks_pool, spot, systems
from tests.oracle import arm_types

TYPES = arm_types.types_of("Microsoft.ContainerService/managedClusters", aks_pool.PROVIDER_API)


def values(name: str) -> set[str]:
    """What ARM names for this property of an agent pool; an open list may take more."""
    return set(arm_types.values(TYPES["ManagedClusterAgentPoolProfileProperties"].properties[name].kind))


def test_profiles_policies_and_modes_are_arms() -> None:
    assert values("gpuInstanceProfile") == set(mig.PROFILES)
    assert values("scaleSetEvictionPolicy") == set(spot.EVICTION_POLICIES)
    assert {aks_pool.SYSTEM, aks_pool.USER} <= values("mode")


def test_the_provider_has_exactly_the_skus_that_are_marked_so() -> None:
    assert {sku.name for sku in systems.OS_SKUS.values() if sku.in_provider} == values("osSKU")


def test_the_gpu_profile_has_the_driver_alone() -> None:
    assert list(TYPES["GPUProfile"].properties) == ["driver"]
