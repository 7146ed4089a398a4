"""The arguments of a gallery image, with their defaults, and what it offers to pools and machines."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired, TypedDict

import pulumi

from azure_gpu.catalog.size_use import OperatingSystem, OperatingSystemName
from azure_gpu.catalog.sizes.model import VmGeneration, VmGenerationName
from azure_gpu.formats import azure_types
from azure_gpu.foundation.common import CommonArgs
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.validation import OpenInput

DEFAULT_VERSION = "1.0.0"
DEFAULT_GENERATION = VmGeneration.GEN2
DEFAULT_SYSTEM = OperatingSystem.LINUX
DEFAULT_REPLICAS = 1  # the service's own


class GalleryImageSettings(TypedDict):
    """An image of one's own, as a stack file says it. All of it is plain."""

    source_id: NotRequired[str]
    """ARM id of what the version is made from: a generalized virtual machine, a snapshot or a disk of its operating system, a
    managed image, or a version in another gallery. Default: none, and no version yet: gallery and definition alone."""
    version: NotRequired[str]
    """The version's name, three numbers. A new one beside a new `source_id` makes a new version. Default: 1.0.0."""
    os_type: NotRequired[OperatingSystemName]
    """The operating system in it. Default: Linux."""
    generation: NotRequired[VmGenerationName]
    """The generation of virtual machines that boot it. Default: Gen2."""
    node_agent: NotRequired[str]
    """The node agent of Batch that fits what runs in it, in any letter case. Default: none; then each pool says its own."""
    regions: NotRequired[Sequence[str]]
    """Azure regions that the version is copied to, beside the stack's. Default: none."""
    replicas: NotRequired[int]
    """Copies of the version in each region; more let more machines start at once. Default: 1."""
    description: NotRequired[str]
    """What people read. Default: none."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Tags beside the stack's, over which they win. Default: none."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.GALLERY_IMAGE)]]
    """azure-native properties of the image's definition, set last and judged only by Azure; null removes one. Default: none."""


class GalleryImageArgs(GalleryImageSettings, CommonArgs):
    """An image of one's own, and where it belongs."""

    location: NotRequired[OpenInput[str]]
    """Azure region of gallery and version. Needed where the resource group's isn't known before it is there. Default: that."""


class GalleryImageWiring(GalleryImageSettings, OfStack):
    """The same, wired to what it needs."""

    location: NotRequired[OpenInput[str]]
    """Azure region of gallery and version. Default: the stack's."""


class ImageComponent(pulumi.ComponentResource):
    """A component that is an image: a `GalleryImage`."""

    KIND = "GalleryImage"
    of_pool: "ImageOfPool"
    """The image as pools and machines use it. Not an output."""


class ImageOfPool(TypedDict):
    """An image of the stack's own that nodes can start from."""

    id: pulumi.Input[str]
    """Wired: ARM id of the version; empty without one."""
    name: str
    """Plain: what tells the version from every other: gallery, definition and version."""
    has_version: bool
    """Plain: whether there is a version to start from."""
    os_type: OperatingSystem
    """Plain: the operating system in it."""
    generation: VmGeneration
    """Plain: the generation of virtual machines that boot it."""
    node_agent: str
    """Plain: the node agent that fits; empty where that isn't said."""
    regions: Sequence[str]
    """Plain: the regions that the version is in; empty where its own isn't known before it is there."""


def images_of(args: dict[str, Any]) -> dict[str, ImageOfPool]:
    """The image that the arguments of a program name as a component, by a name that then stands in its place."""
    image = args.get("gallery_image")
    if not isinstance(image, ImageComponent):
        return {}
    args["gallery_image"] = image.of_pool["name"]
    return {image.of_pool["name"]: image.of_pool}
