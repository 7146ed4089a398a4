"""Image definitions of a gallery, and their versions.

A version keeps what it was made from and holds no disk: nothing is copied, and ids are taken as they are given.
"""

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body, Resource
from localazure.services import Services


class GalleryImages(Kind):
    """Definitions: what the versions have in common."""

    azure_type = azure_types.GALLERY_IMAGE

    def facts(self, change: Change) -> Body:
        others = change.services.store.of_type(self.arm_type, change.id.scope)
        called = _called(change.properties)
        same = [one.id.name for one in others if one.key != change.id.key and _called(one.properties) == called]
        return {"same": same[:1], "called": "/".join(called)}


class GalleryImageVersions(Kind):
    azure_type = azure_types.GALLERY_IMAGE_VERSION

    def facts(self, change: Change) -> Body:
        regions = (change.properties.get("publishingProfile") or {}).get("targetRegions")
        return {"regions": [str(each["name"]).replace(" ", "").lower() for each in regions or []]}


def image_at(image: ArmId, services: Services) -> Resource | None:
    """The definition of an image, or of a version of it, that machines can be made from; None where there is none."""
    if image.is_type(azure_types.GALLERY_IMAGE_VERSION.arm_type):
        version = services.store.get(image.key)
        return services.store.get(version.id.scope) if version and version.state == "Succeeded" else None
    versions = services.store.of_type(azure_types.GALLERY_IMAGE_VERSION.arm_type, image.key)
    return services.store.get(image.key) if any(each.state == "Succeeded" for each in versions) else None


def _called(properties: Body) -> tuple[str, ...]:
    return tuple(str(properties["identifier"][name]).lower() for name in ("publisher", "offer", "sku"))
