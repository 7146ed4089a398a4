"""The arguments of a gallery image, with their defaults, and its data for pools and machines."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired, TypedDict

import pulumi

from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import VmGeneration
from azure_gpu.formats import azure_types
from azure_gpu.foundation.common import CommonArgs
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.validation import Choice, OpenInput

DEFAULT_VERSION = "1.0.0"
DEFAULT_GENERATION: VmGeneration = "Gen2"
DEFAULT_SYSTEM: OperatingSystem = "Linux"
DEFAULT_REPLICAS = 1  # the service's default

SystemChoice = Annotated[OperatingSystem, Choice("OperatingSystem", "")]
Generation = Annotated[VmGeneration, Choice("VmGeneration", "Generations of virtual machines, which an image must match.")]


class GalleryImageSettings(TypedDict):
    """Settings of a custom image. All of it is plain."""

    source_id: NotRequired[str]
    """ARM id of the version's source: a generalized virtual machine, a snapshot or a disk of its operating system, a managed
    image, or a version in another gallery. Default: none, which declares only gallery and definition, without a version."""
    version: NotRequired[str]
    """The version's name, three numbers. Set a new one with a new `source_id` for a new version. Default: 1.0.0."""
    os_type: NotRequired[SystemChoice]
    """Its operating system. Default: Linux."""
    generation: NotRequired[Generation]
    """The generation of virtual machines that boot it. Default: Gen2."""
    node_agent: NotRequired[str]
    """The node agent of Batch for its operating system, case-insensitive. Default: none; then each pool sets it."""
    regions: NotRequired[Sequence[str]]
    """Azure regions that the version is replicated to, beside the stack's. Default: none."""
    replicas: NotRequired[int]
    """Replicas of the version per region; more replicas let more machines start at the same time. Default: 1."""
    description: NotRequired[str]
    """A description for people. Default: none."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Additional tags, which override the stack's. Default: none."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.GALLERY_IMAGE)]]
    """azure-native properties of the image's definition, set last and validated only by Azure; null removes one. Default:
    none."""


class GalleryImageArgs(GalleryImageSettings, CommonArgs):
    """Arguments of GalleryImage."""

    location: NotRequired[OpenInput[str]]
    """Azure region of gallery and version. Required where the resource group's isn't known before it exists. Default: that."""


class GalleryImageWiring(GalleryImageSettings, OfStack):
    """Arguments of GalleryImage, including the foundation's outputs."""

    location: NotRequired[OpenInput[str]]
    """Azure region of gallery and version. Default: the stack's."""


class ImageComponent(pulumi.ComponentResource):
    """Base class of the image component, `GalleryImage`."""

    KIND = "GalleryImage"
    of_pool: "ImageOfPool"
    """The image for pools and machines. Not an output."""


class ImageOfPool(TypedDict):
    """A custom image of the stack for nodes and machines."""

    id: pulumi.Input[str]
    """Wired: ARM id of the version; empty without one."""
    name: str
    """Plain: identifies the version: gallery, definition and version."""
    has_version: bool
    """Plain: whether it has a version."""
    os_type: OperatingSystem
    """Plain: its operating system."""
    generation: VmGeneration
    """Plain: the generation of virtual machines that boot it."""
    node_agent: str
    """Plain: its node agent; empty where it isn't set."""
    regions: Sequence[str]
    """Plain: the regions of the version; empty where they aren't known before it exists."""


def images_of(args: dict[str, Any]) -> dict[str, ImageOfPool]:
    """Replaces an image component in the arguments of a program by a name, and returns the image by that name."""
    image = args.get("gallery_image")
    if not isinstance(image, ImageComponent):
        return {}
    args["gallery_image"] = image.of_pool["name"]
    return {image.of_pool["name"]: image.of_pool}
