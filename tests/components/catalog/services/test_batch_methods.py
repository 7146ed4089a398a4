"""The ways to get the software of GPUs and InfiniBand onto Batch nodes: which one a pool takes, then and now."""

from datetime import date
from typing import get_args

from hypothesis import given, strategies as st

from azure_gpu.catalog.problems import Code
from azure_gpu.catalog.services.batch.methods import RequestedMethod, choose
from azure_gpu.catalog.services.batch.packages import driver_command
from azure_gpu.catalog.services.batch.pools import problems
from azure_gpu.catalog.services.batch.request import ContainerTasks, ImageKind, Mpi, PackageReference, PoolRequest, StartTask
from azure_gpu.catalog.services.vm_images import IMAGES, ImageReference
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes import SIZES
from tests.support.batch_methods import DOCUMENT, found, pool

WINDOWS = "Windows"
CONTAINERS = ContainerTasks()


def test_the_documents_windows_pool_gets_its_driver_from_the_package_then_and_now() -> None:
    asked = pool("NC6", operating_system=WINDOWS)
    method, against = found(asked, DOCUMENT, "package", package="GPUDriver", driver_version="411.82")
    assert (method.kind, str(method.image)) == ("application package", "MicrosoftWindowsServer/WindowsServer/2016-Datacenter")
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
    assert (method.kind, str(method.image)) == ("application package", "MicrosoftWindowsServer/WindowsServer/2022-datacenter-g2")
    assert against == []


def test_a_package_that_the_pool_names_already_gives_the_version() -> None:
    asked = pool("NC4as_T4_v3", package_references=(PackageReference("Drivers", "570.26"), PackageReference("App", "1")))
    method, against = found(asked, requested="package", package="Drivers")
    assert method.packages == asked.package_references
    assert method.start_task is not None
    assert method.start_task.driver_version == "570.26"
    assert "$AZ_BATCH_APP_PACKAGE_Drivers_570_26/GPUDriverSetup.run" in method.start_task.command_line
    assert against == []


def test_a_drivers_package_installs_itself_once_on_linux() -> None:
    command = driver_command(PackageReference("GPUDriver", "580.65.06"), "Linux")
    assert command.startswith("/bin/bash -c 'nvidia-smi || {")
    assert 'sh "$AZ_BATCH_APP_PACKAGE_GPUDriver_580_65_06/GPUDriverSetup.run" --silent' in command


@given(
    st.one_of(st.none(), st.sampled_from([size.name for size in SIZES])),
    st.sampled_from(list(get_args(OperatingSystem))),
    st.sampled_from(list(get_args(RequestedMethod))),
    st.one_of(st.none(), st.just(CONTAINERS)),
    st.one_of(st.none(), st.sampled_from(list(get_args(Mpi)))),
    st.booleans(),
    st.one_of(st.none(), st.sampled_from([image.reference for image in IMAGES])),
    st.sampled_from(list(get_args(ImageKind))),
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
        image=image if kind == "Marketplace" else None,
        image_kind=kind,
        node_agent="batch.node.ubuntu 24.04" if kind != "Marketplace" else "",
        auto_storage=True,
    )
    method, refusals = choose(asked, day, requested, driver_version=version, package=package)
    assert method.why
    assert not method.why.endswith(".")
    applied = method.applied(asked)
    if image is not None and kind == "Marketplace":
        assert applied.image == image
    if kind != "Marketplace":
        assert applied.image is None
    everything = [*refusals, *problems(applied, day)]
    assert all(problem.message and problem.path.startswith("pools.train") for problem in everything)
    assert len({(problem.path, problem.message) for problem in everything}) == len(everything)  # nothing twice
    if requested == "auto" and method.kind == "marketplace image" and image is None:
        assert not [one for one in everything if one.code is Code.WRONG_DRIVER and one.path.endswith("image")]
