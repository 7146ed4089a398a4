"""Image definitions of a gallery, and their versions.

A version keeps what it was made from and holds no disk: nothing is copied, and ids are taken as they are given.
"""

from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId, parse
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body, Resource
from localazure.services import Services
from localazure.subscriptions import SUBSCRIPTION


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


def facts_of(given: str, vm_size: str, services: Services) -> Body:
    """What the refusals of a machine from an image in a gallery of this subscription depend on; of another image nothing."""
    parsed = parse(given) if given else None
    if given and parsed is None:
        return {"unreadable": True}
    types = (azure_types.GALLERY_IMAGE.arm_type, azure_types.GALLERY_IMAGE_VERSION.arm_type)
    if parsed is None or parsed.subscription != SUBSCRIPTION or not any(parsed.is_type(each) for each in types):
        return {}
    definition, size = _image_at(parsed, services), SIZES.find(vm_size)
    if definition is None:
        return {"missing": True}
    boots, number = size.series.generations if size else (), str(definition.properties["hyperVGeneration"])[1:]
    return {"number": number, "fits": not boots or f"Gen{number}" in boots, "system": definition.properties["osType"]}


def _image_at(image: ArmId, services: Services) -> Resource | None:
    """The definition of an image, or of a version of it, that machines can be made from; None where there is none."""
    if image.is_type(azure_types.GALLERY_IMAGE_VERSION.arm_type):
        version = services.store.get(image.key)
        return services.store.get(version.id.scope) if version and version.state == "Succeeded" else None
    versions = services.store.of_type(azure_types.GALLERY_IMAGE_VERSION.arm_type, image.key)
    return services.store.get(image.key) if any(each.state == "Succeeded" for each in versions) else None


def _called(properties: Body) -> tuple[str, ...]:
    return tuple(str(properties["identifier"][name]).lower() for name in ("publisher", "offer", "sku"))
