"""The settings of a virtual machine, read from its ARM body: size and GPUs, image and its software."""

import math
from typing import Any, NamedTuple

from azure_gpu.catalog.services import vm_images
from azure_gpu.catalog.services.vm_images import IMAGES, Distribution, ImageReference, VmImage
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.formats.arm_ids import ArmId
from localazure.arm.store import Body, Resource

UNKNOWN_VERSION = "1.0.0"  # of an image of which no source names a version
DEFAULT_USER = "azureuser"
DRIVER_OF_IMAGES = "580.173.02"  # Azure/azhpc-images, versions.json, 2026-07-29
_DOCKER = frozenset({"Docker-compatible containers", "NVIDIA container toolkit"})


class MachineSettings(NamedTuple):
    """One machine as it was requested."""

    id: ArmId
    size_name: str
    size: Size | None  # None: without a GPU, or not known
    windows: bool
    image: VmImage | None  # None: its row isn't known
    user: str
    custom_data: str  # base64
    spot: bool
    eviction: str  # Deallocate or Delete
    secure_boot: bool
    created: str

    @property
    def name(self) -> str:
        return self.id.name

    @property
    def has_nvidia(self) -> bool:
        return self.size is not None and self.size.gpu is not None and self.size.gpu.vendor == "NVIDIA"

    @property
    def image_driver(self) -> str:
        """The version of the NVIDIA driver that the image brings; "" where it brings none."""
        return DRIVER_OF_IMAGES if self.image is not None and "NVIDIA driver" in self.image.has else ""

    @property
    def image_has_docker(self) -> bool:
        return self.image is not None and bool(_DOCKER & self.image.has)

    @property
    def image_has_gpu_containers(self) -> bool:
        return self.image is not None and "NVIDIA container toolkit" in self.image.has

    @property
    def distribution(self) -> Distribution | None:
        return self.image.distribution if self.image else None

    def node(self, driver: str) -> dict[str, Any]:
        """The machine as what emulates its GPUs takes it. `driver`: the version that is installed; "" for none."""
        return gpu_node(self.size, self.id.key, self.created, driver)


def gpu_node(size: Size | None, name: str, created: str, driver: str) -> dict[str, Any]:
    """A machine's GPUs in the form of a node's record: the same machine always has the same ids."""
    gpu = size.gpu if size else None
    each = size.gpu_memory_each_gib if size and gpu else None
    return {
        "name": name,
        "created": created,
        "gpus": math.ceil(size.gpu_count or 0) if size else 0,
        "gpu_vendor": gpu.vendor.lower() if gpu else "",
        "gpu_name": gpu.name if gpu else "",
        "gpu_model": gpu.model if gpu else "",
        "gpu_memory_gib": int(each) if each else (gpu.memory_gib if gpu else 0),
        "compute_capability": gpu.compute_capability if gpu else "",
        "mig_capable": bool(gpu and gpu.mig),
        "mig": None,
        "driver": bool(driver),
        "driver_version": driver,
    }


def read(resource: Resource) -> MachineSettings:
    properties = resource.properties
    os_profile: Body = properties.get("osProfile") or {}
    size_name = str((properties.get("hardwareProfile") or {}).get("vmSize") or "")
    security: Body = properties.get("securityProfile") or {}
    image = image_of(properties)
    return MachineSettings(
        id=resource.id,
        size_name=size_name,
        size=SIZES.find(size_name),
        windows=system_of(properties, image) == "Windows",
        image=image,
        user=str(os_profile.get("adminUsername") or DEFAULT_USER),
        custom_data=str(os_profile.get("customData") or ""),
        spot=properties.get("priority") in ("Spot", "Low"),
        eviction=str(properties.get("evictionPolicy") or "Deallocate"),
        secure_boot=bool((security.get("uefiSettings") or {}).get("secureBootEnabled")),
        created=resource.created_at,
    )


def reference_of(properties: Body) -> ImageReference | None:
    """The Marketplace image that is requested; None for one of a gallery."""
    reference: Body = (properties.get("storageProfile") or {}).get("imageReference") or {}
    parts = [str(reference.get(name) or "") for name in ("publisher", "offer", "sku")]
    return ImageReference(*parts) if all(parts) else None


def image_of(properties: Body) -> VmImage | None:
    reference = reference_of(properties)
    return vm_images.find(reference, IMAGES) if reference else None


def exact_version(properties: Body) -> str:
    """The version of the image that a machine gets: the one that is named, else the newest; "" where the image isn't known."""
    image = image_of(properties)
    if image is None:
        return ""
    named = str(properties["storageProfile"]["imageReference"].get("version") or "latest")
    return image.newest or UNKNOWN_VERSION if named.lower() == "latest" else named


def system_of(properties: Body, image: VmImage | None) -> OperatingSystem:
    """By what is known of the image, else by the profile and the disk, else by the image's name."""
    if image is not None:
        return image.operating_system
    storage: Body = properties.get("storageProfile") or {}
    told = (storage.get("osDisk") or {}).get("osType")
    if told:
        return told
    if (properties.get("osProfile") or {}).get("windowsConfiguration"):
        return "Windows"
    reference = reference_of(properties)
    windows = reference is not None and "windows" in str(reference).lower()
    return "Windows" if windows else "Linux"
