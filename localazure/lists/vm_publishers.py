"""Microsoft.Compute: publishers with the Marketplace images and the extensions of virtual machines that are known.

As `az vm create`, `az vm image list` and `az vm extension set` look them up. An image that the catalog doesn't know isn't there;
of versions there is the newest that a public source names, else 1.0.0.
"""

from collections.abc import Iterable, Sequence

from azure_gpu.catalog.services import driver_extension, vm_images
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
# By publisher: the newest handler version of each extension.
_EXTENSIONS = {
    driver_extension.PUBLISHER: {
        driver_extension.NVIDIA_LINUX: f"{driver_extension.HANDLER_VERSIONS[-1]}.0.0",
        driver_extension.NVIDIA_WINDOWS: "1.6.0.0",
        driver_extension.AMD_WINDOWS: "1.1.0.0",
        driver_extension.AMD_LINUX: "1.0.0.0",
    },
    "Microsoft.Azure.Extensions": {"CustomScript": "2.1.10"},
    "Microsoft.Azure.ActiveDirectory": {"AADSSHLoginForLinux": "1.0.2000.1"},
}


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
    """What a path lists: publishers, their offers, SKUs, versions and extensions; or one version of an image.

    `segments`: the whole path as it was sent. ArmError 404 for an image that isn't known.
    """
    location, above = segments[5], [*segments[7:8], *segments[11:17:2]]
    if not above:
        return _listed(location, [], sorted({*_EXTENSIONS, *(image.reference.publisher for image in IMAGES)}))
    if segments[9].lower() == "vmextension":
        return _extensions(location, *above)
    if len(above) < 3:
        return _listed(location, above, _names(location, above))
    if len(segments) == 14:
        raise not_implemented("reading an image's SKU; list its versions")
    image = vm_images.find(ImageReference(*above[:3]), IMAGES)
    version = "" if image is None else image.newest or UNKNOWN_VERSION
    if image is None or above[3:] not in ([], [version], ["latest"]):
        raise _not_found(location, *(above[:3] if image is None else above))
    shown = _listed(location, above[:3], [version])
    return {**shown[0], "properties": _properties(image)} if above[3:] else shown


def _listed(location: str, above: Sequence[str], names: Iterable[str], levels: Sequence[str] = _LEVELS) -> list[Body]:
    path = "".join(f"{level}/{name}/" for level, name in zip(levels, above, strict=False)) + levels[len(above)]
    prefix = f"/Subscriptions/{SUBSCRIPTION}/Providers/Microsoft.Compute/Locations/{location}/{path}"
    return [{"location": location, "name": name, "id": f"{prefix}/{name}"} for name in names]


def _extensions(location: str, *above: str) -> list[Body]:
    """The types of a publisher, or the version of one."""
    levels = ("Publishers", "ArtifactTypes/VMExtension/Types", "Versions")
    publisher = next((name for name in _EXTENSIONS if name.lower() == above[0].lower()), "")
    types = _EXTENSIONS.get(publisher, {})
    if len(above) == 1:
        return _listed(location, [publisher], types, levels)
    kind = next((name for name in types if name.lower() == above[1].lower()), "")
    return _listed(location, [publisher, kind], [types[kind]] if kind else [], levels)


def _names(location: str, above: Sequence[str]) -> list[str]:
    """What a publisher or an offer has. An image whose row stands for a whole offer has no SKU to show."""
    requested = [name.lower() for name in above]
    of_it = (each.reference for each in IMAGES if [part.lower() for part in each.reference[: len(above)]] == requested)
    found = {reference[len(above)] for reference in of_it if reference[len(above)]}
    if not found:
        raise _not_found(location, *above)
    return sorted(found)


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
    what = f"there is no image {':'.join(names)} in {location} that is known here"
    return ArmError(404, "NotFound", f"Artifact: VMImage was not found: {what}.")
