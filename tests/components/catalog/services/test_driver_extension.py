"""The driver extension. Expectations are literals from Azure/azhpc-extensions and from the third source document."""

from collections.abc import Mapping
from datetime import date

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.driver_extension import ExtensionRequest, driver_of, extension_problems, type_for
from azure_gpu.catalog.services.vm_images import Distribution
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Driver, Size, Vendor

TODAY = date(2026, 11, 20)
LINUX = "NvidiaGpuDriverLinux"
WINDOWS = "NvidiaGpuDriverWindows"


def size(name: str) -> Size:
    found = SIZES.find(name)
    assert found is not None
    return found


def check(
    name: str,
    distribution: Distribution | None = Distribution.UBUNTU_22_04,
    *,
    kind: str = LINUX,
    settings: Mapping[str, object] | None = None,
    day: date = TODAY,
    needs: Driver | None = None,
    publisher: str = "Microsoft.HpcCompute",
    secure_boot: bool = False,
) -> list[Problem]:
    request = ExtensionRequest(
        publisher=publisher, type=kind, settings=settings or {}, secure_boot=secure_boot, path="pool.extensions.0"
    )
    return list(extension_problems(request, size(name), distribution, day, needs=needs))


@pytest.mark.parametrize(
    ("name", "driver"),
    [
        ("NC6s_v3", Driver.CUDA),
        ("NC24ads_A100_v4", Driver.CUDA),
        ("NC4as_T4_v3", Driver.CUDA),
        ("NV12s_v3", Driver.GRID),
        ("NV36ads_A10_v5", Driver.GRID),
        ("NC40ads_H100_v5", None),
        ("ND96isr_H200_v5", None),
        ("ND96asr_v4", None),
    ],
)
def test_the_default_driver_follows_the_family(name: str, driver: Driver | None) -> None:
    assert driver_of(size(name), {}) is driver


def test_the_type_follows_vendor_and_operating_system() -> None:
    assert type_for(Vendor.NVIDIA, OperatingSystem.LINUX) == LINUX
    assert type_for(Vendor.NVIDIA, OperatingSystem.WINDOWS) == WINDOWS
    assert type_for(Vendor.AMD, OperatingSystem.WINDOWS) == "AmdGpuDriverWindows"
    assert type_for(Vendor.AMD, OperatingSystem.LINUX) == ""


@pytest.mark.parametrize(
    "distribution",
    [
        Distribution.UBUNTU_22_04,
        Distribution.UBUNTU_20_04,
        Distribution.UBUNTU_18_04,
        Distribution.RHEL_8,
        Distribution.CENTOS_7_4,
    ],
)
def test_cuda_for_a_t4_exists_under_these(distribution: Distribution) -> None:
    assert check("NC4as_T4_v3", distribution) == []


def test_no_cuda_entry_exists_for_ubuntu_24_04_but_grid_does() -> None:
    (problem,) = check("NC4as_T4_v3", Distribution.UBUNTU_24_04)
    assert (problem.code, problem.severity) == (Code.NOT_OFFERED, Severity.ERROR)
    assert "Ubuntu 24.04" in problem.message
    assert "Ubuntu 22.04 LTS" in problem.allowed
    assert check("NC4as_T4_v3", Distribution.UBUNTU_24_04, settings={"installGridNC": True}) == []
    assert check("NV36ads_A10_v5", Distribution.UBUNTU_24_04) == []


@pytest.mark.parametrize("name", ["NC40ads_H100_v5", "ND96isr_H100_v5", "ND96isr_H200_v5", "ND96asr_v4"])
def test_h100_h200_and_nd_are_not_on_the_list(name: str) -> None:
    (problem,) = check(name)
    assert problem.code is Code.NOT_OFFERED
    assert "ubuntu-hpc" in problem.fix


@pytest.mark.parametrize("name", ["ND128isr_GB300_v6", "NC144ds_xl_RTXPRO6000BSE_v6"])
def test_of_a_size_that_came_after_the_list_it_says_nothing(name: str) -> None:
    (problem,) = check(name)
    assert (problem.code, problem.severity) == (Code.UNKNOWN, Severity.WARNING)


def test_grid_on_a_t4_takes_a_setting() -> None:
    (problem,) = check("NC4as_T4_v3", needs=Driver.GRID)
    assert problem.code is Code.WRONG_DRIVER
    assert "installGridNC" in problem.fix
    assert check("NC4as_T4_v3", needs=Driver.GRID, settings={"installGridNC": True}) == []


def test_grid_can_not_be_forced_where_the_list_has_none() -> None:
    problems = check("NC24ads_A100_v4", settings={"installGridNC": True})
    assert [problem.code for problem in problems] == [Code.WRONG_DRIVER]


def test_grid_runs_what_needs_cuda() -> None:
    assert check("NV36ads_A10_v5", needs=Driver.CUDA) == []


@pytest.mark.parametrize(
    ("name", "distribution", "kind"),
    [("NC4as_T4_v3", Distribution.WINDOWS_2022, LINUX), ("NC4as_T4_v3", Distribution.UBUNTU_22_04, WINDOWS)],
)
def test_the_extension_has_to_match_the_operating_system(name: str, distribution: Distribution, kind: str) -> None:
    (problem,) = check(name, distribution, kind=kind)
    assert problem.code is Code.WRONG_DRIVER


def test_amd_has_an_extension_under_windows_alone() -> None:
    day = date(2025, 1, 1)
    assert check("NV4as_v4", Distribution.WINDOWS_2019, kind="AmdGpuDriverWindows", day=day) == []
    (problem,) = check("NV4as_v4", Distribution.UBUNTU_22_04, kind="AmdGpuDriverLinux", day=day)
    assert problem.code is Code.NOT_OFFERED
    (problem,) = check("NV4as_v4", Distribution.WINDOWS_2019, kind=WINDOWS, day=day)
    assert problem.code is Code.WRONG_DRIVER


def test_a_size_without_a_gpu_has_nothing_to_install() -> None:
    (problem,) = check("HB120rs_v3")
    assert problem.code is Code.IMPOSSIBLE


def test_secure_boot_and_another_publisher_are_refused() -> None:
    problems = check("NC4as_T4_v3", secure_boot=True, publisher="Contoso")
    assert [problem.code for problem in problems] == [Code.IMPOSSIBLE, Code.IMPOSSIBLE]


def test_the_documents_machine_had_the_extension_in_2018() -> None:
    assert check("NC6", Distribution.UBUNTU_16_04, day=date(2018, 12, 17)) == []


def test_what_no_source_of_that_time_says_is_a_warning() -> None:
    (problem,) = check("NV6", Distribution.UBUNTU_16_04, day=date(2018, 12, 17))
    assert (problem.code, problem.severity) == (Code.UNKNOWN, Severity.WARNING)
    (problem,) = check("NC6s_v3", Distribution.UBUNTU_16_04, day=date(2018, 12, 17))
    assert (problem.code, problem.severity) == (Code.UNKNOWN, Severity.WARNING)


def test_a_pinned_toolkit_older_than_the_gpu_is_refused() -> None:
    assert check("NC4as_T4_v3", Distribution.CENTOS_7_4, settings={"driverVersion": "10.0.130"}) == []
    (problem,) = check("NC24ads_A100_v4", Distribution.CENTOS_7_4, settings={"driverVersion": "10.0.130"})
    assert problem.code is Code.WRONG_DRIVER
    assert check("NC24ads_A100_v4", settings={"driverVersion": "latest"}) == []


@given(
    st.sampled_from([one.name for one in SIZES]),
    st.one_of(st.none(), st.sampled_from(list(Distribution))),
    st.sampled_from([LINUX, WINDOWS, "AmdGpuDriverWindows", "nonsense", ""]),
    st.dictionaries(st.sampled_from(["installGridNC", "installGridND", "driverVersion"]), st.one_of(st.booleans(), st.text())),
    st.dates(date(2016, 1, 1), date(2030, 1, 1)),
    st.one_of(st.none(), st.sampled_from(list(Driver))),
)
def test_nothing_raises_and_every_problem_has_a_source(
    name: str, distribution: Distribution | None, kind: str, settings: dict[str, object], day: date, needs: Driver | None
) -> None:
    for problem in check(name, distribution, kind=kind, settings=settings, day=day, needs=needs):
        assert problem.path == "pool.extensions.0"
        assert problem.message
