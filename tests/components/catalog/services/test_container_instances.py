"""What Container Instances takes. Expectations are literals read in the service's documentation, not what the catalog says."""

from datetime import date
from typing import Any

from hypothesis import given, strategies as st

from azure_gpu.catalog.problems import errors
from azure_gpu.catalog.services import container_instances
from azure_gpu.catalog.services.container_instances import ContainerRequest, GroupRequest, check

DAY = date(2019, 6, 1)


def container(
    sku: str = "K80", count: int | None = 1, cpu: float = 1, memory_gb: float = 1.5, name: str = "main"
) -> ContainerRequest:
    return ContainerRequest(
        name=name,
        cpu=cpu,
        memory_gb=memory_gb,
        gpu_count=count,
        gpu_sku=sku if count is not None else "",
        cpu_path=f"{name}.cpu",
        memory_path=f"{name}.memory",
        gpu_count_path=f"{name}.gpu.count",
        gpu_sku_path=f"{name}.gpu.sku",
    )


def group(*containers: ContainerRequest, **changed: Any) -> GroupRequest:
    values: dict[str, Any] = {"location": "westeurope", "os_type": "Linux", "in_virtual_network": False, **changed}
    return GroupRequest(
        containers=containers or (container(),),
        location_path="location",
        os_type_path="os_type",
        network_path="subnet_id",
        **values,
    )


# Microsoft Docs, container-instances-gpu-limits, 2022-06-14
LIMITS = [
    ("K80", 1, 6, 56), ("K80", 2, 12, 112), ("K80", 4, 24, 224),
    ("P100", 1, 6, 112), ("P100", 2, 12, 224), ("P100", 4, 24, 448),
    ("V100", 1, 6, 112), ("V100", 2, 12, 224), ("V100", 4, 24, 448),
]  # fmt: skip


def test_the_defaults_fit_every_gpu_and_none() -> None:
    cpu, memory_gb = container_instances.DEFAULT_CPU, container_instances.DEFAULT_MEMORY_GB
    assert check(group(container("K80", 1, cpu, memory_gb)), DAY) == []
    assert check(group(container(count=None, cpu=cpu, memory_gb=memory_gb)), DAY) == []


@given(
    st.sampled_from(["K80", "P100", "V100"]),
    st.dates(date(2018, 1, 1), date(2030, 1, 1)),
    st.dates(date(2018, 1, 1), date(2030, 1, 1)),
)
def test_what_is_refused_for_its_age_stays_refused(sku: str, one: date, other: date) -> None:
    earlier, later = sorted((one, other))
    if errors(check(group(container(sku)), earlier)):
        assert errors(check(group(container(sku)), later))


@given(st.sampled_from(LIMITS), st.floats(0.1, 500), st.floats(0.1, 500))
def test_a_request_is_taken_exactly_within_the_limits(row: tuple[str, int, int, int], cpu: float, memory_gb: float) -> None:
    sku, count, most_cpu, most_memory_gb = row
    taken = not check(group(container(sku, count, cpu, memory_gb)), DAY)
    assert taken == (cpu <= most_cpu and memory_gb <= most_memory_gb)
