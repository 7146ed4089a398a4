"""Microsoft.Compute: the Marketplace images that are known, as `az vm create` looks them up: the versions of one, and a version.

In: a path below `locations`. Out: the answer, or None where the path is none of these. An image that the catalog doesn't
know isn't there; of versions there is the newest that a source names, else 1.0.0.
"""

from collections.abc import Sequence

from azure_gpu.catalog.services import vm_images
from azure_gpu.catalog.services.vm_image_table import IMAGES
from azure_gpu.catalog.services.vm_images import ImageReference, VmImage
from localazure.arm.errors import ArmError
from localazure.arm.store import Body
from localazure.services import SUBSCRIPTION

API_VERSIONS = frozenset({"2022-11-01", "2024-07-01", "2024-11-01", "2025-04-01", "2025-11-01", "2026-03-01", "2026-04-01"})
_UNKNOWN_VERSION = "1.0.0"


def is_image(below: Sequence[str]) -> bool:
    """`below`: what follows the subscription, in lower case."""
    match list(below[:8]), list(below[8:]):
        case ["providers", "microsoft.compute", "locations", _, "publishers", _, "artifacttypes", "vmimage"], rest:
            return rest[::2] == ["offers", "skus", "versions"]
        case _:
            return False


def answered(segments: Sequence[str]) -> Body | list[Body]:
    """The versions of an image, or one of them. `segments`: the whole path as it was sent."""
    location, publisher, offer, sku = segments[5], segments[7], segments[11], segments[13]
    reference = ImageReference(publisher, offer, sku)
    image = vm_images.find(reference, IMAGES)
    if image is None:
        raise _not_found(location, publisher, offer, sku)
    version = image.newest or _UNKNOWN_VERSION
    shown = _version(location, reference, version)
    if len(segments) == 15:
        return [shown]
    if segments[15] not in (version, "latest"):
        raise _not_found(location, publisher, offer, sku, segments[15])
    return {**shown, "properties": _properties(image)}


def _version(location: str, reference: ImageReference, version: str) -> Body:
    path = (
        f"Publishers/{reference.publisher}/ArtifactTypes/VMImage/Offers/{reference.offer}/Skus/{reference.sku}/Versions/{version}"
    )
    image_id = f"/Subscriptions/{SUBSCRIPTION}/Providers/Microsoft.Compute/Locations/{location}/{path}"
    return {"location": location, "name": version, "id": image_id}


def _properties(image: VmImage) -> Body:
    generation = "V1" if image.generations and image.generations[0] == "Gen1" else "V2"
    security = "TrustedLaunchSupported" if generation == "V2" and image.trusted_launch_doubt is None else "None"
    plan = {"name": image.plan.name, "product": image.plan.product, "publisher": image.plan.publisher} if image.plan else None
    return {
        "architecture": "x64",
        "hyperVGeneration": generation,
        "osDiskImage": {"operatingSystem": image.distribution.operating_system.value},
        "dataDiskImages": [],
        "automaticOSUpgradeProperties": {"automaticOSUpgradeSupported": False},
        "features": [{"name": "SecurityType", "value": security}] if security != "None" else [],
        "plan": plan,
    }


def _not_found(location: str, *names: str) -> ArmError:
    what = ":".join(names)
    return ArmError(
        404, "NotFound", f"Artifact: VMImage was not found: there is no image {what} in {location} that is known here."
    )
