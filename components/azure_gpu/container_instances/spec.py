"""`ContainerGroupSpec`: the resolved arguments of a container group."""

from collections.abc import Mapping
from dataclasses import dataclass

from azure_gpu.container_instances.args import (
    ContainerGroupSettings,
    ContainerSettings,
    GpuArgs,
    InitContainerSettings,
    PortArgs,
    VolumeArgs,
)
from azure_gpu.shared.context import Tags
from azure_gpu.shared.validation import written
from azure_gpu.shared.workloads import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class InitContainerSpec:
    """A container that runs before the others, with its place."""

    name: str  # in Azure
    path: str  # of its settings
    settings: InitContainerSettings

    @property
    def workload(self) -> Workload | None:
        return self.settings.get("workload")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSpec(InitContainerSpec):
    """One of the other containers."""

    settings: ContainerSettings
    ports: tuple[int, ...]  # for a single container those of the group


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerGroupSpec:
    """The resolved arguments. What needs no resolving, outputs and secrets stay in `settings`."""

    settings: ContainerGroupSettings  # the arguments, merged with those of a file
    group_name: str
    containers: tuple[ContainerSpec, ...]
    init_containers: tuple[InitContainerSpec, ...]
    location: str
    location_path: str  # of the setting
    tags: Tags
    expires_at: str | None  # instant in UTC, RFC 3339
    hourly_cost: None = None  # prices of container groups aren't known to the catalog

    @property
    def gpu(self) -> GpuArgs | None:
        """The GPUs of all containers in total; their SKUs are equal, as anything else is a problem."""
        gpus = [container.settings["gpu"] for container in self.containers if "gpu" in container.settings]
        return {"count": sum(int(gpu["count"]) for gpu in gpus), "sku": gpus[0]["sku"]} if gpus else None

    @property
    def ports(self) -> list[PortArgs]:
        """The ports of the group's address, each with its protocol."""
        return [{"port": one["port"], "protocol": one.get("protocol", "TCP")} for one in self.settings.get("ports", [])]

    @property
    def volumes(self) -> Mapping[str, VolumeArgs]:
        return {name: written(volume) for name, volume in self.settings.get("volumes", {}).items()}
