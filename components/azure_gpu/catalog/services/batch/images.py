"""Rules for the image of a Batch pool: whether Batch supports it, its node agent, and its drivers and container runtime."""

from collections.abc import Iterator, Sequence
from datetime import date

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services import vm_images
from azure_gpu.catalog.services.batch import image_drivers, node_agents, requirements, sizes as batch, sources
from azure_gpu.catalog.services.batch.request import ImageKind, PoolRequest
from azure_gpu.catalog.services.vm_image_table import HPC_IMAGES, IMAGES
from azure_gpu.catalog.services.vm_images import WITH_DRIVERS, WITH_ROCM, Distribution, Software, VmImage, choice, sold
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Size, Vendor
from azure_gpu.catalog.sources import BATCH_ARTICLE

_DRIVERS = {Vendor.NVIDIA: Software.NVIDIA_DRIVER, Vendor.AMD: Software.ROCM_DRIVER}
_CONTAINERS = {OperatingSystem.LINUX: Software.CONTAINERS, OperatingSystem.WINDOWS: Software.WINDOWS_CONTAINERS}


def distribution_of(request: PoolRequest, images: Sequence[VmImage] = IMAGES) -> Distribution | None:
    """The image's distribution, by its row, or for a custom image by its agent; None if neither determines it."""
    image = vm_images.find(request.image, images) if request.image else None
    if image is not None:
        return image.distribution
    agent = node_agents.find(request.node_agent)
    if agent is not None and len(agent.distributions) == 1:
        (only,) = agent.distributions
        return only
    return None


def image_problems(request: PoolRequest, as_of: date, images: Sequence[VmImage] = IMAGES) -> Iterator[Problem]:
    """All problems of the image and the agent of this pool."""
    image = vm_images.find(request.image, images) if request.image else None
    yield from _agent(request, image, as_of)
    if request.image_kind is ImageKind.MANAGED:
        yield from batch.feature_problems(batch.MANAGED_IMAGE, as_of, request.at("image"), str(request.image_kind))
    if request.image is not None:
        yield from vm_images.image_problems(request.image, as_of, request.at("image"), images, size=request.size, in_batch=True)
    if image is not None:
        amd = request.size is not None and request.size.gpu is not None and request.size.gpu.vendor is Vendor.AMD
        yield from _brings(request, image, sold(WITH_ROCM if amd else WITH_DRIVERS, as_of, images))
    yield from _agent_fits(request, image)
    distribution = distribution_of(request, images)
    if distribution is not None and request.size is not None and not request.cloud_services:
        yield from requirements.system_problems(request.size, distribution, as_of, request.at("image"), rdma=request.rdma)


def _agent(request: PoolRequest, image: VmImage | None, as_of: date) -> Iterator[Problem]:
    """The agent that is set, else the one of the image, which retires with it."""
    if request.node_agent:
        yield from node_agents.agent_problems(request.node_agent, as_of, request.at("node_agent"))
        return
    needed = node_agents.for_distribution(image.distribution) if image is not None else None
    if needed is None and request.image is not None:
        yield Problem(
            path=request.at("node_agent"),
            message=f"the node agent of {request.image} is not known, and Batch needs one",
            allowed="the agent for the operating system in the image, such as batch.node.ubuntu 24.04",
            fix=f"set it: {node_agents.LIST}",
            source=str(sources.PROVIDER),
            code=Code.UNKNOWN,
        )
    if needed is not None:
        for problem in node_agents.agent_problems(needed.sku, as_of, request.at("image")):
            end = problem.end._replace(what=f"{request.image}: {problem.end.what}") if problem.end is not None else None
            yield problem._replace(message=f"{request.image}: {problem.message}", value=str(request.image), end=end)


def _agent_fits(request: PoolRequest, image: VmImage | None) -> Iterator[Problem]:
    agent = node_agents.find(request.node_agent)
    if agent is None:
        return
    expected = node_agents.for_distribution(image.distribution) if image else None
    if expected is not None and expected is not agent:
        yield Problem(
            path=request.at("node_agent"),
            message=f"the node agent must match the image: {request.image} runs {image.distribution if image else ''}",
            value=request.node_agent,
            allowed=expected.sku,
            fix=f"write {expected.sku}",
            source=str(sources.PROVIDER),
            code=Code.IMPOSSIBLE,
        )
    if agent.operating_system is not request.operating_system:
        yield Problem(
            path=request.at("node_agent"),
            message=f"{agent.sku} runs under {agent.operating_system}, and the pool is {request.operating_system}",
            value=request.node_agent,
            allowed=f"an agent for {request.operating_system}",
            fix="make both the same",
            source=str(sources.PROVIDER),
            code=Code.IMPOSSIBLE,
        )


def _brings(request: PoolRequest, image: VmImage, others: tuple[str, ...]) -> Iterator[Problem]:
    if image.distribution.operating_system is not request.operating_system:
        yield Problem(
            path=request.at("image"),
            message=f"{request.image} is {image.distribution}, and the pool is {request.operating_system}",
            value=str(request.image),
            allowed=f"an image with {request.operating_system}",
            fix="make both the same",
            source=str(image.lifecycle.seen),
            code=Code.IMPOSSIBLE,
        )
    if request.containers is not None and _CONTAINERS[image.distribution.operating_system] not in image.has:
        yield Problem(
            path=request.at("image"),
            message=f"{request.image} doesn't run containers, and the pool has a container configuration",
            value=str(request.image),
            allowed="an image that Batch lists as DockerCompatible",
            fix=f"{choice(others)}, or use a custom image with Docker",
            instead=others,
            source=str(sources.CONTAINERS),
            code=Code.IMPOSSIBLE,
        )
    yield from _driver(request, image, others)
    yield from _network(request, image, others)


def _driver(request: PoolRequest, image: VmImage, others: tuple[str, ...]) -> Iterator[Problem]:
    """Whether a method installs a driver. A custom image is assumed to have one."""
    if request.size is None or request.size.gpu is None:
        return
    in_start_task = request.start_task is not None and request.start_task.installs_driver
    if _DRIVERS[request.size.gpu.vendor] in image.has:
        misfit = image_drivers.misfit(image, request.size)
        if misfit is not None and not in_start_task:
            yield Problem(
                path=request.at("image"),
                message=misfit.why,
                value=str(request.image),
                fix="use a plain image with the driver extension, or a gallery image with the driver for this GPU",
                source=str(misfit.source),
                code=Code.WRONG_DRIVER,
            )
    elif not request.extensions and not in_start_task:
        yield Problem(
            path=request.at("image"),
            message=f"no driver for the {request.size.gpu.name} is installed on the nodes: {request.image} brings none",
            value=str(request.image),
            fix=f"{choice(others)}; or add the driver extension, install one from an application package in the start task, "
            "or use a custom image that has one",
            instead=others,
            source=str(BATCH_ARTICLE),
            code=Code.WRONG_DRIVER,
            severity=Severity.WARNING,
        )


def _network(request: PoolRequest, image: VmImage, others: tuple[str, ...]) -> Iterator[Problem]:
    """Drivers for InfiniBand. Batch's container images support only the network before SR-IOV."""
    size = request.size
    if size is None or not request.rdma or not size.rdma:
        return
    needed = network_software(size)
    if needed not in image.has and (image.batch_only or needed is Software.INFINIBAND_DRIVERS):
        yield Problem(
            path=request.at("image"),
            message=f"{request.image} has no drivers for the InfiniBand of {size.name}",
            value=str(request.image),
            allowed="an image with InfiniBand drivers",
            fix=choice(others),
            instead=others,
            source=str(sources.CONTAINERS if image.batch_only else HPC_IMAGES),
            code=Code.WRONG_DRIVER,
            severity=Severity.ERROR if image.batch_only else Severity.WARNING,  # a start task may install them
        )


def network_software(size: Size) -> Software:
    """The drivers for the size's InfiniBand: those of before SR-IOV, or of today."""
    return Software.RDMA_DRIVERS if requirements.before_sr_iov(size) else Software.INFINIBAND_DRIVERS
