"""Checks whether an image's CUDA programs run on a serverless GPU of Container Apps.

By its page the service runs the latest CUDA version, so an image can only be too old for the GPU, or too new for its generation.
"""

from azure_gpu.catalog.container_cuda import check_container
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.container_apps import PROFILES, SERVERLESS_PAGE
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Gpu

_ON_A_REPLICA = {"T4": "Standard_NC4as_T4_v3", "A100": "Standard_NC24ads_A100_v4"}  # sizes with a profile's GPU


def check_image(profile_type: str, image: str, path: str) -> list[Problem]:
    """The problems of running this image, which is written at `path`. None if profile or image is unknown."""
    gpu = _gpu(profile_type)
    if gpu is None:
        return []
    return check_container(image, service="Container Apps", highest_cuda="", source=SERVERLESS_PAGE, gpu=gpu, path=path)


def _gpu(profile_type: str) -> Gpu | None:
    profile = PROFILES.get(profile_type)
    size = SIZES.find(_ON_A_REPLICA[profile.gpu]) if profile else None
    return size.gpu if size else None
