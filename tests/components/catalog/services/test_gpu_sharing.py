"""Sharing a GPU. Expectations are literals of NVIDIA's device plugin, its DCGM exporter and Microsoft's pages."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog.services import gpu_sharing
from azure_gpu.catalog.services.gpu_sharing import SharingRequest, check, yields
from azure_gpu.catalog.sizes.model import Gpu
from tests.components.catalog.rule_tables import gpu_of

K80 = gpu_of("Standard_NC6")
T4 = gpu_of("Standard_NC4as_T4_v3")
A100 = gpu_of("Standard_NC24ads_A100_v4")
A100_40 = gpu_of("Standard_ND96asr_v4")
MI300X = gpu_of("Standard_ND96isr_MI300X_v5")


def sharing(strategy: str, **changed: Any) -> SharingRequest:
    return SharingRequest(path="pool.sharing", strategy=strategy, **changed)


@pytest.mark.parametrize(
    ("request_", "on", "resource", "each", "memory"),
    [
        (sharing("none"), T4, "nvidia.com/gpu", 1, 16),
        (sharing("time-slicing", replicas=4), T4, "nvidia.com/gpu", 4, 16),
        (sharing("time-slicing", replicas=4, rename=True), T4, "nvidia.com/gpu.shared", 4, 16),
        (sharing("mps", replicas=10), T4, "nvidia.com/gpu", 10, Fraction(8, 5)),
        (sharing("mig", profile="MIG1g"), A100, "nvidia.com/gpu", 7, 10),
        (sharing("mig", profile="MIG1g", mig_strategy="mixed"), A100, "nvidia.com/mig-1g.10gb", 7, 10),
        (sharing("mig", profile="MIG1g", mig_strategy="mixed"), A100_40, "nvidia.com/mig-1g.5gb", 7, 5),
        (sharing("mig", profile="MIG3g", mig_strategy="mixed"), A100_40, "nvidia.com/mig-3g.20gb", 2, 20),
        (
            sharing("time-slicing", replicas=2, profile="MIG2g", mig_strategy="mixed", rename=True),
            A100_40,
            "nvidia.com/mig-2g.10gb.shared",
            6,
            10,
        ),
    ],
)
def test_what_one_gpu_yields(request_: SharingRequest, on: Gpu, resource: str, each: int, memory: int | Fraction) -> None:
    found = yields(request_, on)
    assert found is not None
    assert (found.resource, found.each, found.memory_gib) == (resource, each, memory)


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
