"""`ContainerGroupSpec`: the resolved arguments of a container group."""

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
    """The GPUs of one container, with the path of their settings."""

    count: int
    sku: str
    path: str  # of the object with both, such as `container_groups.train.gpu`


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerGroupSpec:
    """The resolved arguments. Outputs and secrets stay in `settings`."""

    settings: ContainerGroupSettings  # the arguments, merged with those of a file
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
    location_path: str  # of the setting
    tags: Tags
    expires_at: str | None  # instant in UTC, RFC 3339
    hourly_cost: float | None  # in USD; None: not known

    @property
    def gpu(self) -> group_container.Gpu | None:
        """The GPUs of all containers in total; their SKUs are equal, as anything else is a problem."""
        found = gpus(self)
        return group_container.Gpu(count=sum(one.count for one in found), sku=found[0].sku) if found else None

    @property
    def volumes(self) -> Mapping[str, VolumeArgs]:
        return {name: written(volume) for name, volume in self.settings.get("volumes", {}).items()}


def gpus(spec: ContainerGroupSpec) -> tuple[GpusOfContainer, ...]:
    """Returns the GPUs of each container with GPUs."""
    return tuple(
        GpusOfContainer(count=container.gpu.count, sku=container.gpu.sku, path=f"{container.path}.gpu")
        for container in spec.containers
        if container.gpu is not None
    )
