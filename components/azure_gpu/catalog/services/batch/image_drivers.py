"""Checks whether the driver of a Marketplace image supports the GPU of a size."""

from datetime import date
from typing import NamedTuple

from azure_gpu.catalog.services.vm_images import Software, VmImage
from azure_gpu.catalog.sizes.model import Driver, Size, Vendor
from azure_gpu.catalog.sources import Dated, Source

_GRID_ALONE = Source(
    "Azure/azhpc-images issue 398: the driver of ubuntu-hpc doesn't match NVads A10 v5", Dated.OBSERVED, date(2025, 3, 13)
)
_OPEN_DRIVER = Source(
    "Azure/azhpc-images issue 406: ubuntu-hpc 2204 doesn't see the V100 of NC24s_v3", Dated.OBSERVED, date(2025, 4, 30)
)
_BEFORE_TURING = frozenset({"Kepler", "Maxwell", "Pascal", "Volta"})
_HPC_OFFERS = frozenset({"ubuntu-hpc", "almalinux-hpc", "azurelinux-hpc"})  # built in Azure/azhpc-images, with the open driver
_FOR_V100 = "v100"  # in the SKU of the images with the older driver


class Misfit(NamedTuple):
    why: str
    source: Source


def misfit(image: VmImage, size: Size) -> Misfit | None:
    """Why the driver of the image doesn't support the size's GPU; None if nothing is known against it."""
    gpu = size.gpu
    if gpu is None:
        return None
    if gpu.vendor is Vendor.AMD and Software.ROCM_DRIVER in image.has and Driver.ROCM not in size.series.drivers:
        return Misfit(f"{gpu.model} of {size.name} has no ROCm driver, and {image.reference} brings one", gpu.source)
    if gpu.vendor is not Vendor.NVIDIA or Software.NVIDIA_DRIVER not in image.has:
        return None
    if Driver.CUDA not in size.series.drivers:
        return Misfit(f"{size.name} needs a GRID driver, and {image.reference} brings a compute driver", _GRID_ALONE)
    if image.reference.offer not in _HPC_OFFERS:
        return None
    for_v100 = _FOR_V100 in image.reference.sku
    if gpu.architecture in _BEFORE_TURING and not for_v100:
        return Misfit(
            f"the driver of {image.reference} supports GPUs since Turing, and {size.name} has {gpu.model}", _OPEN_DRIVER
        )
    return None
