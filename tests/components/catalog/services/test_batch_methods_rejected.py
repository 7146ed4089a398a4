"""The ways to get software onto Batch nodes that can't work: each is refused with its reason."""

from typing import Any

import pytest

from azure_gpu.catalog.problems import Code, Severity, errors
from azure_gpu.catalog.services.batch.method_choice import MethodKind, RequestedMethod
from azure_gpu.catalog.services.batch.request import ContainerTasks, ImageKind, Mpi, PoolRequest, StartTask
from azure_gpu.catalog.services.vm_images import ImageReference
from azure_gpu.catalog.size_use import OperatingSystem
from tests.support.batch_methods import DOCUMENT, found, mpi, pool, refused

WINDOWS = OperatingSystem.WINDOWS
CONTAINERS = ContainerTasks()
HPC = "microsoft-dsvm/ubuntu-hpc/2404"


def test_a_pinned_driver_older_than_the_gpu_is_refused() -> None:
    (problem,) = refused(pool("NC40ads_H100_v5"), requested=RequestedMethod.PACKAGE, package="GPUDriver", driver_version="411.82")
    assert (problem.code, problem.path) == (Code.WRONG_DRIVER, "pools.train.start_task.driver_version")
    assert "older than NVIDIA H100" in problem.message
    method, against = found(pool("NC24ads_A100_v4"), requested=RequestedMethod.EXTENSION, driver_version="411.82")
    (problem,) = errors(against)
    assert (problem.code, problem.path) == (Code.WRONG_DRIVER, "pools.train.driver")
    assert method.node_agent == "batch.node.ubuntu 22.04"


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (pool("ND96isr_H100_v5"), "the driver extension's list doesn't have the series"),
        (pool("ND96isr_MI300X_v5"), "no driver extension exists for AMD GPUs under Linux"),
        (pool("NC4as_T4_v3", image=ImageReference("canonical", "ubuntu-24_04-lts", "server")), "no CUDA driver for Ubuntu 24.04"),
        (pool("HB120rs_v3"), "the size has no GPU"),
    ],
    ids=["h100", "amd on linux", "cuda on 24.04", "no gpu"],
)
def test_the_extension_is_refused_where_it_lacks_the_size_or_the_system(request_: PoolRequest, words: str) -> None:
    (problem,) = refused(request_, requested=RequestedMethod.EXTENSION)
    assert (problem.code, problem.path) == (Code.NOT_OFFERED, "pools.train.driver")
    assert words in problem.message
    assert problem.fix


def test_a_gen1_image_on_a_gen2_size_is_refused() -> None:
    image = ImageReference("MicrosoftWindowsServer", "WindowsServer", "2022-datacenter")
    (problem,) = refused(pool("NC24ads_A100_v4", operating_system=WINDOWS, image=image))
    assert problem.code is Code.IMPOSSIBLE
    assert "boots Gen2 images" in problem.message


def test_a_start_task_that_installs_a_driver_has_to_be_elevated() -> None:
    task = StartTask(command_line="/bin/bash -c ./driver.sh")
    (problem,) = refused(pool("NC4as_T4_v3", start_task=task), requested=RequestedMethod.START_TASK)
    assert problem.path == "pools.train.start_task.elevated"
    method, against = found(pool("NC4as_T4_v3", start_task=task._replace(elevated=True)), requested=RequestedMethod.START_TASK)
    assert (method.kind, against) == (MethodKind.START_TASK, [])
    (problem,) = refused(pool("NC4as_T4_v3"), requested=RequestedMethod.START_TASK)
    assert problem.path == "pools.train.start_task"


def test_a_start_task_that_says_that_it_installs_a_driver_is_the_way() -> None:
    task = StartTask(command_line="/bin/bash -c ./driver.sh", elevated=True, installs_driver=True)
    method, against = found(pool("NC4as_T4_v3", start_task=task))
    assert (method.kind, method.start_task, against) == (MethodKind.START_TASK, task, [])


def test_a_package_and_a_start_task_of_ones_own_are_one_too_many() -> None:
    task = StartTask(command_line="/bin/bash -c ./mine.sh")
    (problem,) = refused(pool("NC4as_T4_v3", start_task=task), requested=RequestedMethod.PACKAGE, package="GPUDriver")
    assert problem.path == "pools.train.start_task"
    (problem,) = refused(pool("NC4as_T4_v3"), requested=RequestedMethod.PACKAGE)
    assert problem.path == "pools.train.driver_package"


def test_the_documents_custom_images_bring_what_their_maker_installed() -> None:
    linux = pool("NC6", image_kind=ImageKind.MANAGED, node_agent="batch.node.ubuntu 16.04")
    windows = mpi(
        "H16r", Mpi.MICROSOFT_MPI, operating_system=WINDOWS, image_kind=ImageKind.MANAGED, node_agent="batch.node.Windows amd64"
    )
    for asked in (linux, windows):
        method, against = found(asked, DOCUMENT)
        assert (method.kind, against) == (MethodKind.GALLERY_IMAGE, [])


def test_the_extension_and_a_package_go_onto_a_gallery_image_too() -> None:
    own = pool("NC4as_T4_v3", image_kind=ImageKind.GALLERY, node_agent="batch.node.ubuntu 22.04")
    method, against = found(own, requested=RequestedMethod.EXTENSION)
    assert (method.kind, method.image, method.node_agent, against) == (MethodKind.EXTENSION, None, "batch.node.ubuntu 22.04", [])
    method, against = found(own, requested=RequestedMethod.PACKAGE, package="GPUDriver", driver_version="570.26")
    assert (method.kind, method.image, against) == (MethodKind.PACKAGE, None, [])


def test_a_named_plain_image_says_what_would_do() -> None:
    (problem,) = refused(pool("NC4as_T4_v3", image=ImageReference("canonical", "ubuntu-24_04-lts", "server")))
    assert problem.path == "pools.train.image"
    assert problem.fix == f"leave image out: {HPC} brings the NVIDIA driver for the T4"
    jammy = ImageReference("canonical", "0001-com-ubuntu-server-jammy", "22_04-lts-gen2")
    method, against = found(pool("NC4as_T4_v3", image=jammy))
    assert (method.kind, method.image, against) == (MethodKind.EXTENSION, jammy, [])


def test_microsoft_mpi_without_infiniband_is_for_a_start_task_or_an_image() -> None:
    asked = pool("HB120rs_v3", operating_system=WINDOWS, inter_node=True, mpi=Mpi.MICROSOFT_MPI)
    method, against = found(asked)
    assert str(method.image) == "MicrosoftWindowsServer/WindowsServer/2022-datacenter-g2"
    (problem,) = against
    assert (problem.severity, problem.path) == (Severity.WARNING, "pools.train.image")
    method, against = found(pool("NC4as_T4_v3", operating_system=WINDOWS, inter_node=True, mpi=Mpi.MICROSOFT_MPI))
    assert (method.kind, [problem.severity for problem in against]) == (MethodKind.EXTENSION, [Severity.WARNING])
    task = StartTask(command_line="cmd /c MSMpiSetup.exe -unattend -force", elevated=True)
    assert found(asked._replace(start_task=task))[1] == []


@pytest.mark.parametrize("requested", [RequestedMethod.AUTO, RequestedMethod.NONE, RequestedMethod.START_TASK], ids=str)
def test_no_image_at_all_is_a_problem_of_its_own(requested: RequestedMethod) -> None:
    task = StartTask(command_line="cmd /c install.cmd", elevated=True)
    asked = pool("HB120rs_v3", operating_system=WINDOWS, containers=ContainerTasks(elevated=True), start_task=task)
    (problem,) = refused(asked, requested=requested)
    assert (problem.path, problem.code) == ("pools.train.image", Code.NOT_OFFERED)
    assert problem.message == "no Marketplace image is known for nodes with Windows and containers"


def test_where_nothing_works_no_image_that_nobody_chose_is_judged() -> None:
    method, against = found(pool("NV36ads_A10_v5", containers=CONTAINERS))
    assert method.image is None
    (problem,) = errors(against)
    assert (problem.path, problem.code) == ("pools.train.driver", Code.WRONG_DRIVER)
    assert problem.fix == "create a gallery image that has it"  # on no image that runs containers a package could install it
    (problem,) = refused(pool("NV36ads_A10_v5", containers=CONTAINERS), requested=RequestedMethod.PACKAGE, package="GPUDriver")
    assert (problem.path, problem.code) == ("pools.train.image", Code.NOT_OFFERED)


@pytest.mark.parametrize("size", ["ND96isr_MI300X_v5", "HB120rs_v3"])
def test_an_nvidia_driver_from_a_package_needs_an_nvidia_gpu(size: str) -> None:
    (problem,) = refused(pool(size), requested=RequestedMethod.PACKAGE, package="GPUDriver")
    assert (problem.path, problem.code) == ("pools.train.driver_package", Code.WRONG_DRIVER)
    assert f"Standard_{size} has no NVIDIA GPU" in problem.message


@pytest.mark.parametrize(
    ("size", "requested", "said"),
    [
        ("HB120rs_v3", RequestedMethod.AUTO, {"driver_version": "580.65.06"}),
        ("HB120rs_v3", RequestedMethod.AUTO, {"package": "GPUDriver"}),
        ("NC4as_T4_v3", RequestedMethod.NONE, {"driver_version": "580.65.06"}),
        ("NC4as_T4_v3", RequestedMethod.IMAGE, {"package": "GPUDriver"}),
        ("NC4as_T4_v3", RequestedMethod.EXTENSION, {"package": "GPUDriver"}),
    ],
    ids=str,
)
def test_a_driver_that_nothing_installs_is_refused(size: str, requested: RequestedMethod, said: dict[str, Any]) -> None:
    (problem,) = refused(pool(size), requested=requested, **said)
    assert problem.path == ("pools.train.driver_version" if "driver_version" in said else "pools.train.driver_package")
    assert problem.message.startswith("nothing installs this driver: ")
    assert problem.fix == ("leave it out" if size == "HB120rs_v3" else "leave it out, or set driver: package")
