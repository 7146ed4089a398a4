"""The arguments of a container group, with their defaults."""

from enum import StrEnum
from typing import Any, NotRequired

from azure_gpu.container_instances.container import ContainerBasics, ContainerSettings, InitContainerSettings
from azure_gpu.container_instances.network import NetworkSettings
from azure_gpu.container_instances.registries import RegistryLoginArgs
from azure_gpu.container_instances.volumes import VolumeArgs
from azure_gpu.shared.context import OfStack


class OsType(StrEnum):
    """The operating system of the containers."""

    LINUX = "Linux"
    WINDOWS = "Windows"  # never with a GPU


class RestartPolicy(StrEnum):
    """What the service does when a container ends."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"  # until it ends with 0
    NEVER = "Never"


class Priority(StrEnum):
    """Whether Azure may take the machine back."""

    REGULAR = "Regular"
    SPOT = "Spot"  # at any time, for less money


class Sku(StrEnum):
    """What the group runs on."""

    STANDARD = "Standard"
    DEDICATED = "Dedicated"  # hardware that no other customer uses
    CONFIDENTIAL = "Confidential"  # memory that is encrypted while it is used


class ContainerGroupSettings(ContainerBasics, NetworkSettings):
    """A container group, as a stack file says it: one container, or several in `containers`. Plain, but for what is called
    wired."""

    container_name: NotRequired[str]
    """Name of the one container in the group. Default: the group's name here."""
    containers: NotRequired[dict[str, ContainerSettings]]
    """Several containers, by name, in place of the keys of one. They share address, volumes and machine. Default: the one that
    the keys beside it describe."""
    init_containers: NotRequired[dict[str, InitContainerSettings]]
    """Containers that run to their end before the others start, one after the other, by name. Default: none."""
    init_order: NotRequired[list[str]]
    """The names of all init containers in the order in which they run. Default: the order of their names, in which the engine
    hands over the keys of a stack file; of a `file`, its own order."""
    volumes: NotRequired[dict[str, VolumeArgs]]
    """Volumes that containers mount, by name. Default: none."""
    registries: NotRequired[list[RegistryLoginArgs]]
    """Registries that ask for a name and a password. The stack's own is pulled from as the stack's identity. Default: none."""
    restart_policy: NotRequired[RestartPolicy]
    """What happens when a container ends. Default: OnFailure, because what runs here is a job that ends."""
    os_type: NotRequired[OsType]
    """Operating system. Default: Linux."""
    zones: NotRequired[list[str]]
    """The availability zone that the group is pinned to, 1, 2 or 3; impossible with a GPU. Default: Azure's choice."""
    priority: NotRequired[Priority]
    """Spot is cheaper, can be stopped at any time, and goes with neither a GPU nor inbound ports. Default: Regular."""
    sku: NotRequired[Sku]
    """What the group runs on. Default: Standard."""
    group_name: NotRequired[str]
    """Name of the group in Azure. Default: made of project, team, stack and the group's name here."""
    location: NotRequired[str]
    """Azure region. Default: the stack's."""
    tags: NotRequired[dict[str, str]]
    """Tags beside the stack's, over which they win. Default: none."""
    as_of: NotRequired[str]
    """The day at which the group is judged, YYYY-MM-DD, and its tag `as-of`. Default: the stack's."""
    expires_after: NotRequired[str]
    """The last day of the group, YYYY-MM-DD; the tag `expires-at` holds the instant at which that day ends in UTC. Tools and
    people keep it: Azure itself deletes nothing by it. Needed with a GPU. Default: none."""
    file: NotRequired[str]
    """A file that describes the group: the YAML of `az container create --file`, or an ARM template; its path from the project's
    folder on. Keys beside it override what the file says; secrets are given beside it. Default: none."""
    file_parameters: NotRequired[dict[str, Any]]
    """Values for the parameters of a template in `file`, by name. Default: the template's own."""


class ContainerGroupArgs(ContainerGroupSettings, OfStack):
    """A container group, and what it stands on."""
