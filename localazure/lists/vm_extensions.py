"""Microsoft.Compute: the extensions of virtual machines that are emulated, as `az vm extension set` looks them up.

Paths are below `locations`: publishers, the types of one, or the versions of a type. Versions: the newest handler version that a
public source names.
"""

from collections.abc import Sequence

from azure_gpu.catalog.services import driver_extension
from azure_gpu.catalog.services.vm_images import IMAGES
from localazure.arm.store import Body
from localazure.subscriptions import SUBSCRIPTION

_TYPES = {
    driver_extension.PUBLISHER: {
        driver_extension.NVIDIA_LINUX: f"{driver_extension.HANDLER_VERSIONS[-1]}.0.0",
        driver_extension.NVIDIA_WINDOWS: "1.6.0.0",
        driver_extension.AMD_WINDOWS: "1.1.0.0",
        driver_extension.AMD_LINUX: "1.0.0.0",
    },
    "Microsoft.Azure.Extensions": {"CustomScript": "2.1.10"},
    "Microsoft.Azure.ActiveDirectory": {"AADSSHLoginForLinux": "1.0.2000.1"},
}


def answered(segments: Sequence[str]) -> list[Body]:
    """`segments`: the whole path as it was sent."""
    location = segments[5]
    here = f"/Subscriptions/{SUBSCRIPTION}/Providers/Microsoft.Compute/Locations/{location}/Publishers"
    if len(segments) == 7:
        names = sorted({*_TYPES, *(image.reference.publisher for image in IMAGES)})
        return [{"location": location, "name": name, "id": f"{here}/{name}"} for name in names]
    publisher = next((name for name in _TYPES if name.lower() == segments[7].lower()), "")
    types, at = _TYPES.get(publisher, {}), f"{here}/{publisher}/ArtifactTypes/VMExtension/Types"
    if len(segments) == 11:
        return [{"location": location, "name": name, "id": f"{at}/{name}"} for name in types]
    kind = next((name for name in types if name.lower() == segments[11].lower()), "")
    version = types.get(kind)
    return [{"location": location, "name": version, "id": f"{at}/{kind}/Versions/{version}"}] if version else []
