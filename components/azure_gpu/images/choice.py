"""Resolves the image of nodes and machines: from the Marketplace, from a gallery, or managed.

The catalog checks whether a service supports the image at a date.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services import vm_images
from azure_gpu.catalog.services.batch.request import ImageKind, kind_of
from azure_gpu.catalog.services.vm_images import IMAGES, ImageReference, VmImage
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.images.args import ImageComponent, ImageOfPool
from azure_gpu.shared.wording import is_in_program

LATEST = "latest"
KEYS = ("image", "image_id", "gallery_image")
_IDS = (
    azure_types.GALLERY_IMAGE_VERSION.arm_type,
    azure_types.GALLERY_IMAGE.arm_type,  # its newest version
    "Microsoft.Compute/images",
)


class NamedImage(TypedDict):
    """The keys that set an image, at most one of them."""

    image: NotRequired[str]
    image_id: NotRequired[str]
    gallery_image: NotRequired[ImageComponent | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageChoice:
    """The configured image. All empty: none, and the catalog chooses one."""

    key: str  # of the setting; "image" where none is set
    kind: ImageKind = "Marketplace"
    reference: ImageReference | None = None
    version: str = LATEST
    image_id: str = ""  # of `image_id`
    gallery_image: str = ""  # the stack's name for it
    of_gallery: ImageOfPool | None = None
    operating_system: OperatingSystem | None = None  # where known
    node_agent: str = ""  # set for the image

    @property
    def known(self) -> VmImage | None:
        """The image in the catalog, if it is known there."""
        return vm_images.find(self.reference, IMAGES) if self.reference is not None else None

    def arguments(self, chosen: ImageReference | None, images: Mapping[str, ImageOfPool]) -> dict[str, Any]:
        """The arguments of azure-native for the image. `chosen`: the one of the Marketplace; `images`: those of the stack."""
        if self.of_gallery is not None:
            return {"id": images[self.gallery_image]["id"]}
        if self.image_id or chosen is None:
            return {"id": self.image_id or None}
        return {**chosen._asdict(), "version": self.version}


def choose(settings: NamedImage, images: Mapping[str, ImageOfPool], path: str) -> tuple[ImageChoice, list[Problem]]:
    """Resolves the configured image. `images`: those of the stack."""
    given = [key for key in KEYS if key in settings]
    if len(given) > 1:
        problem = refused("image.several", f"{path}.{given[1]}", ", ".join(given), keys=", ".join(KEYS))
        return ImageChoice(key=given[0]), [problem]
    if "image" in settings:
        return _marketplace(settings["image"], f"{path}.image")
    if "image_id" in settings:
        return _by_id(settings["image_id"], f"{path}.image_id")
    if "gallery_image" in settings:
        return _of_stack(str(settings["gallery_image"]), images, f"{path}.gallery_image")
    return ImageChoice(key="image"), []


def generation_problems(refusal: str, size: Size | None, image: ImageOfPool | None, name: str, path: str) -> list[Problem]:
    """Rejects an image of the stack of a generation that the size doesn't boot, by the words of `refusal`."""
    boots = size.series.generations if size is not None else ()
    if size is None or image is None or not boots or image["generation"] in boots:
        return []
    words = {"size": size, "generation": image["generation"], "generations": " and ".join(boots), "either": " or ".join(boots)}
    return [refused(refusal, path, name, source="; ".join(map(str, size.series.sources)), **words)]


def _marketplace(text: str, path: str) -> tuple[ImageChoice, list[Problem]]:
    parts = text.split(":")
    if len(parts) not in (3, 4) or not all(part.strip() == part and part for part in parts):
        return ImageChoice(key="image"), [refused("image.not_a_urn", path, text)]
    reference = ImageReference(*parts[:3])
    known = vm_images.find(reference, IMAGES)
    return ImageChoice(
        key="image",
        reference=reference,
        version=parts[3] if len(parts) == 4 else LATEST,
        operating_system=known.operating_system if known else None,
    ), []


def _by_id(text: str, path: str) -> tuple[ImageChoice, list[Problem]]:
    found = arm_ids.parse(text)
    if found is None or not any(found.is_type(each) for each in _IDS):
        return ImageChoice(key="image_id"), [refused("image.not_an_id", path, text, types=", ".join(_IDS))]
    return ImageChoice(key="image_id", kind=kind_of(found.text), image_id=found.text), []


def _of_stack(name: str, images: Mapping[str, ImageOfPool], path: str) -> tuple[ImageChoice, list[Problem]]:
    image = images.get(name)
    if image is None or not image["has_version"]:
        return ImageChoice(key="gallery_image"), [_without_version(name, image, images, path)]
    return ImageChoice(
        key="gallery_image",
        kind="Compute Gallery",
        gallery_image=name,
        of_gallery=image,
        operating_system=image["os_type"],
        node_agent=image["node_agent"],
    ), []


def _without_version(name: str, image: ImageOfPool | None, images: Mapping[str, ImageOfPool], path: str) -> Problem:
    what = "gallery.without_version" if image else "gallery.not_one" if is_in_program(path) else "gallery.not_there"
    if is_in_program(path):
        return refused(what, path, name, allowed="a GalleryImage with a version")
    allowed = ", ".join(each for each, of in images.items() if of["has_version"]) or "none"
    return refused(what, path, name, allowed=allowed, fix=f"add gallery_images.{name}.source_id")
