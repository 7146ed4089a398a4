"""Images of Batch nodes: the node agent of each, the driver that an image brings, and whether it suits a pool."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple, get_args

from azure_gpu.catalog import lifecycle, sources as known_sources, spelling, tables
from azure_gpu.catalog.lifecycle import Lifecycle, Status
from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services import vm_images
from azure_gpu.catalog.services.batch import requirements, sources
from azure_gpu.catalog.services.batch.request import PoolRequest
from azure_gpu.catalog.services.vm_images import (
    HPC_IMAGES,
    IMAGES,
    WITH_DRIVERS,
    WITH_ROCM,
    Distribution,
    Software,
    VmImage,
    choice,
    sold,
)
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Driver, Size
from azure_gpu.catalog.sources import Source, observed
from azure_gpu.catalog.tables import Keyed, Listed, Row, Table

AGENT_LIST = "list images with their agents and ends of support with `az batch pool supported-images list`"


class NodeAgent(NamedTuple):
    """One node agent."""

    sku: str
    operating_system: OperatingSystem
    distributions: frozenset[Distribution]
    lifecycle: Lifecycle


TABLE = Table(
    tables.beside(__file__, "node_agents.csv"),
    {
        "agent": "its SKU, as Batch spells it",
        "operating_system": "Linux or Windows",
        "distributions": "those whose images take it",
        **lifecycle.COLUMNS,
    },
)


def read(rows: Iterator[Row], known: Mapping[str, Source]) -> Iterator[NodeAgent]:
    """The values of a table's rows. `known`: the sources to refer to. Raises TableError for an invalid row."""
    for name, row in tables.by_name(rows, "agent").items():
        yield NodeAgent(
            sku=name,
            operating_system=row.one_of("operating_system", get_args(OperatingSystem)),
            distributions=frozenset(row.several("distributions", get_args(Distribution))),
            lifecycle=lifecycle.read(row, known),
        )


AGENTS = Listed(lambda: read(tables.read(TABLE), known_sources.named()))
_BY_LOWER_SKU = Keyed(lambda: {agent.sku.lower(): agent for agent in AGENTS})
_UBUNTU = "batch.node.ubuntu"
_SOLD = (Status.GENERAL, Status.RETIRING)


def sold_agents(as_of: date) -> tuple[str, ...]:
    """The newest agents for Ubuntu that Batch is known to support on that day, two at most."""
    newest_first = [agent for agent in AGENTS if agent.sku.startswith(_UBUNTU)]
    return tuple(agent.sku for agent in newest_first if agent.lifecycle.status(as_of) in _SOLD)[:2]


def find_agent(sku: str) -> NodeAgent | None:
    """The agent of this SKU; compared ignoring case, as in `batch.node.Windows amd64` shows."""
    return _BY_LOWER_SKU.get(sku.strip().lower())


def agent_for(distribution: Distribution) -> NodeAgent | None:
    """The agent that an image of this distribution takes; None if unknown."""
    return next((agent for agent in AGENTS if distribution in agent.distributions), None)


def agent_problems(sku: str, as_of: date, path: str) -> list[Problem]:
    """The problems of the agent on that day. Custom images end with the agent that they name."""
    agent = find_agent(sku)
    if agent is not None:
        others = tuple(other for other in sold_agents(as_of) if other != agent.sku)
        return lifecycle.check(
            agent.lifecycle,
            f"the node agent {agent.sku}",
            as_of,
            path=path,
            value=sku,
            fix=f"move to an image that takes {' or '.join(others)}" if others else AGENT_LIST,
            instead=others,
        )
    close = tuple(_BY_LOWER_SKU[key].sku for key in spelling.nearest(sku.lower(), _BY_LOWER_SKU, 3))
    return [refused("batch.unknown_agent", path, sku, close=close, agent_list=AGENT_LIST)]


_GRID_ALONE = observed("Azure/azhpc-images issue 398: the driver of ubuntu-hpc doesn't match NVads A10 v5", 2025, 3, 13)
_OPEN_DRIVER = observed("Azure/azhpc-images issue 406: ubuntu-hpc 2204 doesn't see the V100 of NC24s_v3", 2025, 4, 30)
_BEFORE_TURING = frozenset({"Kepler", "Maxwell", "Pascal", "Volta"})
_HPC_OFFERS = frozenset({"ubuntu-hpc", "almalinux-hpc", "azurelinux-hpc"})  # built in Azure/azhpc-images, with the open driver
_FOR_V100 = "v100"  # in the SKU of the images with the older driver


class Misfit(NamedTuple):
    why: str
    source: Source


def misfit(image: VmImage, size: Size) -> Misfit | None:
    """Why the driver of the image doesn't support the size's GPU; None if nothing is known against it."""
    gpu = size.gpu
    if gpu is None:
        return None
    if gpu.vendor == "AMD" and "AMD ROCm driver" in image.has and Driver.ROCM not in size.series.drivers:
        return Misfit(f"{gpu.model} of {size.name} has no ROCm driver, and {image.reference} brings one", gpu.source)
    if gpu.vendor != "NVIDIA" or "NVIDIA driver" not in image.has:
        return None
    if Driver.CUDA not in size.series.drivers:
        return Misfit(f"{size.name} needs a GRID driver, and {image.reference} brings a compute driver", _GRID_ALONE)
    if image.reference.offer not in _HPC_OFFERS:
        return None
    for_v100 = _FOR_V100 in image.reference.sku
    if gpu.architecture in _BEFORE_TURING and not for_v100:
        return Misfit(
            f"the driver of {image.reference} supports GPUs since Turing, and {size.name} has {gpu.model}", _OPEN_DRIVER
        )
    return None


_DRIVERS = {"NVIDIA": "NVIDIA driver", "AMD": "AMD ROCm driver"}
_CONTAINERS = {"Linux": "Docker-compatible containers", "Windows": "Windows containers"}


def distribution_of(request: PoolRequest, images: Sequence[VmImage] = IMAGES) -> Distribution | None:
    """The image's distribution, by its row, or for a custom image by its agent; None if neither determines it."""
    image = vm_images.find(request.image, images) if request.image else None
    if image is not None:
        return image.distribution
    agent = find_agent(request.node_agent)
    if agent is not None and len(agent.distributions) == 1:
        (only,) = agent.distributions
        return only
    return None


def image_problems(request: PoolRequest, as_of: date, images: Sequence[VmImage] = IMAGES) -> Iterator[Problem]:
    """All problems of the image and the agent of this pool."""
    image = vm_images.find(request.image, images) if request.image else None
    yield from _agent(request, image, as_of)
    if request.image_kind == "managed image":
        yield from lifecycle.of_part("batch.managed_image", as_of, request.at("image"), str(request.image_kind))
    if request.image is not None:
        yield from vm_images.image_problems(request.image, as_of, request.at("image"), images, size=request.size, in_batch=True)
    if image is not None:
        amd = request.size is not None and request.size.gpu is not None and request.size.gpu.vendor == "AMD"
        yield from _brings(request, image, sold(WITH_ROCM if amd else WITH_DRIVERS, as_of, images))
    yield from _agent_fits(request, image)
    distribution = distribution_of(request, images)
    if distribution is not None and request.size is not None and not request.cloud_services:
        yield from requirements.system_problems(request.size, distribution, as_of, request.at("image"), rdma=request.rdma)


def _agent(request: PoolRequest, image: VmImage | None, as_of: date) -> Iterator[Problem]:
    """The agent that is set, else the one of the image, which retires with it."""
    if request.node_agent:
        yield from agent_problems(request.node_agent, as_of, request.at("node_agent"))
        return
    needed = agent_for(image.distribution) if image is not None else None
    if needed is None and request.image is not None:
        yield refused("batch.agent_needed", request.at("node_agent"), request=request, agent_list=AGENT_LIST)
    if needed is not None:
        for problem in agent_problems(needed.sku, as_of, request.at("image")):
            end = problem.end._replace(what=f"{request.image}: {problem.end.what}") if problem.end is not None else None
            yield problem._replace(message=f"{request.image}: {problem.message}", value=str(request.image), end=end)


def _agent_fits(request: PoolRequest, image: VmImage | None) -> Iterator[Problem]:
    agent = find_agent(request.node_agent)
    if agent is None:
        return
    expected = agent_for(image.distribution) if image else None
    if expected is not None and expected is not agent:
        yield refused(
            "batch.agent_of_other_image",
            request.at("node_agent"),
            request.node_agent,
            allowed=expected.sku,
            request=request,
            expected=expected,
            distribution=image.distribution if image else "",
        )
    if agent.operating_system != request.operating_system:
        yield refused("batch.agent_of_other_system", request.at("node_agent"), request.node_agent, agent=agent, request=request)


def _brings(request: PoolRequest, image: VmImage, others: tuple[str, ...]) -> Iterator[Problem]:
    if image.operating_system != request.operating_system:
        yield refused(
            "batch.image_of_other_system",
            request.at("image"),
            str(request.image),
            source=image.lifecycle.seen,
            request=request,
            image=image,
        )
    if request.containers is not None and _CONTAINERS[image.operating_system] not in image.has:
        yield refused(
            "batch.image_without_containers", request.at("image"), str(request.image), instead=others, choice=choice(others)
        )
    yield from _driver(request, image, others)
    yield from _network(request, image, others)


def _driver(request: PoolRequest, image: VmImage, others: tuple[str, ...]) -> Iterator[Problem]:
    """Whether a method installs a driver. A custom image is assumed to have one."""
    if request.size is None or request.size.gpu is None:
        return
    in_start_task = request.start_task is not None and request.start_task.installs_driver
    if _DRIVERS[request.size.gpu.vendor] in image.has:
        found = misfit(image, request.size)
        if found is not None and not in_start_task:
            path = request.at("image")
            yield refused("batch.image_of_other_gpu", path, str(request.image), source=found.source, why=found.why)
    elif not request.extensions and not in_start_task:
        yield refused(
            "batch.no_driver", request.at("image"), str(request.image), instead=others, request=request, choice=choice(others)
        )


def _network(request: PoolRequest, image: VmImage, others: tuple[str, ...]) -> Iterator[Problem]:
    """Drivers for InfiniBand. Batch's container images support only the network before SR-IOV."""
    size = request.size
    if size is None or not request.rdma or not size.rdma:
        return
    needed = network_software(size)
    if needed not in image.has and (image.batch_only or needed == "InfiniBand drivers"):
        yield refused(  # a warning where a start task may install them
            "batch.image_without_infiniband",
            request.at("image"),
            str(request.image),
            fix=choice(others),
            source=sources.CONTAINERS if image.batch_only else HPC_IMAGES,
            severity=Severity.ERROR if image.batch_only else Severity.WARNING,
            instead=others,
            size=size,
        )


def network_software(size: Size) -> Software:
    """The drivers for the size's InfiniBand: those of before SR-IOV, or of today."""
    return "RDMA drivers" if requirements.before_sr_iov(size) else "InfiniBand drivers"
