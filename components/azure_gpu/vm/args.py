"""Settings of a virtual machine with a GPU, `GpuVmSettings`, with the defaults of its keys.

They are resolved in `vm.resolve` and validated in `vm.rules`.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

import pulumi

from azure_gpu.catalog.services.machines.drivers import RequestedMethod
from azure_gpu.formats import azure_types
from azure_gpu.foundation.common import CommonArgs
from azure_gpu.images.args import ImageComponent, ImageOfPool, SystemChoice
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.validation import Choice, OpenInput

DEFAULT_USER = "gpu"
DEFAULT_DISK_GB = 128  # of ubuntu-hpc, whose Docker keeps images on this disk; other images: as large as they are
DEFAULT_DISK_TYPE = "Premium_LRS"
DEFAULT_ADDRESS_SPACE = "10.71.0.0/24"
DEFAULT_SHUTDOWN = "19:00"

Driver = Annotated[RequestedMethod, Choice("VmDriver", "How the GPU driver is installed on the machine.")]
Security = Annotated[Literal["auto", "standard", "trusted_launch"], Choice("VmSecurity", "How the machine boots.")]
DiskType = Annotated[
    Literal["Premium_LRS", "StandardSSD_LRS", "Standard_LRS"],
    Choice(
        "VmDiskType",
        "Storage type of the disk.",
        (("Premium_LRS", "Premium"), ("StandardSSD_LRS", "StandardSsd"), ("Standard_LRS", "Standard")),
    ),
]
VmOutbound = Annotated[
    Literal["default", "none"],
    Choice("VmOutbound", "How a machine without a public address reaches the internet, in a new network."),
]
Bastion = Annotated[Literal["none", "developer", "basic"], Choice("VmBastion", "A Bastion in the machine's new network.")]
Evicted = Annotated[Literal["deallocate", "delete"], Choice("VmEviction", "What happens to a Spot machine that Azure evicts.")]


class VmSpotArgs(TypedDict):
    """A Spot machine, which Azure may evict at any time. `true` stands for all defaults. All of it is plain."""

    enabled: NotRequired[bool]
    """Whether it is a Spot machine. Default: true."""
    max_price: NotRequired[float]
    """Maximum price, in USD an hour with at most five decimals; -1: up to the regular price. Default: -1."""
    eviction: NotRequired[Evicted]
    """What happens when it is evicted: deallocate keeps its disk, which still costs. Default: deallocate."""


class AdminArgs(TypedDict):
    """The administrator of the machine."""

    user: NotRequired[str]
    """Plain: the user's name. Default: gpu."""
    ssh_public_key: NotRequired[str]
    """Plain: the public key for logins to Linux, in one line, RSA or Ed25519; passwords aren't supported. Required with Linux,
    even if the machine isn't reachable by SSH: Azure requires one."""
    password: NotRequired[pulumi.Input[str]]
    """Wired: the password of a Windows machine, encrypted in the stack file by `pulumi config set --secret --path` and in the
    state. Required with Windows, rejected with Linux."""


class DiskArgs(TypedDict):
    """The OS disk. All of it is plain."""

    size_gb: NotRequired[int]
    """Its size. Default: 128 with ubuntu-hpc, else the image's own."""
    type: NotRequired[DiskType]
    """Its storage type. Default: Premium_LRS."""
    encryption_at_host: NotRequired[bool]
    """True also encrypts data on the host, such as the temporary disk; the subscription needs the feature EncryptionAtHost of
    Microsoft.Compute. Disks themselves are always encrypted. Default: false."""


class ShutdownArgs(TypedDict):
    """A daily shutdown by Azure, which deallocates the machine. `false` turns it off. All of it is plain."""

    enabled: NotRequired[bool]
    """Whether there is a daily shutdown. Default: true."""
    time: NotRequired[str]
    """The time of day, HH:MM in quotes. Default: 19:00."""
    timezone: NotRequired[str]
    """The time zone by its Windows name, such as W. Europe Standard Time. Default: UTC."""
    mail_to: NotRequired[str]
    """Who gets a mail half an hour before, with a link to postpone it. Default: nobody."""


class GpuVmSettings(TypedDict):
    """A virtual machine with a GPU. Plain, except for keys marked as wired."""

    size: str
    """The machine's size, such as Standard_NC4as_T4_v3."""
    image: NotRequired[str]
    """Image of the OS disk: ubuntu-hpc or ubuntu-hpc-2204, Microsoft's images for GPUs with driver and containers, updated
    quarterly; dsvm, a Data Science Virtual Machine with Python and its libraries, Linux or Windows by `os_type`; or an image of
    the Marketplace as publisher:offer:sku or publisher:offer:sku:version. Default: ubuntu-hpc in the kind that fits the GPU, a
    plain Ubuntu 22.04 where none does, and dsvm with Windows."""
    image_id: NotRequired[str]
    """Instead of `image`: ARM id of a custom image, of a Compute Gallery or managed. Default: none."""
    gallery_image: NotRequired[ImageComponent | str]
    """Instead of `image`: one of the stack's images that has a version: its name under `gallery_images`; in a program, the
    component. Default: none."""
    os_type: NotRequired[SystemChoice]
    """The operating system. Default: that of the image; Linux if it is unknown."""
    vm_name: NotRequired[OpenInput[str]]
    """Its name in Azure. Default: made of project, team, stack and its name here."""
    location: NotRequired[OpenInput[str]]
    """Azure region. Default: the stack's."""
    zone: NotRequired[str]
    """Availability zone, in quotes. Default: none."""
    spot: NotRequired[VmSpotArgs | bool]
    """Makes it a Spot machine. Default: a regular one."""
    admin: NotRequired[AdminArgs]
    """Its administrator, with an SSH key or, with Windows, a secret password."""
    driver: NotRequired[Driver]
    """How the GPU driver is installed: image if the image includes it, extension by Azure's extension. Default: auto, the image's
    where it includes one, else the extension."""
    prove_driver: NotRequired[bool]
    """True makes the machine check its driver: it waits until nvidia-smi answers, records its GPUs, and an update
    fails if they don't answer within 20 minutes. Default: true, but with driver: none and with GPUs that aren't NVIDIA's."""
    disk: NotRequired[DiskArgs]
    """The OS disk, which is deleted with the machine. Default: see each key."""
    security: NotRequired[Security]
    """How it boots: trusted_launch has a virtual TPM, and Secure Boot where the driver supports it. Default: auto, trusted_launch
    where size and image are known to support it; ubuntu-hpc is reported to break with it."""
    subnet_id: NotRequired[OpenInput[str]]
    """Wired: ARM id of an existing subnet. Default: a new network, without inbound access."""
    address_space: NotRequired[str]
    """Addresses of the new network. Default: 10.71.0.0/24."""
    outbound: NotRequired[VmOutbound]
    """How it reaches the internet from the new network without a public address: default, an address of Azure's that may change
    and costs nothing, declared explicitly, as new networks have none by default since 2026; none: not at all, so that it can't
    pull images. A fixed address requires a subnet of yours with a NAT gateway. Default: default."""
    public_address: NotRequired[bool]
    """True gives it a public address, reachable from `allowed_ranges` by SSH, or by remote desktop with Windows. Without one it
    is reached by run-command, as `run --on vm` does, or by a Bastion. Default: false."""
    allowed_ranges: NotRequired[Sequence[str]]
    """With `public_address`: ranges that may connect, such as 203.0.113.7/32; AzureMachineLearning stands for the service's
    addresses, from which a workspace connects that attaches the machine. A range of all addresses is rejected. Default: none."""
    bastion: NotRequired[Bastion]
    """A Bastion in the new network, for logins without a public address: developer is free, for one login at a time from the
    portal; basic costs by the hour as long as it exists, used or not. Default: none."""
    shutdown: NotRequired[ShutdownArgs | bool]
    """The daily shutdown. A shutdown from inside the operating system leaves the machine billed. Default: at 19:00 UTC."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Additional tags, which take precedence over the stack's. Default: none."""
    as_of: NotRequired[str]
    """The date against which the machine is validated, YYYY-MM-DD, and its tag `as-of`. Default: the stack's."""
    expires_after: NotRequired[str]
    """The last day of the machine, YYYY-MM-DD; the tag `expires-at` holds the end of that day in UTC. Tools and people act on it:
    Azure itself deletes nothing. Required. Default: none."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.VIRTUAL_MACHINE)]]
    """azure-native properties of the virtual machine, set last and validated only by Azure; null removes one. Default: none."""


class GpuVmArgs(GpuVmSettings, CommonArgs):
    """Arguments of GpuVm."""


class GpuVmWiring(GpuVmSettings, OfStack):
    """Arguments of GpuVm, including the outputs of the stack's other parts."""

    images: NotRequired[Mapping[str, ImageOfPool]]
    """The stack's gallery images, by name. Default: none."""
