"""Settings of a virtual machine with a GPU, `GpuVmSettings`, with the defaults of its keys.

They are resolved in `vm.resolve` and validated in `vm.rules`.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Literal, NotRequired, TypedDict

import pulumi

from azure_gpu.catalog.services.machines.costs import PREMIUM, STANDARD, STANDARD_SSD
from azure_gpu.catalog.size_use import OperatingSystemName
from azure_gpu.formats import azure_types
from azure_gpu.foundation.common import CommonArgs
from azure_gpu.images.args import ImageComponent, ImageOfPool
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.validation import OpenInput

DEFAULT_USER = "gpu"
DEFAULT_DISK_GB = 128  # of ubuntu-hpc, whose Docker keeps images on this disk; other images: as large as they are
DEFAULT_ADDRESS_SPACE = "10.71.0.0/24"
DEFAULT_SHUTDOWN = "19:00"


class Driver(StrEnum):
    """How the GPU's driver comes onto the machine."""

    AUTO = "auto"
    IMAGE = "image"
    EXTENSION = "extension"
    NONE = "none"


DriverName = Driver | Literal["auto", "image", "extension", "none"]


class Security(StrEnum):
    """How the machine boots."""

    AUTO = "auto"
    STANDARD = "standard"
    TRUSTED_LAUNCH = "trusted_launch"


SecurityName = Security | Literal["auto", "standard", "trusted_launch"]


class DiskType(StrEnum):
    """What the disk is made of."""

    PREMIUM = PREMIUM
    STANDARD_SSD = STANDARD_SSD
    STANDARD = STANDARD


DiskTypeName = DiskType | Literal["Premium_LRS", "StandardSSD_LRS", "Standard_LRS"]


class VmOutbound(StrEnum):
    """How a machine without a public address reaches the internet, in a network of its own."""

    DEFAULT = "default"
    NONE = "none"


VmOutboundName = VmOutbound | Literal["default", "none"]


class Bastion(StrEnum):
    """A Bastion in the machine's own network."""

    NONE = "none"
    DEVELOPER = "developer"
    BASIC = "basic"


BastionName = Bastion | Literal["none", "developer", "basic"]


class Evicted(StrEnum):
    """What becomes of a Spot machine that Azure takes back."""

    DEALLOCATE = "deallocate"
    DELETE = "delete"


EvictedName = Evicted | Literal["deallocate", "delete"]


class VmSpotArgs(TypedDict):
    """A Spot machine, which Azure may take back at any time. `true` alone stands for all defaults. All of it is plain."""

    enabled: NotRequired[bool]
    """Whether it is one. Default: true."""
    max_price: NotRequired[float]
    """What it may cost at most, in USD an hour with at most five decimals; -1: as much as an ordinary one. Default: -1."""
    eviction: NotRequired[EvictedName]
    """What becomes of it when it is taken back: deallocate keeps its disk, which goes on costing. Default: deallocate."""


class AdminArgs(TypedDict):
    """Who administers the machine."""

    user: NotRequired[str]
    """Plain: the user's name. Default: gpu."""
    ssh_public_key: NotRequired[str]
    """Plain: the public key in one line, RSA or Ed25519, with which one signs on to Linux: no password does. Needed with Linux,
    also where nobody reaches the machine by SSH: Azure makes none without."""
    password: NotRequired[pulumi.Input[str]]
    """Wired: the password of a Windows machine, encrypted in the stack file by `pulumi config set --secret --path` and in the
    state. Needed with Windows, refused with Linux."""


class DiskArgs(TypedDict):
    """The disk of the system. All of it is plain."""

    size_gb: NotRequired[int]
    """Its size. Default: 128 with ubuntu-hpc, else the image's own."""
    type: NotRequired[DiskTypeName]
    """What it is made of. Default: Premium_LRS."""
    encryption_at_host: NotRequired[bool]
    """True encrypts what lies on the host too, the temporary disk above all; the subscription needs the feature EncryptionAtHost
    of Microsoft.Compute. Disks themselves are encrypted either way. Default: false."""


class ShutdownArgs(TypedDict):
    """A daily shutdown by Azure, which deallocates the machine. `false` alone leaves it out. All of it is plain."""

    enabled: NotRequired[bool]
    """Whether there is one. Default: true."""
    time: NotRequired[str]
    """The time of day, HH:MM in quotes. Default: 19:00."""
    timezone: NotRequired[str]
    """The time zone by the name that Windows has for it, such as W. Europe Standard Time. Default: UTC."""
    mail_to: NotRequired[str]
    """Who gets a mail half an hour before, with a link that puts it off. Default: nobody."""


class GpuVmSettings(TypedDict):
    """A virtual machine with a GPU, as a stack file says it. What isn't wired is plain."""

    size: str
    """The machine's size, such as Standard_NC4as_T4_v3."""
    image: NotRequired[str]
    """What its disk is made from: ubuntu-hpc or ubuntu-hpc-2204, Microsoft's images for GPUs with driver and containers, renewed
    quarterly; dsvm, a Data Science Virtual Machine with Python and its libraries, Linux or Windows by `os_type`; or an image of
    the Marketplace as publisher:offer:sku or publisher:offer:sku:version. Default: ubuntu-hpc in the kind that fits the GPU, a
    plain Ubuntu 22.04 where none does, and dsvm with Windows."""
    image_id: NotRequired[str]
    """In place of `image`: ARM id of an image of your own, of a Compute Gallery or managed. Default: none."""
    gallery_image: NotRequired[ImageComponent | str]
    """In place of `image`: one of the stack's own images that has a version: its name under `gallery_images`; in a program, the
    component. Default: none."""
    os_type: NotRequired[OperatingSystemName]
    """The operating system. Default: that of the image; Linux where nothing tells."""
    vm_name: NotRequired[OpenInput[str]]
    """Its name in Azure. Default: made of project, team, stack and its name here."""
    location: NotRequired[OpenInput[str]]
    """Azure region. Default: the stack's."""
    zone: NotRequired[str]
    """Availability zone, in quotes. Default: none."""
    spot: NotRequired[VmSpotArgs | bool]
    """Makes it a Spot machine. Default: an ordinary one."""
    admin: NotRequired[AdminArgs]
    """Who administers it, by SSH key or, with Windows, by a secret password."""
    driver: NotRequired[DriverName]
    """How the GPU's driver comes: image says that the image brings it, extension has Azure's extension install it. Default: auto,
    the image's where it brings one, else the extension."""
    prove_driver: NotRequired[bool]
    """True has the machine prove its driver: it waits until nvidia-smi answers, writes the GPUs down for `vm show`, and an update
    fails where none comes within 20 minutes. Default: true, but with driver: none and with GPUs that aren't NVIDIA's."""
    disk: NotRequired[DiskArgs]
    """The disk of the system. It goes with the machine. Default: as each key says."""
    security: NotRequired[SecurityName]
    """How it boots: trusted_launch has a virtual TPM, and Secure Boot where the driver takes it. Default: auto, trusted_launch
    where size and image are known to take it; ubuntu-hpc is said to break under it."""
    subnet_id: NotRequired[OpenInput[str]]
    """Wired: ARM id of a subnet that exists. Default: a network of its own, into which nothing is let in."""
    address_space: NotRequired[str]
    """Addresses of its own network. Default: 10.71.0.0/24."""
    outbound: NotRequired[VmOutboundName]
    """How it reaches the internet from its own network without a public address: default, an address of Azure's that may change,
    costs nothing and is asked for by name, as new networks have none by themselves since 2026; none: not at all, so that it pulls
    no images. A fixed one takes a subnet of yours with a NAT gateway. Default: default."""
    public_address: NotRequired[bool]
    """True gives it a public address, which `allowed_ranges` reach by SSH, or by remote desktop with Windows. Without one it is
    reached by run-command, as `run --on vm` does, or by a Bastion. Default: false."""
    allowed_ranges: NotRequired[Sequence[str]]
    """With `public_address`: who may sign on, as ranges such as 203.0.113.7/32; AzureMachineLearning is the service's own
    addresses, from which a workspace signs on that attaches the machine. Everybody is refused. Default: nobody."""
    bastion: NotRequired[BastionName]
    """A Bastion in its own network, by which one signs on without a public address: developer is free, for one at a time from the
    portal; basic costs by the hour for as long as it is there, used or not. Default: none."""
    shutdown: NotRequired[ShutdownArgs | bool]
    """The daily shutdown. One from inside the system leaves the machine billed. Default: at 19:00 UTC."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Tags beside the stack's, over which they win. Default: none."""
    as_of: NotRequired[str]
    """The day at which the machine is judged, YYYY-MM-DD, and its tag `as-of`. Default: the stack's."""
    expires_after: NotRequired[str]
    """The last day of the machine, YYYY-MM-DD; the tag `expires-at` holds the instant at which that day ends in UTC. Tools and
    people keep it: Azure itself deletes nothing by it. Needed. Default: none."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.VIRTUAL_MACHINE)]]
    """azure-native properties of the virtual machine, set last and judged only by Azure; null removes one. Default: none."""


class GpuVmArgs(GpuVmSettings, CommonArgs):
    """A virtual machine, and where it belongs."""


class GpuVmWiring(GpuVmSettings, OfStack):
    """The same, wired to what it needs."""

    images: NotRequired[Mapping[str, ImageOfPool]]
    """The stack's gallery images, by name. Default: none."""
