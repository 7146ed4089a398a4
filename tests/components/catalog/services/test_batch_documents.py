"""The third source document's four pools (2018-12-17): taken at its date, refused today, and what takes their place."""

from datetime import date

import pytest

from azure_gpu.catalog import lifecycle
from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.catalog.services.batch import sizes as batch
from azure_gpu.catalog.services.batch.pools import check
from azure_gpu.catalog.services.batch.request import ImageKind, PoolRequest, StartTask
from azure_gpu.catalog.services.vm_images import ImageReference
from azure_gpu.catalog.size_use import OperatingSystem, Service, SizeUse
from azure_gpu.catalog.sizes import SIZES

TODAY = date(2026, 11, 20)
DOCUMENT = date(2018, 12, 17)
HPC_2404 = ImageReference("microsoft-dsvm", "ubuntu-hpc", "2404")


# The third source document's four pools.
WINDOWS_DRIVER = PoolRequest(
    path="windows",
    account_name="trainbatch",
    auto_storage=True,
    size=SIZES.find("NC6 Standard"),
    operating_system=OperatingSystem.WINDOWS,
    image=ImageReference("MicrosoftWindowsServer", "WindowsServer", "2016-Datacenter"),
    dedicated_nodes=1,
    packages=1,
    start_task=StartTask(
        command_line='cmd /c "%AZ_BATCH_APP_PACKAGE_GPUDriver#411.82%\\\\GPUDriverSetup.exe /s"',
        elevated=True,
        wait_for_success=True,
        installs_driver=True,
        driver_version="411.82",
    ),
)
LINUX_CUSTOM = PoolRequest(
    path="linux",
    size=SIZES.find("NC6 Standard"),
    image_kind=ImageKind.MANAGED,
    node_agent="batch.node.ubuntu 16.04",
    dedicated_nodes=1,
)
WINDOWS_MPI = PoolRequest(
    path="windows_mpi",
    size=SIZES.find("H16r Standard"),
    operating_system=OperatingSystem.WINDOWS,
    image_kind=ImageKind.MANAGED,
    node_agent="batch.node.Windows amd64",
    dedicated_nodes=2,
    inter_node=True,
    task_slots=1,
    multi_instance=True,
    rdma=True,
)
LINUX_MPI = PoolRequest(
    path="linux_mpi",
    size=SIZES.find("H16r Standard"),
    image=ImageReference("OpenLogic", "CentOS-HPC", "7.4"),
    dedicated_nodes=2,
    inter_node=True,
    task_slots=1,
    multi_instance=True,
    rdma=True,
)
SET_UPS = [WINDOWS_DRIVER, LINUX_CUSTOM, WINDOWS_MPI, LINUX_MPI]


def whole(request: PoolRequest, day: date) -> list[Problem]:
    """The pool, and its size by the size's own dates and by Batch's."""
    size = request.size
    assert size is not None
    use = SizeUse(service=Service.BATCH, size=size.name, region="southcentralus", path="size", region_path="location")
    own = lifecycle.check(size.lifecycle, size.name, day, path="size", value=size.name)
    return [*own, *batch.size_problems(size, use, day), *check(request, day)]


@pytest.mark.parametrize("request_", SET_UPS, ids=lambda one: one.path)
def test_the_documents_pools_are_taken_at_its_date(request_: PoolRequest) -> None:
    assert whole(request_, DOCUMENT) == []


@pytest.mark.parametrize("request_", SET_UPS, ids=lambda one: one.path)
def test_the_documents_pools_are_refused_today(request_: PoolRequest) -> None:
    assert Code.RETIRED in {problem.code for problem in errors(whole(request_, TODAY))}


def test_the_documents_linux_images_are_refused_today_with_what_works() -> None:
    (agent, kind) = errors(check(LINUX_CUSTOM, TODAY))
    assert (agent.path, agent.code) == ("linux.node_agent", Code.RETIRED)
    assert agent.instead == ("batch.node.ubuntu 24.04", "batch.node.ubuntu 22.04")
    assert (kind.path, kind.code) == ("linux.image", Code.RETIRED)
    (agent, image) = check(LINUX_MPI, TODAY)
    assert (agent.path, agent.code, agent.value) == ("linux_mpi.image", Code.RETIRED, "OpenLogic/CentOS-HPC/7.4")
    assert "batch.node.centos 7 retired on 2024-06-30" in agent.message
    assert (image.path, image.severity) == ("linux_mpi.image", Severity.WARNING)
    assert image.instead[0] == "microsoft-dsvm/ubuntu-hpc/2404"


def test_what_takes_the_place_of_the_documents_pools_is_taken_today() -> None:
    t4 = LINUX_CUSTOM._replace(size=SIZES.find("NC4as_T4_v3"), image_kind=ImageKind.GALLERY, node_agent="batch.node.ubuntu 24.04")
    assert whole(t4, TODAY) == []
    mpi = LINUX_MPI._replace(size=SIZES.find("HB120rs_v3"), image=HPC_2404, node_agent="batch.node.ubuntu 24.04")
    assert whole(mpi, TODAY) == []
    windows = WINDOWS_DRIVER._replace(
        size=SIZES.find("NC4as_T4_v3"),
        image=ImageReference("MicrosoftWindowsServer", "WindowsServer", "2022-datacenter"),
    )
    assert whole(windows, TODAY) == []


def test_the_image_of_the_document_is_refused_with_its_agent() -> None:
    problems = check(LINUX_MPI._replace(node_agent="batch.node.centos 7"), TODAY)
    assert [problem.path for problem in errors(problems)] == ["linux_mpi.node_agent"]
