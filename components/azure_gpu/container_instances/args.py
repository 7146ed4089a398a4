"""The arguments of a container group. Those of one container, with their defaults, are in `container.py`."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal, NotRequired

from azure_gpu.container_instances.container import ContainerBasics, ContainerSettings, InitContainerSettings
from azure_gpu.container_instances.network import NetworkSettings
from azure_gpu.container_instances.registries import RegistryLoginArgs
from azure_gpu.container_instances.volumes import VolumeArgs
from azure_gpu.formats import azure_types
from azure_gpu.foundation.common import CommonArgs
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.validation import OpenInput


class OsType(StrEnum):
    """The operating system of the containers."""

    LINUX = "Linux"
    WINDOWS = "Windows"  # never with a GPU


OsTypeName = OsType | Literal["Linux", "Windows"]


class RestartPolicy(StrEnum):
    """What the service does when a container ends."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"  # until it ends with 0
    NEVER = "Never"


RestartPolicyName = RestartPolicy | Literal["Always", "OnFailure", "Never"]


class Priority(StrEnum):
    """Whether Azure may take the machine back."""

    REGULAR = "Regular"
    SPOT = "Spot"  # at any time, for less money


PriorityName = Priority | Literal["Regular", "Spot"]


class Sku(StrEnum):
    """What the group runs on."""

    STANDARD = "Standard"
    DEDICATED = "Dedicated"  # hardware that no other customer uses
    CONFIDENTIAL = "Confidential"  # memory that is encrypted while it is used


SkuName = Sku | Literal["Standard", "Dedicated", "Confidential"]

DEFAULT_OS_TYPE = OsType.LINUX
DEFAULT_RESTART_POLICY = RestartPolicy.ON_FAILURE  # what runs here is a job that ends
DEFAULT_PRIORITY = Priority.REGULAR
DEFAULT_SKU = Sku.STANDARD


class ContainerGroupSettings(ContainerBasics, NetworkSettings):
    """A container group, as a stack file says it: one container, or several in `containers`. Plain, but for what is called
    wired."""

    container_name: NotRequired[str]
    """Name of the one container in the group. Default: the group's name here."""
    containers: NotRequired[Mapping[str, ContainerSettings]]
    """Several containers, by name, in place of the keys of one. They share address, volumes and machine. Default: the one that
    the keys beside it describe."""
    init_containers: NotRequired[Mapping[str, InitContainerSettings]]
    """Containers that run to their end before the others start, one after the other, by name. Default: none."""
    init_order: NotRequired[Sequence[str]]
    """The names of all init containers in the order in which they run. Default: the order of their names, in which the engine
    hands over the keys of a stack file; of a `file`, its own order."""
    volumes: NotRequired[Mapping[str, VolumeArgs | Literal["empty"]]]
    """Volumes that containers mount, by name. Default: none."""
    registries: NotRequired[Sequence[RegistryLoginArgs]]
    """Registries that ask for a name and a password. The stack's own is pulled from as the stack's identity. Default: none."""
    restart_policy: NotRequired[RestartPolicyName]
    """What happens when a container ends. Default: OnFailure, because what runs here is a job that ends."""
    send_logs: NotRequired[bool]
    """Whether the logs go to the log workspace, where there is one. Azure restarts a new group once, when its diagnostic setting
    is created: false is for what must not start twice; `az container logs` shows its logs. Default: true."""
    os_type: NotRequired[OsTypeName]
    """Operating system. Default: Linux."""
    zones: NotRequired[Sequence[str]]
    """The availability zone that the group is pinned to, 1, 2 or 3; impossible with a GPU. Default: Azure's choice."""
    priority: NotRequired[PriorityName]
    """Spot is cheaper, can be stopped at any time, and goes with neither a GPU nor inbound ports. Default: Regular."""
    sku: NotRequired[SkuName]
    """What the group runs on. Default: Standard."""
    group_name: NotRequired[OpenInput[str]]
    """Name of the group in Azure. Default: made of project, team, stack and the group's name here."""
    location: NotRequired[OpenInput[str]]
    """Azure region. Default: the stack's."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Tags beside the stack's, over which they win. Default: none."""
    as_of: NotRequired[str]
    """The day at which the group is judged, YYYY-MM-DD, and its tag `as-of`. Default: the stack's."""
    expires_after: NotRequired[str]
    """The last day of the group, YYYY-MM-DD; the tag `expires-at` holds the instant at which that day ends in UTC. Tools and
    people keep it: Azure itself deletes nothing by it. Needed with a GPU. Default: none."""
    file: NotRequired[str]
    """A file that describes the group: the YAML of `az container create --file`, or an ARM template; its path from the project's
    folder on. Keys beside it override what the file says; secrets are given beside it. Default: none."""
    file_parameters: NotRequired[Mapping[str, Any]]
    """Values for the parameters of a template in `file`, by name. Default: the template's own."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.CONTAINER_GROUP)]]
    """azure-native properties of the container group, set last and judged only by Azure; null removes one. Default: none."""


class ContainerGroupArgs(ContainerGroupSettings, CommonArgs):
    """A container group, and where it belongs."""


class ContainerGroupWiring(ContainerGroupSettings, OfStack):
    """The same, wired to what it needs."""
