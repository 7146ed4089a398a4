"""The arguments of a container group. Those of one container, with their defaults, are in `container.py`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired

from azure_gpu.container_instances.container import ContainerBasics, ContainerSettings, InitContainerSettings
from azure_gpu.container_instances.network import NetworkSettings
from azure_gpu.container_instances.registries import RegistryLoginArgs
from azure_gpu.container_instances.volumes import VolumeArgs
from azure_gpu.formats import azure_types
from azure_gpu.foundation.common import CommonArgs
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.validation import Choice, OpenInput

OsType = Annotated[
    Literal[
        "Linux",
        "Windows",  # never with a GPU
    ],
    Choice("ContainerGroupOsType", "The operating system of the containers."),
]

RestartPolicy = Annotated[
    Literal[
        "Always",
        "OnFailure",  # until it ends with 0
        "Never",
    ],
    Choice("ContainerGroupRestartPolicy", "Whether the service restarts a container that ends."),
]

Priority = Annotated[
    Literal[
        "Regular",
        "Spot",  # at any time, at a lower price
    ],
    Choice("ContainerGroupPriority", "Whether Azure may evict the group."),
]

Sku = Annotated[
    Literal[
        "Standard",
        "Dedicated",  # hardware that no other customer uses
        "Confidential",  # memory that is encrypted while it is used
    ],
    Choice("ContainerGroupSku", "The kind of hardware."),
]


DEFAULT_OS_TYPE: OsType = "Linux"
DEFAULT_RESTART_POLICY: RestartPolicy = "OnFailure"  # as for a job
DEFAULT_PRIORITY: Priority = "Regular"
DEFAULT_SKU: Sku = "Standard"


class ContainerGroupSettings(ContainerBasics, NetworkSettings):
    """Settings of a container group: one container, or several in `containers`. Plain, except where marked as wired."""

    container_name: NotRequired[str]
    """Name of the single container. Default: the group's name here."""
    containers: NotRequired[Mapping[str, ContainerSettings]]
    """Several containers, by name, in place of the keys of a single one. They share address, volumes and machine. Default: a
    single container by the other keys."""
    init_containers: NotRequired[Mapping[str, InitContainerSettings]]
    """Init containers, by name, which run one after the other before the others start. Default: none."""
    init_order: NotRequired[Sequence[str]]
    """The names of all init containers in the order in which they run. Default: sorted by name, as the engine sorts the keys of a
    stack file; with a `file`, its order."""
    volumes: NotRequired[Mapping[str, VolumeArgs | Literal["empty"]]]
    """Volumes that containers mount, by name. Default: none."""
    registries: NotRequired[Sequence[RegistryLoginArgs]]
    """Registries with a user name and a password. The stack's registry is accessed as the stack's identity. Default: none."""
    restart_policy: NotRequired[RestartPolicy]
    """Whether a container that ends is restarted. Default: OnFailure, as for a job."""
    send_logs: NotRequired[bool]
    """Whether logs are sent to the log workspace, if there is one. Azure restarts a new group once when its diagnostic setting is
    created: set false for a group that must not start twice; `az container logs` shows its logs. Default: true."""
    os_type: NotRequired[OsType]
    """Operating system. Default: Linux."""
    zones: NotRequired[Sequence[str]]
    """The availability zone that the group is pinned to, 1, 2 or 3; impossible with a GPU. Default: Azure's choice."""
    priority: NotRequired[Priority]
    """Spot is cheaper, can be evicted at any time, and supports neither GPUs nor inbound ports. Default: Regular."""
    sku: NotRequired[Sku]
    """The kind of hardware. Default: Standard."""
    group_name: NotRequired[OpenInput[str]]
    """Name of the group in Azure. Default: built from project, team, stack and the group's name here."""
    location: NotRequired[OpenInput[str]]
    """Azure region. Default: the stack's."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Additional tags, which override the stack's. Default: none."""
    as_of: NotRequired[str]
    """The date at which the group is evaluated, YYYY-MM-DD, and its tag `as-of`. Default: the stack's."""
    expires_after: NotRequired[str]
    """The last day of the group, YYYY-MM-DD; the tag `expires-at` holds the end of that day in UTC. It is for people and tools:
    Azure deletes nothing by it. Default: none; required with a GPU."""
    file: NotRequired[str]
    """A file with the group's settings: the YAML of `az container create --file`, or an ARM template; its path is relative to the
    project's folder. Keys here override those of the file; secrets must be set here. Default: none."""
    file_parameters: NotRequired[Mapping[str, Any]]
    """Values for the parameters of a template in `file`, by name. Default: the template's own."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.CONTAINER_GROUP)]]
    """azure-native properties of the container group, set last and validated only by Azure; null removes one. Default: none."""


class ContainerGroupArgs(ContainerGroupSettings, CommonArgs):
    """Arguments of ContainerGroup."""


class ContainerGroupWiring(ContainerGroupSettings, OfStack):
    """Arguments of ContainerGroup, including the foundation's outputs."""
