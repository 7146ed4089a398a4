"""What is said about a way to get software onto the nodes of a Batch pool: what an image brings, and why something can't be.

In: a `PoolRequest` and the `Way` or image that was found. Out: words, and problems.
"""

from collections.abc import Sequence

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.batch import mpi_commands, sources
from azure_gpu.catalog.services.batch.request import PoolRequest
from azure_gpu.catalog.services.batch.way import Wanted, Way, WayKind
from azure_gpu.catalog.services.vm_images import VmImage
from azure_gpu.catalog.sizes.model import Vendor
from azure_gpu.catalog.sources import BATCH_ARTICLE


def unused(way: Way, request: PoolRequest, driver_version: str, package: str) -> list[Problem]:
    """A version or a package of a driver that the way doesn't install: whoever says it counts on it."""
    installs = way.kind in (WayKind.EXTENSION, WayKind.PACKAGE, WayKind.START_TASK)
    unused = [("driver_version", driver_version)] if driver_version and not installs else []
    unused += [("driver_package", package)] if package and way.kind is not WayKind.PACKAGE else []
    gpu = request.size.gpu if request.size is not None else None
    fix = (
        f"leave it out, or write driver: {Wanted.PACKAGE}" if gpu is not None and gpu.vendor is Vendor.NVIDIA else "leave it out"
    )
    return [
        Problem(
            path=request.at(key),
            message=f"nothing installs this driver: {way.why}",
            value=value,
            fix=fix,
            source=str(BATCH_ARTICLE),
            code=Code.IMPOSSIBLE,
        )
        for key, value in unused
    ]


def no_image(request: PoolRequest) -> Problem:
    """No driver is needed, or something else installs it, and still there is nothing for nodes to start from."""
    wishes = [str(request.operating_system), *(["containers"] if request.containers else [])]
    return Problem(
        path=request.at("image"),
        message=f"no image of the Marketplace is known for nodes with {listed(wishes)}",
        fix="make a gallery image, or name an image that you know",
        source=str(sources.CONTAINERS if request.containers else BATCH_ARTICLE),
        code=Code.NOT_OFFERED,
    )


def image_why(image: VmImage, request: PoolRequest) -> str:
    """What of the image this pool needs."""
    size = request.size
    brings: list[str] = []
    if size is not None and size.gpu is not None:
        brings.append(f"the {'ROCm' if size.gpu.vendor is Vendor.AMD else 'NVIDIA'} driver for the {size.gpu.name}")
    if request.rdma:
        brings.append("drivers for InfiniBand")
    if request.mpi is not None:
        brings.append(mpi_commands.CALLED[request.mpi])
    if request.containers is not None:
        brings.append("a container runtime")
    return f"{image.reference} brings {listed(brings)}" if brings else f"{image.reference} has all that is needed"


def listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
