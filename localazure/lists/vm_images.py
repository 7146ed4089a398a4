"""Microsoft.Compute: the Marketplace images that are known, as `az vm create` and `az vm image list` look them up.

An image that the catalog doesn't know doesn't exist; of versions there is the newest that a source names, else 1.0.0.
"""

from collections.abc import Sequence

from azure_gpu.catalog.services import vm_images
from azure_gpu.catalog.services.vm_images import IMAGES, ImageReference, VmImage
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.store import Body
from localazure.machines.model import UNKNOWN_VERSION
from localazure.subscriptions import SUBSCRIPTION

# The names by which `az vm create` and `az vm image list` know images: azure-cli 2.91, command_modules/vm/alias.json.
_ALIASES = {
    "Linux": {
        "Ubuntu2204": ("Canonical", "0001-com-ubuntu-server-jammy", "22_04-lts-gen2"),
        "Ubuntu2404": ("Canonical", "ubuntu-24_04-lts", "server"),
    },
    "Windows": {"Win2022Datacenter": ("MicrosoftWindowsServer", "WindowsServer", "2022-datacenter-g2")},
}
_LEVELS = ("Publishers", "ArtifactTypes/VMImage/Offers", "Skus", "Versions")  # of a path, in ARM's spelling


def aliases() -> Body:
    """The document at the cloud's `vmImageAliasDoc`."""
    named = {
        system: {
            alias: {"publisher": publisher, "offer": offer, "sku": sku, "version": "latest", "architecture": "x64"}
            for alias, (publisher, offer, sku) in images.items()
        }
        for system, images in _ALIASES.items()
    }
    return {"outputs": {"aliases": {"type": "object", "value": named}}}


def answered(segments: Sequence[str]) -> Body | list[Body]:
    """What a path lists: offers of a publisher, SKUs of an offer, versions of a SKU; or one version.

    `segments`: the whole path as it was sent. ArmError 404 for an image that isn't known.
    """
    location, names = segments[5], [*segments[7:8], *segments[11:17:2]]
    if len(names) < 3:
        return _names(location, names)
    if len(segments) == 14:
        raise not_implemented("reading an image's SKU; list its versions")
    publisher, offer, sku = names[:3]
    reference = ImageReference(publisher, offer, sku)
    image = vm_images.find(reference, IMAGES)
    if image is None:
        raise _not_found(location, publisher, offer, sku)
    version = image.newest or UNKNOWN_VERSION
    shown = _version(location, reference, version)
    if len(segments) == 15:
        return [shown]
    if segments[15] not in (version, "latest"):
        raise _not_found(location, publisher, offer, sku, segments[15])
    return {**shown, "properties": _properties(image)}


def _names(location: str, above: Sequence[str]) -> list[Body]:
    """What a publisher or an offer has. An image whose row stands for a whole offer has no SKU to show."""
    requested = [name.lower() for name in above]
    found = {
        image.reference[len(above)]: None
        for image in IMAGES
        if [part.lower() for part in image.reference[: len(above)]] == requested and image.reference[len(above)]
    }
    if above and not found:
        raise _not_found(location, *above)
    path = "".join(f"/{level}/{name}" for level, name in zip(_LEVELS, above, strict=False))
    prefix = f"/Subscriptions/{SUBSCRIPTION}/Providers/Microsoft.Compute/Locations/{location}{path}/{_LEVELS[len(above)]}"
    return [{"location": location, "name": name, "id": f"{prefix}/{name}"} for name in sorted(found)]


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
        "osDiskImage": {"operatingSystem": image.operating_system},
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
