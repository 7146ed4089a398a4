"""Azure Stack Edge devices with GPUs. Expectations are literals of Microsoft's pages of 2021 to 2024."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog import facts
from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.catalog.services import stack_edge, stack_edge_commands, stack_edge_jobs
from azure_gpu.catalog.services.gpu_sharing import SharingRequest
from azure_gpu.catalog.services.stack_edge import Claims, DeviceRequest, claims
from azure_gpu.catalog.services.stack_edge_jobs import EdgeJob
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import VmGeneration

TODAY = date(2026, 11, 20)
DOCUMENT = date(2021, 3, 5)
MPS = SharingRequest(path="sharing", strategy="mps")
NONE = SharingRequest(path="sharing", strategy="none")


def only(problems: list[Problem]) -> Problem:
    (problem,) = problems
    return problem


def device(as_of: date = TODAY, **changed: Any) -> list[Problem]:
    return list(stack_edge.device_problems(DeviceRequest(path="edge", **changed), as_of))


def of_size(name: str, as_of: date = TODAY, **changed: Any) -> list[Problem]:
    size = SIZES.find(name)
    assert size is not None
    use = SizeUse(service=Service.STACK_EDGE, size=name, region="", path="vm.size", region_path="", **changed)
    return list(stack_edge.size_problems(size, use, as_of))


def jobs(*asked: EdgeJob, sharing: SharingRequest = NONE, gpus: int = 1) -> list[Problem]:
    return list(stack_edge_jobs.job_problems(asked, sharing, gpus))


def job(visible_devices: str | None = "0", name: str = "a", **changed: Any) -> EdgeJob:
    return EdgeJob(path=name, visible_devices=visible_devices, **changed)


@pytest.mark.parametrize("as_of", [DOCUMENT, TODAY])
@pytest.mark.parametrize("count", [1, 2])
def test_the_set_up_of_2021_is_taken_then_and_today(as_of: date, count: int) -> None:
    assert device(as_of, gpu="T4", gpu_count=count) == []
    shared = jobs(
        job(active_thread_percentage=20, host_ipc=True), job(name="b", active_thread_percentage=20, host_ipc=True), sharing=MPS
    )
    assert shared == []
    assert errors(jobs(job(None, active_thread_percentage=20), sharing=MPS)) == []


def test_a2_came_later_in_another_model() -> None:
    assert device(model="Pro 2", gpu="A2") == []
    assert {problem.code for problem in device(DOCUMENT, model="Pro 2", gpu="A2")} == {Code.UNKNOWN}
    doubt = only(device(gpu="A2"))
    assert (doubt.code, doubt.severity) == (Code.UNKNOWN, Severity.WARNING)


@pytest.mark.parametrize("count", [0, 3, -1])
def test_a_device_has_one_gpu_or_two(count: int) -> None:
    problem = only(device(gpu_count=count))
    assert (problem.code, problem.path, problem.allowed) == (Code.IMPOSSIBLE, "edge.gpu_count", "1, 2")


def test_other_gpus_and_models_are_named() -> None:
    assert only(device(gpu="V100")).allowed == "T4, A2"
    assert only(device(model="Pro R")).code is Code.UNKNOWN


def test_what_has_ended() -> None:
    fpga = [problem.code for problem in device(model="Pro FPGA") if problem.path == "edge.model"]
    assert fpga == [Code.RETIRED]
    assert Code.RETIRED not in {problem.code for problem in device(date(2024, 2, 29), model="Pro FPGA")}
    iot = only(device(managed_iot_edge=True))
    assert (iot.code, iot.path) == (Code.RETIRED, "edge.managed_iot_edge")
    assert "2024-03-31" in iot.message
    assert only(device(date(2024, 3, 31), managed_iot_edge=True)).code is Code.RETIRING
    assert device(DOCUMENT, managed_iot_edge=True) == []


@pytest.mark.parametrize(
    ("gpus", "vms", "kubernetes_first", "expected"),
    [
        (1, 1, False, Claims(1, 0)),
        (1, 0, False, Claims(0, 1)),
        (1, 1, True, Claims(0, 1)),
        (2, 1, False, Claims(1, 1)),
        (2, 2, False, Claims(2, 0)),
        (2, 1, True, Claims(0, 2)),
        (2, 0, False, Claims(0, 2)),
    ],
)
def test_who_claims_the_gpus(gpus: int, vms: int, kubernetes_first: bool, expected: Claims) -> None:
    assert claims(gpus, vms, kubernetes_first) == expected


def test_virtual_machines_come_before_kubernetes() -> None:
    assert device(gpu_count=2, gpu_vms=1) == []
    assert device(gpu_count=2, gpu_vms=2, kubernetes=False) == []
    assert device(gpu_count=2, kubernetes_first=True) == []
    first = only(device(gpu_count=2, gpu_vms=1, kubernetes_first=True))
    assert (first.code, first.severity, first.path) == (Code.IMPOSSIBLE, Severity.ERROR, "edge.kubernetes_first")
    nothing_left = only(device(gpu_count=2, gpu_vms=2))
    assert (nothing_left.severity, nothing_left.path) == (Severity.WARNING, "edge.gpu_vms")
    too_many = only(device(gpu_count=1, gpu_vms=2, kubernetes=False))
    assert (too_many.code, too_many.allowed) == (Code.IMPOSSIBLE, "0 to 1")


def test_the_one_size_that_is_named_is_of_the_t4() -> None:
    assert of_size("Standard_NC4as_T4_v3") == []
    assert only(of_size("Standard_NC4as_T4_v3", DOCUMENT)).severity is Severity.WARNING
    for name in ("Standard_NC64as_T4_v3", "Standard_NC24ads_A100_v4", "Standard_NC6"):
        problem = only(of_size(name))
        assert (problem.code, problem.instead) == (Code.NOT_OFFERED, ("Standard_NC4as_T4_v3",))
    assert only(of_size("Standard_NC4as_T4_v3", spot=True)).code is Code.IMPOSSIBLE
    assert only(of_size("Standard_NC4as_T4_v3", nodes=3)).value == 3
    assert of_size("Standard_NC4as_T4_v3", nodes=2) == []
    assert of_size("Standard_HB120rs_v3") == []


def test_virtual_machines_with_a_gpu_are_gen1_of_some_systems() -> None:
    def found(generation: VmGeneration, system: str) -> list[tuple[Code, str]]:
        return [(problem.code, problem.path) for problem in stack_edge.vm_problems(generation, system, "generation", "system")]

    for system in ("Windows Server 2016 Core", "Windows Server 2019 Core", "Red Hat Enterprise Linux 7.4"):
        assert found(VmGeneration.GEN1, system) == []
    assert found(VmGeneration.GEN2, "Windows Server 2019 Core") == [(Code.IMPOSSIBLE, "generation")]
    assert found(VmGeneration.GEN1, "Ubuntu 18.04") == [(Code.RETIRING, "system")]
    assert found(VmGeneration.GEN1, "Ubuntu 24.04") == [(Code.UNKNOWN, "system")]


def test_jobs_see_one_gpu_or_none_and_several_see_the_same() -> None:
    assert jobs(job("0"), job("1", "b"), job("1", "c"), job("none", "d"), gpus=2) == []
    for devices in ("0,1", "all"):
        assert "one GPU at most" in only(jobs(job(devices), gpus=2)).message
    assert "fractions" in only(jobs(job("0.5"))).message
    assert only(jobs(job("1"), gpus=1)).allowed == "0, none"
    assert only(jobs(job("0"), gpus=0)).allowed == "none"
    assert jobs(job("7"), gpus=10**18) == []  # that no device has so many is said of the device


def test_leaving_the_gpu_out_never_means_all() -> None:
    problem = only(jobs(job(None)))
    assert (problem.severity, problem.path) == (Severity.WARNING, "a.visible_devices")


def test_fractions_need_mps() -> None:
    problem = only(jobs(job(active_thread_percentage=20)))
    assert (problem.code, problem.path) == (Code.IMPOSSIBLE, "a.active_thread_percentage")
    assert jobs(job(active_thread_percentage=20, host_ipc=True), sharing=MPS) == []
    assert only(jobs(job(active_thread_percentage=120, host_ipc=True), sharing=MPS)).allowed == "more than 0, at most 100"
    assert only(jobs(job("none", active_thread_percentage=20), sharing=MPS)).code is Code.IMPOSSIBLE


def test_more_than_a_whole_gpu_is_a_warning() -> None:
    shares = [job("0", name, active_thread_percentage=50, host_ipc=True) for name in ("a", "b")]
    assert jobs(*shares, sharing=MPS) == []
    over = only(jobs(*shares, job("0", "c", active_thread_percentage=20, host_ipc=True), sharing=MPS))
    assert (over.severity, over.path) == (Severity.WARNING, "c.active_thread_percentage")
    assert jobs(*shares, job("1", "c", active_thread_percentage=20, host_ipc=True), sharing=MPS, gpus=2) == []


def test_mps_jobs_without_the_hosts_communication_are_warned() -> None:
    assert only(jobs(job(), sharing=MPS)).path == "a.host_ipc"
    assert jobs(job("none"), sharing=MPS) == []


@pytest.mark.parametrize("strategy", ["time-slicing", "mig"])
def test_a_device_has_no_other_ways_of_sharing(strategy: str) -> None:
    assert only(jobs(sharing=SharingRequest(path="sharing", strategy=strategy))).allowed == "none, mps"


def test_replicas_are_the_device_plugins_and_no_devices() -> None:
    assert only(jobs(sharing=SharingRequest(path="sharing", strategy="mps", replicas=2))).path == "sharing.replicas"


def test_where_nobody_says_how_many_gpus_there_are_any_index_may_be_one() -> None:
    assert list(stack_edge_jobs.job_problems([job("7")], NONE, None)) == []
    [problem] = stack_edge_jobs.job_problems([job("seven")], NONE, None)
    assert (problem.path, problem.allowed) == ("a.visible_devices", "the index of a GPU, none")
    [both] = stack_edge_jobs.job_problems([job("0,1")], NONE, None)
    assert both.code is Code.IMPOSSIBLE


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
