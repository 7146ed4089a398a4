"""What Container Apps takes of GPUs. Expectations are literals read in the service's documentation, not what the catalog says."""

from datetime import date

from hypothesis import given, strategies as st

from azure_gpu.catalog.services import container_apps
from azure_gpu.catalog.services.container_apps import replica_problems

T4 = "Consumption-GPU-NC8as-T4"
A100 = "Consumption-GPU-NC24-A100"
TODAY = date(2026, 11, 20)


# Microsoft Learn, workload-profiles-overview, 2025-11-04; GPU memory: gpu-types, 2025-06-02
PROFILES = [
    (T4, "T4", 16, 1, 8, 56), (A100, "A100", 80, 1, 24, 220),
    ("NC24-A100", "A100", 80, 1, 24, 220), ("NC48-A100", "A100", 80, 2, 48, 440), ("NC96-A100", "A100", 80, 4, 96, 880),
]  # fmt: skip


def test_there_are_five_profiles_with_gpus() -> None:
    assert set(container_apps.PROFILES) == {name for name, *_ in PROFILES}


@given(st.sampled_from(PROFILES), st.floats(0, 2000), st.floats(0, 2000))
def test_a_replica_is_taken_exactly_within_its_profile(
    row: tuple[str, str, int, int, int, int], cpu: float, memory: float
) -> None:
    name, _, _, _, vcpus, memory_gib = row
    taken = not list(replica_problems(name, cpu, memory, "job"))
    assert taken == (cpu <= vcpus and memory <= memory_gib)
