"""The image that nodes and machines start from, as a stack file names it: of the Marketplace, of a gallery, or managed.

Whether a service takes the image on that day is for the catalog to say.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NotRequired, TypedDict

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services import vm_images
from azure_gpu.catalog.services.batch.request import ImageKind, kind_of
from azure_gpu.catalog.services.vm_image_table import IMAGES
from azure_gpu.catalog.services.vm_images import ImageReference
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.images.args import ImageComponent, ImageOfPool
from azure_gpu.shared.wording import is_in_program

LATEST = "latest"
KEYS = ("image", "image_id", "gallery_image")
_FORM = "publisher:offer:sku or publisher:offer:sku:version, such as microsoft-dsvm:ubuntu-hpc:2404"
_IDS = (
    azure_types.GALLERY_IMAGE_VERSION.arm_type,
    azure_types.GALLERY_IMAGE.arm_type,  # its newest version
    "Microsoft.Compute/images",
)


class NamedImage(TypedDict):
    """The keys that name an image, at most one of them."""

    image: NotRequired[str]
    image_id: NotRequired[str]
    gallery_image: NotRequired[ImageComponent | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageChoice:
    """What is said about the image. All empty: nothing, and the catalog picks one."""

    key: str  # under which it is written; "image" where nothing is
    kind: ImageKind = ImageKind.MARKETPLACE
    reference: ImageReference | None = None
    version: str = LATEST
    image_id: str = ""  # of `image_id`
    gallery_image: str = ""  # the stack's name for it
    of_gallery: ImageOfPool | None = None
    operating_system: OperatingSystem | None = None  # in it, where that is known
    node_agent: str = ""  # that it says for itself


def choose(said: NamedImage, images: Mapping[str, ImageOfPool], path: str) -> tuple[ImageChoice, list[Problem]]:
    """The image that is named, and what is wrong with its name. `images` are the stack's own."""
    given = [key for key in KEYS if key in said]
    if len(given) > 1:
        problem = Problem(
            path=f"{path}.{given[1]}",
            message="nodes start from one image, and several are said",
            value=", ".join(given),
            allowed=f"at most one of {', '.join(KEYS)}",
            fix="keep one",
        )
        return ImageChoice(key=given[0]), [problem]
    if "image" in said:
        return _marketplace(said["image"], f"{path}.image")
    if "image_id" in said:
        return _by_id(said["image_id"], f"{path}.image_id")
    if "gallery_image" in said:
        return _of_stack(str(said["gallery_image"]), images, f"{path}.gallery_image")
    return ImageChoice(key="image"), []


def _marketplace(text: str, path: str) -> tuple[ImageChoice, list[Problem]]:
    parts = text.split(":")
    if len(parts) not in (3, 4) or not all(part.strip() == part and part for part in parts):
        problem = Problem(
            path=path,
            message="this is no image of the Marketplace",
            value=text,
            allowed=_FORM,
            fix="`az vm image list --all` shows them as urn, or name your own with image_id",
        )
        return ImageChoice(key="image"), [problem]
    reference = ImageReference(*parts[:3])
    known = vm_images.find(reference, IMAGES)
    return ImageChoice(
        key="image",
        reference=reference,
        version=parts[3] if len(parts) == 4 else LATEST,
        operating_system=known.distribution.operating_system if known else None,
    ), []


def _by_id(text: str, path: str) -> tuple[ImageChoice, list[Problem]]:
    found = arm_ids.parse(text)
    if found is None or not any(found.is_type(each) for each in _IDS):
        problem = Problem(
            path=path,
            message="this is no id of an image",
            value=text,
            allowed=f"ids of {', '.join(_IDS)}",
            fix="copy the id of a version in a Compute Gallery whole",
        )
        return ImageChoice(key="image_id"), [problem]
    return ImageChoice(key="image_id", kind=kind_of(found.text), image_id=found.text), []


def _of_stack(name: str, images: Mapping[str, ImageOfPool], path: str) -> tuple[ImageChoice, list[Problem]]:
    image = images.get(name)
    if image is None or not image["has_version"]:
        return ImageChoice(key="gallery_image"), [_without_version(name, image, images, path)]
    return ImageChoice(
        key="gallery_image",
        kind=ImageKind.GALLERY,
        gallery_image=name,
        of_gallery=image,
        operating_system=image["os_type"],
        node_agent=image["node_agent"],
    ), []


def _without_version(name: str, image: ImageOfPool | None, images: Mapping[str, ImageOfPool], path: str) -> Problem:
    if is_in_program(path):
        what = "this is no gallery image" if image is None else "this gallery image has no version"
        allowed = "a GalleryImage with a version"
        fix = "give the component, or the id of a version as image_id" if image is None else "add source_id to the GalleryImage"
    else:
        what = "the stack has no gallery image of this name" if image is None else "this gallery image has no version"
        allowed = ", ".join(each for each, of in images.items() if of["has_version"]) or "none"
        fix = f"add gallery_images.{name}.source_id"
    return Problem(path=path, message=what, value=name, allowed=allowed, fix=fix, code=Code.NOT_FOUND)
