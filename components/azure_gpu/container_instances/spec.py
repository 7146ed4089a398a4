"""What is decided of a container group: `ContainerGroupSpec`, from which the component declares."""

from collections.abc import Mapping
from dataclasses import dataclass

from azure_gpu.container_instances import container as group_container
from azure_gpu.container_instances.args import ContainerGroupSettings, OsType, Priority, RestartPolicy, Sku
from azure_gpu.container_instances.container import ContainerSpec, InitContainerSpec
from azure_gpu.container_instances.network import NetworkSpec
from azure_gpu.container_instances.volumes import VolumeArgs
from azure_gpu.shared.context import Tags
from azure_gpu.shared.validation import written


@dataclass(frozen=True, slots=True, kw_only=True)
class GpusOfContainer:
    """The GPUs of one container and where they are written."""

    count: int
    sku: str
    path: str  # of the object with both, such as `container_groups.train.gpu`


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerGroupSpec:
    """What is declared. Wired values stay in `said`."""

    said: ContainerGroupSettings  # the arguments, with those of a file behind them
    group_name: str
    containers: tuple[ContainerSpec, ...]
    init_containers: tuple[InitContainerSpec, ...]
    network: NetworkSpec
    restart_policy: RestartPolicy
    os_type: OsType
    zones: tuple[str, ...]
    priority: Priority
    sku: Sku
    location: str
    location_path: str  # where it is written
    tags: Tags
    expires_at: str | None  # instant in UTC, RFC 3339
    hourly_cost: float | None  # in USD; None: not known

    @property
    def gpu(self) -> group_container.Gpu | None:
        """The GPUs of all containers together; they are of one SKU, as anything else is a problem."""
        found = gpus(self)
        return group_container.Gpu(count=sum(one.count for one in found), sku=found[0].sku) if found else None

    @property
    def volumes(self) -> Mapping[str, VolumeArgs]:
        return {name: written(volume) for name, volume in self.said.get("volumes", {}).items()}


def gpus(spec: ContainerGroupSpec) -> tuple[GpusOfContainer, ...]:
    """The GPUs of each container that has some."""
    return tuple(
        GpusOfContainer(count=container.gpu.count, sku=container.gpu.sku, path=f"{container.path}.gpu")
        for container in spec.containers
        if container.gpu is not None
    )
