"""Node agents and images in Batch. Expectations are literals from the Batch team's notices and from the third source document."""

from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.services import vm_images
from azure_gpu.catalog.services.batch.images import misfit
from azure_gpu.catalog.services.vm_images import IMAGES, ImageReference
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sources import observed

HPC_2404 = ImageReference("microsoft-dsvm", "ubuntu-hpc", "2404")


def test_the_driver_of_an_hpc_image_knows_turing_and_later_whenever_its_row_was_read() -> None:
    hpc = vm_images.find(HPC_2404, IMAGES)
    assert hpc is not None
    newer = hpc._replace(reference=HPC_2404._replace(sku="2604"), lifecycle=Lifecycle(seen=observed("a newer page", 2027, 1, 30)))
    for image in (hpc, newer):
        known = {size: misfit(image, of_size) for size in ("NC6s_v3", "NC4as_T4_v3") if (of_size := SIZES.find(size))}
        assert known["NC4as_T4_v3"] is None
        assert known["NC6s_v3"] is not None
        assert "supports GPUs since Turing" in known["NC6s_v3"].why
