"""The services, and `SizeUse`: a VM size that a service is to run, the input of every rule about sizes."""

from enum import StrEnum
from typing import Literal, NamedTuple

from azure_gpu.catalog.sizes.model import Driver


class Service(StrEnum):
    """The services whose facts are here. Those that take VM sizes come first."""

    VIRTUAL_MACHINES = "vm"
    BATCH = "batch"
    AKS = "aks"
    ML_COMPUTE = "ml-compute"  # clusters and instances of Azure Machine Learning
    ML_ENDPOINT = "ml-endpoint"  # managed online endpoints of Azure Machine Learning
    STACK_EDGE = "stack-edge"
    CONTAINER_INSTANCES = "aci"  # by GPU SKU
    CONTAINER_APPS = "container-apps"  # by workload profile


TAKES_SIZES = (
    Service.VIRTUAL_MACHINES,
    Service.BATCH,
    Service.AKS,
    Service.ML_COMPUTE,
    Service.ML_ENDPOINT,
    Service.STACK_EDGE,
)


OperatingSystem = Literal[
    "Linux",
    "Windows",
]


class SizeUse(NamedTuple):
    """The use of a VM size in a service. `region` is empty for an Azure Stack Edge device."""

    service: Service
    size: str  # as the user wrote it
    region: str
    path: str  # where the size is written
    region_path: str  # where the region is written
    nodes: int = 1
    spot: bool = False
    operating_system: OperatingSystem = "Linux"
    needs: Driver | None = None  # the driver that the software calls; None: unknown
    rdma: bool = False  # the work needs InfiniBand
