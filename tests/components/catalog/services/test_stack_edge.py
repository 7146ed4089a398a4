"""Azure Stack Edge devices with GPUs. Expectations are literals of Microsoft's pages of 2021 to 2024."""

from datetime import date
from typing import Any

from hypothesis import given, strategies as st

from azure_gpu.catalog import facts
from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.catalog.services import stack_edge, stack_edge_commands, stack_edge_jobs
from azure_gpu.catalog.services.gpu_sharing import SharingRequest
from azure_gpu.catalog.services.stack_edge import DeviceRequest
from azure_gpu.catalog.services.stack_edge_jobs import EdgeJob
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES

TODAY = date(2026, 11, 20)
MPS = SharingRequest(path="sharing", strategy="mps")
NONE = SharingRequest(path="sharing", strategy="none")


def only(problems: list[Problem]) -> Problem:
    (problem,) = problems
    return problem


def of_size(name: str, as_of: date = TODAY, **changed: Any) -> list[Problem]:
    size = SIZES.find(name)
    assert size is not None
    use = SizeUse(service=Service.STACK_EDGE, size=name, region="", path="vm.size", region_path="", **changed)
    return list(stack_edge.size_problems(size, use, as_of))


def jobs(*asked: EdgeJob, sharing: SharingRequest = NONE, gpus: int = 1) -> list[Problem]:
    return list(stack_edge_jobs.job_problems(asked, sharing, gpus))


def job(visible_devices: str | None = "0", name: str = "a", **changed: Any) -> EdgeJob:
    return EdgeJob(path=name, visible_devices=visible_devices, **changed)


def test_more_than_a_whole_gpu_is_a_warning() -> None:
    shares = [job("0", name, active_thread_percentage=50, host_ipc=True) for name in ("a", "b")]
    assert jobs(*shares, sharing=MPS) == []
    over = only(jobs(*shares, job("0", "c", active_thread_percentage=20, host_ipc=True), sharing=MPS))
    assert (over.severity, over.path) == (Severity.WARNING, "c.active_thread_percentage")
    assert jobs(*shares, job("1", "c", active_thread_percentage=20, host_ipc=True), sharing=MPS, gpus=2) == []


def test_commands_of_the_device_in_both_spellings() -> None:
    names = {command.name: command for command in stack_edge_commands.COMMANDS}
    assert set(names) == {
        "Start-HcsGpuMPS",
        "Get-HcsGpuNvidiaSmi",
        "New-HcsKubernetesNamespace",
        "New-HcsKubernetesUser",
        "Grant-HcsKubernetesNamespaceAccess",
        "Get-HcsKubernetesUserConfig",
    }
    assert names["Get-HcsGpuNvidiaSmi"].also_spelt == "Get-HcsNvidiaSmi"
    assert names["Grant-HcsKubernetesNamespaceAccess"].parameters == ("-Namespace", "-UserName")


def test_the_driver_and_the_sample_job() -> None:
    values = {fact.name: fact.value for fact in facts.about("stack_edge_commands")}
    assert values["driver of software 2102"] == "460.32.03 with CUDA 11.2"
    assert "nvidia/samples:nbody" in values["sample job"]
    assert "hostIPC" in values["sample job's settings"]


@given(
    st.builds(
        DeviceRequest,
        path=st.just("edge"),
        model=st.sampled_from(["Pro GPU", "Pro 2", "Pro FPGA", ""]),
        gpu=st.sampled_from(["T4", "A2", "V100", ""]),
        gpu_count=st.integers(-1, 4),
        gpu_vms=st.integers(-1, 4),
        kubernetes=st.booleans(),
        kubernetes_first=st.booleans(),
        managed_iot_edge=st.booleans(),
        paths=st.just({}),
    ),
    st.dates(date(2015, 1, 1), date(2035, 1, 1)),
    st.sampled_from([one.name for one in SIZES]),
)
def test_no_device_no_size_and_no_day_raises(request: DeviceRequest, as_of: date, name: str) -> None:
    for problem in stack_edge.device_problems(request, as_of):
        assert problem.path.startswith("edge.")
    for problem in of_size(name, as_of):
        assert problem.path == "vm.size"


@given(
    st.lists(
        st.builds(
            EdgeJob,
            path=st.just("job"),
            visible_devices=st.none() | st.sampled_from(["0", "1", "none", "all", "0,1", ""]),
            active_thread_percentage=st.none() | st.floats(),
            host_ipc=st.booleans(),
        ),
        max_size=4,
    ),
    st.sampled_from([MPS, NONE]),
    st.none() | st.integers(0, 2) | st.just(10**18),
)
def test_no_jobs_raise(asked: list[EdgeJob], sharing: SharingRequest, gpus: int | None) -> None:
    for problem in stack_edge_jobs.job_problems(asked, sharing, gpus):
        assert problem.path.startswith(("job", "sharing"))
