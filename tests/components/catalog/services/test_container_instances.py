"""What Container Instances takes. Expectations are literals read in the service's documentation, not what the catalog says."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.catalog.services import container_instances
from azure_gpu.catalog.services.container_instances import ContainerRequest, GroupRequest, check
from tests.support.rows import each_row

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


def only(problems: list[Problem]) -> Problem:
    (problem,) = problems
    return problem


# Microsoft Docs, container-instances-gpu-limits, 2022-06-14
LIMITS = [
    ("K80", 1, 6, 56), ("K80", 2, 12, 112), ("K80", 4, 24, 224),
    ("P100", 1, 6, 112), ("P100", 2, 12, 224), ("P100", 4, 24, 448),
    ("V100", 1, 6, 112), ("V100", 2, 12, 224), ("V100", 4, 24, 448),
]  # fmt: skip


def test_a_group_without_a_gpu_takes_31_cpu_and_240_gb() -> None:
    assert check(group(container(count=None, cpu=4, memory_gb=16)), date(2026, 1, 1)) == []
    large = only(check(group(container(count=None, cpu=31, memory_gb=240)), date(2026, 1, 1)))
    assert (large.severity, large.path, large.value) == (Severity.WARNING, "main.cpu", "31 CPU and 240 GB")
    memory = only(check(group(container(count=None, cpu=1, memory_gb=17)), date(2026, 1, 1)))
    assert (memory.path, "may fail for lack of capacity" in memory.message) == ("main.memory", True)
    over = check(group(container(count=None, cpu=32, memory_gb=241)), date(2026, 1, 1))
    assert [problem.path for problem in over] == ["main.cpu", "main.memory"]
    assert all(problem.code is Code.IMPOSSIBLE for problem in over)


def test_the_containers_of_a_group_share_its_limit() -> None:
    problem = only(check(group(container(cpu=4), container(count=None, cpu=3, name="side")), DAY))
    assert problem.value == 7
    assert "in total of all containers" in problem.message


@each_row(
    ("sku", "day", "expected"),
    [
        ("K80", date(2019, 6, 1), None),
        ("K80", date(2023, 3, 3), None),
        ("K80", date(2023, 3, 4), (Severity.WARNING, Code.RETIRING, "2023-08-31")),
        ("K80", date(2023, 8, 31), (Severity.WARNING, Code.RETIRING, "2023-08-31")),
        ("K80", date(2023, 9, 1), (Severity.ERROR, Code.RETIRED, "2023-08-31")),
        ("K80", date(2026, 1, 1), (Severity.ERROR, Code.RETIRED, "2023-08-31")),
        ("P100", date(2024, 1, 1), (Severity.ERROR, Code.RETIRED, "2023-08-31")),
        ("V100", date(2024, 12, 1), None),
        ("V100", date(2025, 7, 14), (Severity.WARNING, Code.RETIRING, "2025-07-14")),
        ("V100", date(2025, 7, 15), (Severity.ERROR, Code.RETIRED, "2025-07-14")),
    ],
)
def test_a_gpu_is_sold_until_its_last_day_with_a_warning_180_days_before(
    sku: str, day: date, expected: tuple[Severity, Code, str] | None
) -> None:
    problems = check(group(container(sku)), day)
    if expected is None:
        assert problems == []
        return
    problem = only(problems)
    assert (problem.severity, problem.code) == expected[:2]
    assert expected[2] in problem.message


def test_gpus_of_two_kinds_or_three_together_are_no_machine() -> None:
    mixed = check(group(container("K80"), container("V100", name="other")), DAY)
    assert [problem.path for problem in mixed] == ["other.gpu.sku"]
    three = check(group(container(count=1), container(count=2, name="other")), DAY)
    assert "3 GPUs in total" in only(three).message
    assert check(group(container(count=2), container(count=2, name="other")), DAY) == []


def test_all_problems_come_at_once() -> None:
    request = group(container(count=3, cpu=0), location="uksouth", os_type="Windows", in_virtual_network=True)
    paths = [problem.path for problem in check(request, date(2026, 1, 1))]
    assert sorted(paths) == ["location", "main.cpu", "main.gpu.count", "main.gpu.sku", "os_type", "subnet_id"]


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


@pytest.mark.parametrize("sku", ["K80", "V100"])
def test_the_groups_of_the_first_document_are_taken_at_its_date_and_refused_today(sku: str) -> None:
    # Its two examples, in eastus: a K80 with 1 CPU and 1.5 GB, and a V100 with 4 CPU and 12 GB
    asked = group(container("K80", 1, 1, 1.5) if sku == "K80" else container("V100", 1, 4, 12), location="eastus")
    assert check(asked, date(2019, 4, 17)) == []
    problem = only(check(asked, date(2026, 11, 20)))
    assert problem.code is Code.RETIRED
    assert problem.instead == ("Consumption-GPU-NC8as-T4", "Consumption-GPU-NC24-A100")
    assert "2025-07-14" in problem.message + problem.fix


def test_spot_has_neither_gpu_nor_inbound_ports_nor_another_sku() -> None:
    plain = container(count=None)
    day = date(2026, 1, 1)
    assert check(group(plain, spot=True, spot_path="priority"), day) == []
    assert check(group(plain, inbound=True, sku="Confidential"), day) == []
    problems = check(group(plain, spot=True, inbound=True, sku="Confidential", spot_path="priority"), day)
    assert [(problem.path, problem.code) for problem in problems] == [("priority", Code.IMPOSSIBLE)] * 2
    assert "SpotPriorityContainerGroupNotSupportedForInboundConnectivity" in problems[0].message
    assert "SpotPriorityContainerGroupNotSupportedInSku" in problems[1].message
    with_gpu = only(check(group(container(), spot=True, spot_path="priority"), DAY))
    assert "SpotPriorityContainerGroupWithGPUResourcesNotSupported" in with_gpu.message
