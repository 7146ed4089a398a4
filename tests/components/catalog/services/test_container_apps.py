"""What Container Apps takes of GPUs. Expectations are literals read in the service's documentation, not what the catalog says."""

from datetime import date
from typing import Any

from hypothesis import given, strategies as st

from azure_gpu.catalog.services import container_apps
from azure_gpu.catalog.services.container_apps import ContainerRequest, JobRequest, job_problems

T4 = "Consumption-GPU-NC8as-T4"
A100 = "Consumption-GPU-NC24-A100"
TODAY = date(2026, 11, 20)


def container(name: str = "first", **asked: Any) -> ContainerRequest:
    return ContainerRequest(gpu_path=f"{name}.gpu", cpu_path=f"{name}.cpu", memory_path=f"{name}.memory", **asked)


def job(*containers: ContainerRequest, on: str = T4) -> JobRequest:
    return JobRequest(profile_type=on, profile_path="profile", containers=containers)


# Microsoft Learn, workload-profiles-overview, 2025-11-04; GPU memory: gpu-types, 2025-06-02
PROFILES = [
    (T4, "T4", 16, 1, 8, 56), (A100, "A100", 80, 1, 24, 220),
    ("NC24-A100", "A100", 80, 1, 24, 220), ("NC48-A100", "A100", 80, 2, 48, 440), ("NC96-A100", "A100", 80, 4, 96, 880),
]  # fmt: skip


def test_there_are_five_profiles_with_gpus() -> None:
    assert set(container_apps.PROFILES) == {name for name, *_ in PROFILES}


def test_the_containers_of_a_replica_share_the_profile() -> None:
    assert job_problems(job(container(cpu=4, memory_gib=28), container("second", cpu=4, memory_gib=28)), TODAY) == []
    problems = job_problems(job(container(cpu=4, memory_gib=28), container("second", cpu=5, memory_gib=29)), TODAY)
    assert [(problem.path, problem.value) for problem in problems] == [("second.cpu", 9), ("second.memory", 57)]
    assert job_problems(job(), TODAY) == []


@given(
    st.sampled_from(PROFILES),
    st.floats(allow_nan=True, allow_infinity=True) | st.integers(),
    st.floats(0, 2000),
    st.floats(0, 2000),
)
def test_a_replica_is_taken_exactly_within_its_profile(
    row: tuple[str, str, int, int, int, int], gpu: float, cpu: float, memory: float
) -> None:
    name, _, _, count, vcpus, memory_gib = row
    taken = not job_problems(job(container(gpu=gpu, cpu=cpu, memory_gib=memory), on=name), TODAY)
    assert taken == (gpu in (0, *range(1, count + 1)) and cpu <= vcpus and memory <= memory_gib)
