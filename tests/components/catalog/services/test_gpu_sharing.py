"""Sharing a GPU. Expectations are literals of NVIDIA's device plugin, its DCGM exporter and Microsoft's pages."""

from fractions import Fraction
from typing import Any

from hypothesis import given, strategies as st

from azure_gpu.catalog.services import gpu_sharing
from azure_gpu.catalog.services.gpu_sharing import SharingRequest, check, yields
from azure_gpu.catalog.sizes.model import Gpu
from tests.components.catalog.rule_tables import gpu_of
from tests.support.tables import of_table

K80 = gpu_of("Standard_NC6")
T4 = gpu_of("Standard_NC4as_T4_v3")
A100 = gpu_of("Standard_NC24ads_A100_v4")
A100_40 = gpu_of("Standard_ND96asr_v4")
MI300X = gpu_of("Standard_ND96isr_MI300X_v5")


def sharing(strategy: str, **changed: Any) -> SharingRequest:
    return SharingRequest(path="pool.sharing", strategy=strategy, **changed)


@of_table("asked", "size", "resource", "each", "memory")
def test_what_one_gpu_yields(asked: dict[str, Any], size: str, resource: str, each: int, memory: int | str) -> None:
    found = yields(sharing(**asked), gpu_of(size))
    assert found is not None
    assert (found.resource, found.each, found.memory_gib) == (resource, each, Fraction(memory))


TEXT = st.text(max_size=8)


@given(
    st.builds(
        SharingRequest,
        path=st.just("s"),
        strategy=st.sampled_from(["none", "time-slicing", "mps", "mig"]) | TEXT,
        replicas=st.none() | st.integers(-2, 50),
        profile=st.sampled_from(["", "MIG1g", "MIG7g", "x"]),
        mig_strategy=st.sampled_from(["single", "mixed", ""]),
        rename=st.booleans(),
        active_thread_percentage=st.none() | st.floats(),
        pinned_memory_limit=st.sampled_from(["", "4G", "512M", "x"]),
    ),
    st.sampled_from([T4, A100, MI300X, K80]),
)
def test_whatever_is_asked_either_yields_something_or_has_a_problem(request: SharingRequest, on: Gpu) -> None:
    found = yields(request, on)
    assert (found is None) == bool(check(request, on))
    if found is not None:
        assert found.each >= 1
        assert found.memory_gib is not None
        assert 0 < found.memory_gib <= on.memory_gib
    for problem in (*gpu_sharing.with_device_plugin(request), *gpu_sharing.from_zero(request, "s")):
        assert problem.message
