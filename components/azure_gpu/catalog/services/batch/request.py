"""A requested Batch pool, the input of every rule about pools, and the methods by which a driver is installed.

Each value is with where it was written. None or empty: not set.
"""

from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Literal, NamedTuple

from azure_gpu.catalog.services.driver_extension import ExtensionRequest
from azure_gpu.catalog.services.vm_images import ImageReference
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Driver, Size

AllocationMode = Literal[
    "BatchService",
    "UserSubscription",
]
"""In whose subscription the machines of a pool are."""


ImageKind = Literal[
    "Marketplace",
    "Compute Gallery",
    "managed image",  # or a VHD
]


def kind_of(image_id: str) -> ImageKind:
    """The kind of image of an ARM id: a version in a gallery, or a managed image."""
    return "Compute Gallery" if "/galleries/" in image_id.lower() else "managed image"


Mpi = Literal[
    "intel_mpi",
    "microsoft_mpi",
    "hpcx",
]
"""Which MPI runs the tasks that take several nodes at once."""


class PackageReference(NamedTuple):
    """An application package that a pool brings onto its nodes. An empty version means the application's default."""

    application: str
    version: str = ""


class StartTask(NamedTuple):
    """What runs on each node before any task."""

    command_line: str
    elevated: bool = False
    wait_for_success: bool = True
    installs_driver: bool = False
    driver_version: str = ""  # of NVIDIA's driver that it installs, such as 411.82


class ContainerTasks(NamedTuple):
    """The container configuration of a pool."""

    elevated: bool = False  # the tasks run as administrator


class PoolRequest(NamedTuple):
    """One pool. `path` is where it is written; `written` has the fields that are written elsewhere or under another key."""

    path: str
    size: Size | None  # None: not known, so what depends on it isn't checked
    written: Mapping[str, str] = MappingProxyType({})

    allocation_mode: AllocationMode = "BatchService"
    auto_storage: bool = False
    name: str = ""
    needs: Driver | None = None  # the driver that the software calls
    operating_system: OperatingSystem = "Linux"
    image_kind: ImageKind = "Marketplace"
    image: ImageReference | None = None
    node_agent: str = ""
    cloud_services: bool = False

    dedicated_nodes: int | None = None
    spot_nodes: int | None = None  # `targetLowPriorityNodes` in ARM
    resize_timeout: timedelta | None = None
    autoscale_formula: str = ""
    evaluation_interval: timedelta | None = None

    task_slots: int = 1
    inter_node: bool = False  # communication between nodes
    multi_instance: bool = False  # tasks that run on several nodes at once: MPI
    rdma: bool = False  # over InfiniBand
    containers: ContainerTasks | None = None

    packages: int = 0
    start_task: StartTask | None = None
    extensions: tuple[ExtensionRequest, ...] = ()

    communication: str = ""  # Default, Simplified or Classic
    public_addresses: bool = True
    explicit_outbound: bool = False  # the subnet has explicit outbound access

    region: str = ""  # written as `location` unless `written` has another path
    mpi: Mpi | None = None
    package_references: tuple[PackageReference, ...] = ()  # where these are given, `packages` needn't be
    most: tuple[int, int] | None = None  # maximum of dedicated and Spot nodes, also of a formula; None: unknown
    size_name: str | None = None  # as written, for an unknown size; None: not checked

    def at(self, key: str) -> str:
        """Where a field, such as `size`, or one below it, such as `start_task.elevated`, is written."""
        above, dot, last = key.rpartition(".")
        within = self.at(above) if dot and key not in self.written else self.path
        return self.written.get(key, f"{within}.{last}" if within else key)

    @property
    def nodes(self) -> int:
        """Both kinds of nodes together; with a formula, its maximum, 0 if unknown."""
        return (self.dedicated_nodes or 0) + (self.spot_nodes or 0) or sum(self.most or ())


RequestedMethod = Literal[
    "auto",
    "image",  # that brings the driver: of the Marketplace or of a gallery
    "extension",
    "package",
    "start_task",  # set by the user
    "none",
]
"""The method that a user requests."""


MethodKind = Literal[
    "marketplace image",
    "gallery image",  # or a managed one, while Batch took them
    "driver extension",
    "application package",
    "start task",
    "nothing",
]
"""How the software is installed on the nodes."""


class DriverMethod(NamedTuple):
    """The chosen method, with what the pool declares for it. An empty field: nothing is declared."""

    kind: MethodKind
    why: str  # one sentence
    image: ImageReference | None = None
    node_agent: str = ""
    extension: ExtensionRequest | None = None
    extension_version: str = ""  # of its handler, if another one replaces the pool
    start_task: StartTask | None = None
    packages: tuple[PackageReference, ...] = ()

    def applied(self, request: PoolRequest) -> PoolRequest:
        """The pool with this method."""
        return request._replace(
            image=self.image,
            node_agent=self.node_agent,
            extensions=(*request.extensions, *((self.extension,) if self.extension else ())),
            start_task=self.start_task,
            package_references=self.packages,
        )
