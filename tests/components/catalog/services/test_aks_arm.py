"""AKS's values against ARM's own types at the API version that the provider speaks."""

from azure_gpu.catalog.services.aks import mig, pools, systems
from tests.oracle import arm_types

TYPES = arm_types.types_of("Microsoft.ContainerService/managedClusters", systems.PROVIDER_API)


def values(name: str) -> set[str]:
    """What ARM names for this property of an agent pool; an open list may take more."""
    return set(arm_types.values(TYPES["ManagedClusterAgentPoolProfileProperties"].properties[name].kind))


def test_profiles_and_policies_are_arms() -> None:
    assert values("gpuInstanceProfile") == set(mig.PROFILES)
    assert values("scaleSetEvictionPolicy") == set(pools.EVICTION_POLICIES)


def test_the_provider_has_exactly_the_skus_that_are_marked_so() -> None:
    assert {sku.name for sku in systems.OS_SKUS.values() if sku.in_provider} == values("osSKU")


def test_the_gpu_profile_has_the_driver_alone() -> None:
    assert list(TYPES["GPUProfile"].properties) == ["driver"]
