"""What Container Apps takes of GPUs. Expectations are literals read in the service's documentation, not what the catalog says."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.catalog.services import container_apps
from azure_gpu.catalog.services.container_apps_requests import (
    ContainerRequest,
    JobRequest,
    ProfileRequest,
    job_problems,
    profile_problems,
)

T4 = "Consumption-GPU-NC8as-T4"
A100 = "Consumption-GPU-NC24-A100"
TODAY = date(2026, 11, 20)


def profile(**changed: Any) -> ProfileRequest:
    values: dict[str, Any] = {"name": "gpu", "type": T4, "location": "swedencentral", **changed}
    return ProfileRequest(
        name_path="name",
        type_path="type",
        location_path="location",
        minimum_path="minimum",
        maximum_path="maximum",
        **values,
    )


def container(name: str = "first", **asked: Any) -> ContainerRequest:
    return ContainerRequest(gpu_path=f"{name}.gpu", cpu_path=f"{name}.cpu", memory_path=f"{name}.memory", **asked)


def job(*containers: ContainerRequest, on: str = T4) -> JobRequest:
    return JobRequest(profile_type=on, profile_path="profile", containers=containers)


def only(problems: list[Problem]) -> Problem:
    (problem,) = problems
    return problem


# Microsoft Learn, workload-profiles-overview, 2025-11-04; GPU memory: gpu-types, 2025-06-02
PROFILES = [
    (T4, "T4", 16, 1, 8, 56), (A100, "A100", 80, 1, 24, 220),
    ("NC24-A100", "A100", 80, 1, 24, 220), ("NC48-A100", "A100", 80, 2, 48, 440), ("NC96-A100", "A100", 80, 4, 96, 880),
]  # fmt: skip


@pytest.mark.parametrize(("name", "gpu", "gpu_memory", "count", "vcpus", "memory"), PROFILES)
def test_a_profile_has_so_much_and_no_more(name: str, gpu: str, gpu_memory: int, count: int, vcpus: int, memory: int) -> None:
    known = container_apps.PROFILES[name]
    assert (known.gpu, known.gpu_memory_gib) == (gpu, gpu_memory)
    assert job_problems(job(container(gpu=count, cpu=vcpus, memory_gib=memory), on=name), TODAY) == []
    over = job_problems(job(container(gpu=count + 1, cpu=vcpus + 1, memory_gib=memory + 1), on=name), TODAY)
    assert [problem.path for problem in over] == ["first.gpu", "first.cpu", "first.memory"]
    assert {problem.code for problem in over} == {Code.IMPOSSIBLE}


def test_there_are_five_profiles_with_gpus() -> None:
    assert set(container_apps.PROFILES) == {name for name, *_ in PROFILES}


# Copy of the Learn table, 2026-03
BOTH = ["australiaeast", "brazilsouth", "canadacentral", "eastus", "italynorth", "swedencentral", "westus", "westus3"]
T4_ALONE = [
    "centralindia", "francecentral", "japaneast", "northcentralus", "southcentralus", "southeastasia", "southindia",
    "westeurope", "westus2",
]  # fmt: skip


@pytest.mark.parametrize("region", BOTH)
def test_regions_that_have_both_serverless_gpus(region: str) -> None:
    assert profile_problems(profile(location=region), TODAY) == []
    assert profile_problems(profile(type=A100, location=region), TODAY) == []


@pytest.mark.parametrize("region", T4_ALONE)
def test_regions_that_have_t4_alone(region: str) -> None:
    assert profile_problems(profile(location=region), TODAY) == []
    problem = only(profile_problems(profile(type=A100, location=region), TODAY))
    assert (problem.code, problem.path, problem.instead) == (Code.NOT_IN_REGION, "location", (T4,))


@pytest.mark.parametrize("name", [T4, A100])
def test_east_us_2_has_no_serverless_gpu(name: str) -> None:
    problem = only(profile_problems(profile(type=name, location="East US 2"), TODAY))
    assert (problem.code, problem.value, problem.instead) == (Code.NOT_IN_REGION, "East US 2", ())
    assert "2026-03-01" in problem.source


def test_dedicated_gpus_are_in_west_us_3_and_north_europe() -> None:
    for region in ("westus3", "northeurope"):
        assert profile_problems(profile(type="NC24-A100", location=region, minimum_count=1, maximum_count=2), TODAY) == []
    problem = only(profile_problems(profile(type="NC24-A100", location="westeurope"), TODAY))
    assert (problem.code, problem.allowed) == (Code.NOT_IN_REGION, "northeurope, westus3")


@pytest.mark.parametrize("count", [0, 1])
def test_a_serverless_profile_refuses_a_minimum_count(count: int) -> None:
    problem = only(profile_problems(profile(minimum_count=count), TODAY))
    assert (problem.path, problem.value, problem.code) == ("minimum", count, Code.IMPOSSIBLE)


def test_a_maximum_below_the_minimum_leaves_nothing() -> None:
    dedicated = {"type": "NC24-A100", "location": "westus3"}
    assert only(profile_problems(profile(**dedicated, minimum_count=3, maximum_count=2), TODAY)).path == "maximum"
    assert only(profile_problems(profile(maximum_count=0), TODAY)).path == "maximum"
    assert only(profile_problems(profile(**dedicated, minimum_count=-1), TODAY)).path == "minimum"
    assert profile_problems(profile(maximum_count=10), TODAY) == []


def test_a_profile_named_like_its_type_has_too_long_a_name() -> None:
    problem = only(profile_problems(profile(name=T4), TODAY))
    assert (problem.path, problem.value, problem.code) == ("name", T4, Code.IMPOSSIBLE)
    # Azure/azure-cli issue 31239: fewer than 16 characters
    assert profile_problems(profile(name="x" * 15), TODAY) == []
    assert only(profile_problems(profile(name="x" * 16), TODAY)).path == "name"
    assert only(profile_problems(profile(name=""), TODAY)).path == "name"


@pytest.mark.parametrize(
    ("written", "meant"),
    [("consumption-gpu-nc8as-t4", T4), ("Consumption-GPU-NC24-A10", A100), ("NC24-A100x", "NC24-A100")],
)
def test_a_profile_that_is_not_known_is_a_warning_with_the_nearest(written: str, meant: str) -> None:
    for problem in (
        only(profile_problems(profile(type=written), TODAY)),
        only(job_problems(job(container(gpu=1), on=written), TODAY)),
    ):
        assert (problem.code, problem.severity, problem.value) == (Code.UNKNOWN, Severity.WARNING, written)
        assert problem.instead[0] == meant


def test_gpus_need_an_environment_with_workload_profiles() -> None:
    problem = only(profile_problems(profile(consumption_only=True), TODAY))
    assert (problem.path, problem.code) == ("type", Code.IMPOSSIBLE)


def test_a_dedicated_profile_comes_with_its_environment_or_never() -> None:
    dedicated = {"type": "NC48-A100", "location": "westus3"}
    assert profile_problems(profile(**dedicated), TODAY) == []
    problem = only(profile_problems(profile(**dedicated, added_later=True), TODAY))
    assert (problem.code, problem.instead) == (Code.IMPOSSIBLE, (A100,))
    assert profile_problems(profile(added_later=True), TODAY) == []


@pytest.mark.parametrize("gpu", [0.5, 2, 4, -1, float("nan"), float("inf")])
def test_a_replica_has_one_whole_gpu(gpu: float) -> None:
    problem = only(job_problems(job(container(gpu=gpu)), TODAY))
    assert (problem.path, problem.allowed, problem.code) == ("first.gpu", "1", Code.IMPOSSIBLE)


@pytest.mark.parametrize("gpu", [1, 1.0, None, 0])
def test_the_first_container_gets_the_gpu_whether_it_says_so_or_not(gpu: float | None) -> None:
    assert job_problems(job(container(gpu=gpu), container("second")), TODAY) == []


def test_only_the_first_container_gets_the_gpu() -> None:
    problem = only(job_problems(job(container(), container("second", gpu=1)), TODAY))
    assert (problem.path, problem.code) == ("second.gpu", Code.IMPOSSIBLE)


def test_the_containers_of_a_replica_share_the_profile() -> None:
    assert job_problems(job(container(cpu=4, memory_gib=28), container("second", cpu=4, memory_gib=28)), TODAY) == []
    problems = job_problems(job(container(cpu=4, memory_gib=28), container("second", cpu=5, memory_gib=29)), TODAY)
    assert [(problem.path, problem.value) for problem in problems] == [("second.cpu", 9), ("second.memory", 57)]
    assert job_problems(job(), TODAY) == []


def test_before_the_first_page_about_them_nothing_is_known() -> None:
    # gpu-serverless-overview, 2024-11-06: preview in West US 3 and Australia East
    for problem in profile_problems(profile(location="westus3"), date(2024, 11, 5)):
        assert (problem.code, problem.severity) == (Code.UNKNOWN, Severity.WARNING)
        assert "2024-11-06" in problem.message
    assert profile_problems(profile(location="westus3"), date(2024, 11, 6)) == []
    later = only(profile_problems(profile(location="westeurope"), date(2024, 11, 6)))
    assert (later.code, later.severity) == (Code.UNKNOWN, Severity.WARNING)


def test_serverless_gpus_are_proposed_from_that_page_on() -> None:
    assert container_apps.serverless_on(date(2024, 11, 5)) == ()
    assert container_apps.serverless_on(date(2024, 11, 6)) == (T4, A100)


def test_all_problems_come_at_once() -> None:
    request = profile(name=T4, minimum_count=1, maximum_count=0, location="uksouth", consumption_only=True)
    assert sorted(problem.path for problem in profile_problems(request, TODAY)) == [
        "location",
        "maximum",
        "minimum",
        "name",
        "type",
    ]


@given(
    st.text(max_size=40) | st.sampled_from(sorted(container_apps.PROFILES)),
    st.text(max_size=20),
    st.none() | st.integers(),
    st.none() | st.integers(),
    st.booleans(),
    st.booleans(),
    st.dates(),
)
def test_odd_profiles_never_raise(
    kind: str, name: str, least: int | None, most: int | None, only_consumption: bool, later: bool, day: date
) -> None:
    request = profile(
        type=kind,
        name=name,
        location=name,
        minimum_count=least,
        maximum_count=most,
        consumption_only=only_consumption,
        added_later=later,
    )
    problems = profile_problems(request, day)
    assert all(problem.path and problem.message for problem in problems)
    assert any(problem.path == "name" for problem in errors(problems)) == (not 1 <= len(name) <= 15)


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
