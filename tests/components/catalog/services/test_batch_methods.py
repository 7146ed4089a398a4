"""The ways to get the software of GPUs and InfiniBand onto Batch nodes: which one a pool takes, then and now."""

from datetime import date

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog.problems import Code, errors
from azure_gpu.catalog.services.batch.driver_package import driver_command
from azure_gpu.catalog.services.batch.method_choice import MethodKind, RequestedMethod, choose
from azure_gpu.catalog.services.batch.pools import problems
from azure_gpu.catalog.services.batch.request import ContainerTasks, ImageKind, Mpi, PackageReference, PoolRequest, StartTask
from azure_gpu.catalog.services.vm_image_table import IMAGES
from azure_gpu.catalog.services.vm_images import ImageReference
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Driver
from tests.support.batch_methods import DOCUMENT, found, mpi, pool

WINDOWS = OperatingSystem.WINDOWS
CONTAINERS = ContainerTasks()
HPC = "microsoft-dsvm/ubuntu-hpc/2404"


@pytest.mark.parametrize(
    ("request_", "image", "agent", "why"),
    [
        (pool("NC4as_T4_v3"), HPC, "batch.node.ubuntu 24.04", f"{HPC} brings the NVIDIA driver for the T4"),
        (
            pool("NC24ads_A100_v4", containers=CONTAINERS),
            HPC,
            "batch.node.ubuntu 24.04",
            f"{HPC} brings the NVIDIA driver for the A100 and a container runtime",
        ),
        (
            mpi("HB120rs_v3", Mpi.HPCX),
            HPC,
            "batch.node.ubuntu 24.04",
            f"{HPC} brings drivers for InfiniBand and HPC-X",
        ),
        (
            mpi("ND96isr_H100_v5", Mpi.HPCX, containers=CONTAINERS),
            HPC,
            "batch.node.ubuntu 24.04",
            f"{HPC} brings the NVIDIA driver for the H100, drivers for InfiniBand, HPC-X and a container runtime",
        ),
        (
            pool("ND96isr_MI300X_v5"),
            "microsoft-dsvm/ubuntu-hpc/2404-rocm",
            "batch.node.ubuntu 24.04",
            "microsoft-dsvm/ubuntu-hpc/2404-rocm brings the ROCm driver for the MI300X",
        ),
        (
            pool("ND40rs_v2"),
            "microsoft-dsvm/ubuntu-hpc/2204-v100",
            "batch.node.ubuntu 22.04",
            "microsoft-dsvm/ubuntu-hpc/2204-v100 brings the NVIDIA driver for the V100",
        ),
        (
            pool("NC40ads_H100_v5", operating_system=WINDOWS),
            "microsoft-dsvm/dsvm-win-2022/winserver-2022",
            "batch.node.windows amd64",
            "microsoft-dsvm/dsvm-win-2022/winserver-2022 brings the NVIDIA driver for the H100",
        ),
        (
            pool("HB120rs_v3", inter_node=True, mpi=Mpi.HPCX),
            HPC,
            "batch.node.ubuntu 24.04",
            f"{HPC} brings HPC-X",
        ),
    ],
    ids=["t4", "a100 containers", "hpc-x", "h100 all", "mi300x", "v100", "h100 windows", "hpc-x without rdma"],
)
def test_an_image_that_brings_all_is_taken_today(request_: PoolRequest, image: str, agent: str, why: str) -> None:
    method, against = found(request_)
    assert (method.kind, str(method.image), method.node_agent, method.why) == (MethodKind.MARKETPLACE_IMAGE, image, agent, why)
    assert (method.extension, method.start_task, method.packages) == (None, None, ())
    assert errors(against) == []


@pytest.mark.parametrize(
    ("request_", "image", "type_", "settings", "version"),
    [
        (pool("NV36ads_A10_v5"), "Canonical/ubuntu-24_04-lts/server", "NvidiaGpuDriverLinux", {}, "1.11"),
        (
            pool("NC4as_T4_v3", operating_system=WINDOWS),
            "MicrosoftWindowsServer/WindowsServer/2022-datacenter-g2",
            "NvidiaGpuDriverWindows",
            {},
            "",
        ),
        (
            pool("NC24ads_A100_v4", operating_system=WINDOWS),
            "MicrosoftWindowsServer/WindowsServer/2022-datacenter-g2",
            "NvidiaGpuDriverWindows",
            {},
            "",
        ),
        (
            pool("NC4as_T4_v3", needs=Driver.GRID),
            "Canonical/ubuntu-24_04-lts/server",
            "NvidiaGpuDriverLinux",
            {"installGridNC": True},
            "1.11",
        ),
    ],
    ids=["a10", "t4 windows", "a100 windows", "t4 for graphics"],
)
def test_the_extension_is_taken_where_no_image_drives_the_gpu(
    request_: PoolRequest, image: str, type_: str, settings: dict[str, object], version: str
) -> None:
    method, against = found(request_)
    assert (method.kind, str(method.image), method.extension_version) == (MethodKind.EXTENSION, image, version)
    assert method.extension is not None
    assert (method.extension.publisher, method.extension.type, dict(method.extension.settings)) == (
        "Microsoft.HpcCompute",
        type_,
        settings,
    )
    assert errors(against) == []


def test_a_pool_without_gpu_and_infiniband_needs_a_plain_image() -> None:
    method, against = found(pool("HB120rs_v3"))
    assert (method.kind, str(method.image)) == (MethodKind.NOTHING, "Canonical/ubuntu-24_04-lts/server")
    assert against == []
    method, against = found(pool("HB120rs_v3", containers=CONTAINERS))
    assert (method.kind, str(method.image)) == (MethodKind.NOTHING, HPC)
    assert against == []
    method, _ = found(pool("HB120rs_v3", operating_system=WINDOWS))
    assert str(method.image) == "MicrosoftWindowsServer/WindowsServer/2022-datacenter-g2"


@pytest.mark.parametrize(
    ("request_", "image"),
    [
        (mpi("H16r", Mpi.INTEL_MPI), "OpenLogic/CentOS-HPC/7.4"),
        (pool("NC6", containers=CONTAINERS), "microsoft-azure-batch/ubuntu-server-container/16-04-lts"),
        (
            pool("NC24r", rdma=True, inter_node=True, containers=CONTAINERS),
            "microsoft-azure-batch/ubuntu-server-container-rdma/16-04-lts",
        ),
        (pool("NC6"), "microsoft-dsvm/linux-data-science-vm-ubuntu/linuxdsvmubuntu"),
    ],
    ids=["intel mpi", "containers", "containers with rdma", "data science"],
)
def test_the_documents_images_are_chosen_at_its_day(request_: PoolRequest, image: str) -> None:
    method, against = found(request_, DOCUMENT)
    assert (method.kind, str(method.image)) == (MethodKind.MARKETPLACE_IMAGE, image)
    assert errors(against) == []


def test_between_the_days_of_the_sources_what_was_seen_soon_after_does_with_a_warning() -> None:
    day = date(2026, 3, 1)
    method, against = found(pool("NC4as_T4_v3"), day)
    assert (method.kind, str(method.image), errors(against)) == (MethodKind.MARKETPLACE_IMAGE, HPC, [])
    assert {problem.code for problem in against} == {Code.UNKNOWN}
    named = pool("NC4as_T4_v3", image=ImageReference("microsoft-dsvm", "ubuntu-hpc", "2404"))
    assert found(named, day)[0].kind is MethodKind.MARKETPLACE_IMAGE
    method, against = found(pool("NC4as_T4_v3"), date(2022, 6, 1))
    assert (method.kind, str(method.image)) == (MethodKind.EXTENSION, "Canonical/UbuntuServer/18.04-LTS")


def test_the_documents_windows_pool_gets_its_driver_from_the_package_then_and_now() -> None:
    asked = pool("NC6", operating_system=WINDOWS)
    method, against = found(asked, DOCUMENT, RequestedMethod.PACKAGE, package="GPUDriver", driver_version="411.82")
    assert (method.kind, str(method.image)) == (MethodKind.PACKAGE, "MicrosoftWindowsServer/WindowsServer/2016-Datacenter")
    assert method.packages == (PackageReference("GPUDriver", "411.82"),)
    assert method.start_task == StartTask(
        command_line='cmd /c "%AZ_BATCH_APP_PACKAGE_GPUDriver#411.82%\\GPUDriverSetup.exe /s"',
        elevated=True,
        wait_for_success=True,
        installs_driver=True,
        driver_version="411.82",
    )
    assert against == []
    method, against = found(pool("NC4as_T4_v3", operating_system=WINDOWS), package="GPUDriver", driver_version="580.88")
    assert (method.kind, str(method.image)) == (MethodKind.PACKAGE, "MicrosoftWindowsServer/WindowsServer/2022-datacenter-g2")
    assert against == []


def test_a_package_that_the_pool_names_already_gives_the_version() -> None:
    asked = pool("NC4as_T4_v3", package_references=(PackageReference("Drivers", "570.26"), PackageReference("App", "1")))
    method, against = found(asked, requested=RequestedMethod.PACKAGE, package="Drivers")
    assert method.packages == asked.package_references
    assert method.start_task is not None
    assert method.start_task.driver_version == "570.26"
    assert "$AZ_BATCH_APP_PACKAGE_Drivers_570_26/GPUDriverSetup.run" in method.start_task.command_line
    assert against == []


def test_a_drivers_package_installs_itself_once_on_linux() -> None:
    command = driver_command(PackageReference("GPUDriver", "580.65.06"), OperatingSystem.LINUX)
    assert command.startswith("/bin/bash -c 'nvidia-smi || {")
    assert 'sh "$AZ_BATCH_APP_PACKAGE_GPUDriver_580_65_06/GPUDriverSetup.run" --silent' in command


@given(
    st.one_of(st.none(), st.sampled_from([size.name for size in SIZES])),
    st.sampled_from(list(OperatingSystem)),
    st.sampled_from(list(RequestedMethod)),
    st.one_of(st.none(), st.just(CONTAINERS)),
    st.one_of(st.none(), st.sampled_from(list(Mpi))),
    st.booleans(),
    st.one_of(st.none(), st.sampled_from([image.reference for image in IMAGES])),
    st.sampled_from(list(ImageKind)),
    st.sampled_from(["", "411.82", "580.65.06", "12.2"]),
    st.sampled_from(["", "GPUDriver"]),
    st.dates(date(2015, 1, 1), date(2035, 1, 1)),
)
def test_every_wish_has_a_way_with_a_reason_or_a_problem(
    size: str | None,
    system: OperatingSystem,
    requested: RequestedMethod,
    containers: ContainerTasks | None,
    flavour: Mpi | None,
    rdma: bool,
    image: ImageReference | None,
    kind: ImageKind,
    version: str,
    package: str,
    day: date,
) -> None:
    asked = PoolRequest(
        path="pools.train",
        size=SIZES.find(size) if size else None,
        operating_system=system,
        containers=containers,
        mpi=flavour,
        rdma=rdma,
        inter_node=True,
        dedicated_nodes=1,
        image=image if kind is ImageKind.MARKETPLACE else None,
        image_kind=kind,
        node_agent="batch.node.ubuntu 24.04" if kind is not ImageKind.MARKETPLACE else "",
        auto_storage=True,
    )
    method, refusals = choose(asked, day, requested, driver_version=version, package=package)
    assert method.why
    assert not method.why.endswith(".")
    applied = method.applied(asked)
    if image is not None and kind is ImageKind.MARKETPLACE:
        assert applied.image == image
    if kind is not ImageKind.MARKETPLACE:
        assert applied.image is None
    everything = [*refusals, *problems(applied, day)]
    assert all(problem.message and problem.path.startswith("pools.train") for problem in everything)
    assert len({(problem.path, problem.message) for problem in everything}) == len(everything)  # nothing twice
    if requested is RequestedMethod.AUTO and method.kind is MethodKind.MARKETPLACE_IMAGE and image is None:
        assert not [one for one in everything if one.code is Code.WRONG_DRIVER and one.path.endswith("image")]
