"""Marketplace images for the nodes of a Batch pool by preference, and whether one satisfies the rules for a pool."""

from collections.abc import Iterable, Sequence
from datetime import date, timedelta

from azure_gpu.catalog.lifecycle import SOLD, Status
from azure_gpu.catalog.problems import Code
from azure_gpu.catalog.services import vm_images
from azure_gpu.catalog.services.batch import images, installs, mpi_commands, node_agents
from azure_gpu.catalog.services.batch.request import ImageKind, PoolRequest
from azure_gpu.catalog.services.driver_extension import ExtensionRequest
from azure_gpu.catalog.services.vm_image_table import IMAGES
from azure_gpu.catalog.services.vm_images import Distribution, Software, VmImage
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.tables import Keyed

_MAINTAINED = timedelta(days=3 * 365)
# Images by preference. The first ones bring drivers; those of the article are there for its day.
_LINUX_HPC = (
    *vm_images.WITH_DRIVERS,
    "microsoft-dsvm/ubuntu-hpc/2204-v100",
    *vm_images.WITH_ROCM,
    "OpenLogic/CentOS-HPC/7.4",
)
_LINUX_DATA_SCIENCE = ("microsoft-dsvm/linux-data-science-vm-ubuntu/linuxdsvmubuntu",)
_LINUX_CONTAINERS = tuple(
    f"microsoft-azure-batch/ubuntu-server-container{network}/{sku}"
    for sku in ("20-04-lts", "16-04-lts")
    for network in ("", "-rdma")
)
_LINUX_PLAIN = (
    "canonical/ubuntu-24_04-lts/server",
    "canonical/0001-com-ubuntu-server-jammy/22_04-lts-gen2",
    "canonical/0001-com-ubuntu-server-jammy/22_04-lts",
    "canonical/0001-com-ubuntu-server-focal/20_04-lts",
    "canonical/ubuntuserver/18.04-lts",
    "canonical/ubuntuserver/16.04-lts",
)
_WINDOWS_WITH_DRIVERS = ("microsoft-dsvm/dsvm-win-2022/winserver-2022", "microsoft-dsvm/dsvm-windows/server-2016")
_WINDOWS_PLAIN = tuple(
    f"microsoftwindowsserver/windowsserver/{sku}"
    for sku in ("2022-datacenter-g2", "2022-datacenter", "2016-datacenter", "2012-r2-datacenter")
)
BY_NAME = Keyed(lambda: {str(image.reference).lower(): image for image in IMAGES})


def with_drivers(request: PoolRequest) -> Sequence[str]:
    """Names of images that bring drivers; for containers, container images first."""
    names = (*_LINUX_HPC, *_LINUX_DATA_SCIENCE, *_LINUX_CONTAINERS)
    if request.operating_system is OperatingSystem.WINDOWS:
        names = _WINDOWS_WITH_DRIVERS
    elif request.containers is not None:
        names = (*_LINUX_HPC, *_LINUX_CONTAINERS, *_LINUX_DATA_SCIENCE)
    return [name.lower() for name in names]


def plain(operating_system: OperatingSystem) -> Sequence[str]:
    """Names of images without drivers."""
    return _WINDOWS_PLAIN if operating_system is OperatingSystem.WINDOWS else _LINUX_PLAIN


def with_containers(operating_system: OperatingSystem) -> Sequence[str]:
    """Names of images without drivers that run containers."""
    if operating_system is not OperatingSystem.WINDOWS:
        return ()
    return [name for name, image in BY_NAME.items() if Software.WINDOWS_CONTAINERS in image.has]


def first(
    names: Iterable[str], request: PoolRequest, as_of: date, *, needs_driver: bool = True, seen_later: bool = False
) -> VmImage | None:
    """The first image that serves the pool."""
    found = (BY_NAME[name] for name in names)
    return next((one for one in found if serves(one, request, as_of, needs_driver=needs_driver, seen_later=seen_later)), None)


def serves(
    image: VmImage,
    request: PoolRequest,
    as_of: date,
    *,
    needs_driver: bool = True,
    extension: ExtensionRequest | None = None,
    seen_later: bool = False,
) -> bool:
    """Whether the pool with this image has no problems, other than a later retirement.

    With `seen_later`, also an image that was first seen soon after `as_of`, with a warning.
    """
    if image.lifecycle.status(as_of) not in SOLD and not (seen_later and _seen_soon(image, as_of)):
        return False
    needs_network = needs_driver and extension is None and request.rdma
    if needs_network and request.size is not None and images.network_software(request.size) not in image.has:
        return False
    trial = request._replace(
        image=image.reference,
        image_kind=ImageKind.MARKETPLACE,
        node_agent=request.node_agent or agent_of(image.distribution),
        extensions=(extension,) if extension else (),
        start_task=None,
    )
    found = list(images.image_problems(trial, as_of))
    if trial.mpi is not None and request.operating_system is OperatingSystem.LINUX:  # no image for Windows has one
        found += mpi_commands.mpi_problems_of(trial.mpi, trial, as_of)
    if extension is not None:
        found += installs.install_problems(trial, as_of)
    ignored = {Code.RETIRING, *(() if needs_driver else (Code.WRONG_DRIVER,)), *((Code.UNKNOWN,) if seen_later else ())}
    return all(problem.code in ignored for problem in found)


def _seen_soon(image: VmImage, as_of: date) -> bool:
    """Whether the image probably existed: first seen within the years for which an image is maintained."""
    later = image.lifecycle.seen.day - as_of
    return image.lifecycle.status(as_of) is Status.UNKNOWN and timedelta() < later <= _MAINTAINED


def agent_of(distribution: Distribution) -> str:
    """The SKU of the node agent for it; empty if unknown."""
    agent = node_agents.for_distribution(distribution)
    return agent.sku if agent else ""
