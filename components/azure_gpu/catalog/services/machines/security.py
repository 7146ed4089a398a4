"""Trusted Launch and Secure Boot: whether a size, an image and a driver support them."""

from collections.abc import Iterator

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.vm_images import VmImage
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.catalog.sources import observed

PAGE = observed("MicrosoftDocs/azure-compute-docs, articles/virtual-machines/trusted-launch.md", 2025, 4, 21)
API = observed("pulumi-azure-native 3.29.0, compute 2024-11-01, SecurityProfile", 2026, 11, 20)
# By that page's table; "currently not supported" and "not supported".
WITHOUT_TRUSTED_LAUNCH = frozenset({"NDasrA100_v4", "NDm_A100_v4", "NC", "NV", "NP"})


def takes_trusted_launch(size: Size | None, image: VmImage | None) -> bool:
    """Whether size and image are known to support Trusted Launch. ubuntu-hpc may fail under it."""
    return not list(_against(size, image)) and image is not None and "Gen2" in image.generations


def secure_boot(operating_system: OperatingSystem, *, extension: bool) -> bool:
    """Whether the driver loads under Secure Boot: only on Windows, and not if the extension installs it."""
    return operating_system == "Windows" and not extension


def trusted_launch_problems(size: Size | None, image: VmImage | None, path: str) -> Iterator[Problem]:
    """Why this machine can't have Trusted Launch. `vm_images` warns of images that may fail under it."""
    for why in _against(size, image):
        yield refused("vm.no_trusted_launch", path, "trusted_launch", why=why)


def _against(size: Size | None, image: VmImage | None) -> Iterator[str]:
    if size is not None and size.series.name in WITHOUT_TRUSTED_LAUNCH:
        yield f"{size.name} doesn't take Trusted Launch"
    if image is None:
        return
    if image.generations and "Gen2" not in image.generations:
        yield f"Trusted Launch is for Gen2 images, and {image.reference} is {' and '.join(image.generations)}"
