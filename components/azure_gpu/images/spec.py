"""`GalleryImageSpec`: the resolved arguments of a gallery image, with their validation."""

from dataclasses import dataclass

import pulumi

from azure_gpu.catalog import names, regions
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.batch import images
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import VmGeneration
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.images.args import (
    DEFAULT_GENERATION,
    DEFAULT_REPLICAS,
    DEFAULT_SYSTEM,
    DEFAULT_VERSION,
    GalleryImageSettings,
    ImageOfPool,
)
from azure_gpu.shared.context import Context, Tags, check_tags
from azure_gpu.shared.naming import cleaned

VIRTUAL_MACHINE = "Microsoft.Compute/virtualMachines"
DISKS = ("Microsoft.Compute/snapshots", "Microsoft.Compute/disks")
_MADE_FROM = (VIRTUAL_MACHINE, *DISKS, "Microsoft.Compute/images", azure_types.GALLERY_IMAGE_VERSION.arm_type)
_SOURCE = "Microsoft Learn, virtual-machines/shared-image-galleries, read 2026-11-20"


@dataclass(frozen=True, slots=True, kw_only=True)
class GalleryImageSpec:
    """The resolved arguments."""

    gallery_name: str
    image_name: str
    version: str
    source: ArmId | None  # None: no version is declared
    os_type: OperatingSystem
    generation: VmGeneration
    node_agent: str  # empty: not set
    publisher: str  # with the next two fields unique in the gallery, as Azure requires
    offer: str
    sku: str
    location: str
    regions: tuple[str, ...]  # the stack's first
    replicas: int
    description: str | None
    tags: Tags


def of_pool(spec: GalleryImageSpec, version_id: pulumi.Input[str] = "") -> ImageOfPool:
    """Returns the image for pools; without an id, for validation."""
    return ImageOfPool(
        id=version_id,
        name=f"{spec.gallery_name}/{spec.image_name}/{spec.version}",
        has_version=spec.source is not None,
        os_type=spec.os_type,
        generation=spec.generation,
        node_agent=spec.node_agent,
        regions=spec.regions if spec.location else (),
    )


def resolve(name: str, args: GalleryImageSettings, context: Context) -> tuple[GalleryImageSpec, list[Problem]]:
    """Resolves and validates the arguments of the image `name`. Pure."""
    path = context.path("gallery_images", name)
    problems: list[Problem] = []
    source = None
    if "source_id" in args:
        source, problems = _source(args["source_id"], f"{path}.source_id")
    version = args.get("version", DEFAULT_VERSION)
    problems += names.check(azure_types.GALLERY_IMAGE_VERSION.arm_type, version, f"{path}.version")
    problems += check_tags(args.get("tags", {}), f"{path}.tags")
    for index, region in enumerate(args.get("regions", [])):
        problems += regions.check(region, f"{path}.regions[{index}]")
    if "node_agent" in args:
        problems += images.agent_problems(args["node_agent"], context.day, f"{path}.node_agent")
    replicas = int(args.get("replicas", DEFAULT_REPLICAS))
    if replicas < 1:
        problems.append(refused("gallery.replicas", f"{path}.replicas", replicas))
    location = context.location
    image_name = context.name(azure_types.GALLERY_IMAGE.arm_type, name)
    elsewhere = [regions.normalise(region) for region in args.get("regions", [])]
    spec = GalleryImageSpec(
        gallery_name=context.name(azure_types.GALLERY.arm_type, name),
        image_name=image_name,
        version=version,
        source=source,
        os_type=args.get("os_type", DEFAULT_SYSTEM),
        generation=args.get("generation", DEFAULT_GENERATION),
        node_agent=args.get("node_agent", ""),
        publisher=cleaned(names.GALLERY_PUBLISHER, context.team) or cleaned(names.GALLERY_PUBLISHER, context.project),
        offer=cleaned(names.GALLERY_OFFER, context.project),
        sku=cleaned(names.GALLERY_SKU, name) or cleaned(names.GALLERY_SKU, image_name),
        location=location,
        regions=tuple(dict.fromkeys(each for each in [location, *elsewhere] if each)),
        replicas=replicas,
        description=args.get("description"),
        tags={**context.tags(), **args.get("tags", {})},
    )
    return spec, problems


def _source(text: str, path: str) -> tuple[ArmId | None, list[Problem]]:
    found = arm_ids.parse(text)
    if found is not None and any(found.is_type(each) for each in _MADE_FROM):
        return found, []
    what = "not a valid Azure resource id" if found is None else f"images can't be created from {found.type}"
    return None, [refused("gallery.source", path, text, source=_SOURCE, what=what, types=", ".join(_MADE_FROM))]
