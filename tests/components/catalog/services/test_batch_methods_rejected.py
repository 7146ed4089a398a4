"""The ways to get software onto Batch nodes that can't work: each is refused with its reason."""

from datetime import date
from typing import Any

import pytest

from azure_gpu.catalog.problems import Code, Severity, errors
from azure_gpu.catalog.services.batch.installs import installs_driver
from azure_gpu.catalog.services.batch.method_choice import MethodKind, RequestedMethod
from azure_gpu.catalog.services.batch.request import ContainerTasks, ImageKind, Mpi, PoolRequest, StartTask
from azure_gpu.catalog.services.vm_images import ImageReference
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Driver
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


def test_cuda_on_amd_is_refused() -> None:
    (problem,) = refused(pool("ND96isr_MI300X_v5", needs=Driver.CUDA))
    assert problem.code is Code.WRONG_DRIVER
    assert "can't run software that needs CUDA" in problem.message


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


def test_a_managed_image_was_a_way_until_2026_03_31() -> None:
    asked = pool("NC4as_T4_v3", image_kind=ImageKind.MANAGED, node_agent="batch.node.ubuntu 24.04")
    method, against = found(asked, date(2026, 3, 31))
    assert (method.kind, errors(against)) == (MethodKind.GALLERY_IMAGE, [])
    (problem,) = refused(asked, date(2026, 4, 1))
    assert (problem.code, problem.path) == (Code.RETIRED, "pools.train.image")
    method, against = found(asked._replace(image_kind=ImageKind.GALLERY))
    assert (method.kind, method.image, method.node_agent, against) == (
        MethodKind.GALLERY_IMAGE,
        None,
        "batch.node.ubuntu 24.04",
        [],
    )


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


def test_a_cloud_services_configuration_is_refused() -> None:
    assert Code.RETIRED in {problem.code for problem in refused(pool("NC4as_T4_v3", cloud_services=True))}


def test_what_no_image_has_is_left_to_ones_own_image() -> None:
    for asked in (
        pool("NC4as_T4_v3", operating_system=WINDOWS, containers=ContainerTasks(elevated=True)),
        mpi("HB120rs_v3", Mpi.MICROSOFT_MPI, operating_system=WINDOWS),
    ):
        (problem,) = refused(asked)
        assert (problem.code, problem.path) == (Code.WRONG_DRIVER, "pools.train.driver")
        assert "gallery image" in problem.fix
    codes = {problem.code for problem in refused(pool("NV36ads_A10_v5", containers=CONTAINERS))}
    assert codes == {Code.WRONG_DRIVER}


def test_an_image_whose_driver_doesnt_know_the_gpu_is_refused() -> None:
    named = ImageReference("microsoft-dsvm", "ubuntu-hpc", "2204")
    (problem,) = [one for one in refused(pool("NV36ads_A10_v5", image=named)) if one.path.endswith("image")][:1]
    assert problem.code is Code.WRONG_DRIVER
    assert refused(pool("NV36ads_A10_v5", image=named))
    assert refused(pool("ND40rs_v2", image=named))
    assert refused(pool("NC4as_T4_v3", image=named)) == []


def test_a_named_plain_image_says_what_would_do() -> None:
    (problem,) = refused(pool("NC4as_T4_v3", image=ImageReference("canonical", "ubuntu-24_04-lts", "server")))
    assert problem.path == "pools.train.image"
    assert problem.fix == f"leave image out: {HPC} brings the NVIDIA driver for the T4"
    jammy = ImageReference("canonical", "0001-com-ubuntu-server-jammy", "22_04-lts-gen2")
    method, against = found(pool("NC4as_T4_v3", image=jammy))
    assert (method.kind, method.image, against) == (MethodKind.EXTENSION, jammy, [])


def test_an_image_of_which_nothing_is_known_is_taken_with_a_warning() -> None:
    method, against = found(
        pool("NC4as_T4_v3", image=ImageReference("someone", "something", "1"), node_agent="batch.node.ubuntu 24.04")
    )
    assert method.kind is MethodKind.NOTHING
    assert [(problem.code, problem.severity) for problem in against] == [(Code.UNKNOWN, Severity.WARNING)]


def test_an_image_pins_no_version() -> None:
    (problem,) = refused(pool("NC4as_T4_v3"), requested=RequestedMethod.IMAGE, driver_version="580.65.06")
    assert problem.path == "pools.train.driver_version"


def test_without_a_driver_there_is_a_warning_alone() -> None:
    method, against = found(pool("NC4as_T4_v3"), requested=RequestedMethod.NONE)
    assert (method.kind, method.why) == (MethodKind.NOTHING, "no driver is requested")
    assert [problem.severity for problem in against] == [Severity.WARNING]


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


def test_node_agents_are_asked_for_in_any_letter_case() -> None:
    method, against = found(pool("NC4as_T4_v3", node_agent="BATCH.node.Ubuntu 22.04"))
    assert (str(method.image), method.node_agent) == ("microsoft-dsvm/ubuntu-hpc/2204", "batch.node.ubuntu 22.04")
    assert errors(against) == []


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


def test_an_unknown_image_says_its_node_agent() -> None:
    unknown = ImageReference("contoso", "gpu", "1")
    (problem,) = refused(pool("HB120rs_v3", image=unknown))
    assert (problem.path, problem.code) == ("pools.train.node_agent", Code.UNKNOWN)
    assert problem.message.startswith("the node agent of contoso/gpu/1 is not known")
    assert errors(found(pool("HB120rs_v3", image=unknown, node_agent="batch.node.ubuntu 24.04"))[1]) == []
    (problem,) = refused(pool("HB120rs_v3", image=ImageReference("azure-hpc", "azurelinux-hpc", "3")))
    assert problem.path == "pools.train.node_agent"


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


def test_installers_of_drivers_are_known_by_name() -> None:
    assert installs_driver('cmd /c "%AZ_BATCH_APP_PACKAGE_GPUDriver#411.82%\\GPUDriverSetup.exe /s"')
    assert installs_driver("/bin/sh -c 'apt-get install -y cuda-drivers'")
    assert not installs_driver("/bin/sh -c 'nvidia-smi'")
