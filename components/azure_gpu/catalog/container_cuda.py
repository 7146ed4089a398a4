"""The CUDA version of a container image, by its name or a public source, and whether its programs run on a driver and a GPU."""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog.drivers import ARCHITECTURES, MATRIX, cuda_version, runs
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.container_apps import PROFILES, SERVERLESS_PAGE
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Gpu
from azure_gpu.catalog.sources import Source, observed

_CUDA_TAGS = observed("NVIDIA CUDA images on Docker Hub: their tags begin with the CUDA version", 2026, 11, 20)
_NAMED = observed("the image's own name, which gives the CUDA version", 2026, 11, 20)
_AZUREML = observed("Azure/AzureML-Containers, base/gpu: the images' names give the CUDA version", 2026, 7, 31)
_TENSORFLOW = observed("TensorFlow, install/source: tested build configurations, GPU", 2026, 11, 20)
_MNIST_DEMO = observed(
    "Microsoft Learn, container-instances/container-instances-gpu: the sample's log opens libcupti.so.8.0", 2019, 4, 17
)
_VECTOR_ADD = observed(
    "kubernetes/kubernetes v1.7.11, test/images/nvidia-cuda/Dockerfile: built on nvidia/cuda:8.0", 2026, 11, 20
)

# By TensorFlow's minor version, in the order of its releases.
TENSORFLOW_CUDA: dict[str, str] = {
    **dict.fromkeys(("1.0", "1.1", "1.2", "1.3", "1.4"), "8.0"),
    **dict.fromkeys(("1.5", "1.6", "1.7", "1.8", "1.9", "1.10", "1.11", "1.12"), "9.0"),
    **dict.fromkeys(("1.13", "1.14", "1.15", "2.0"), "10.0"),
    **dict.fromkeys(("2.1", "2.2", "2.3"), "10.1"),
    "2.4": "11.0",
    **dict.fromkeys(("2.5", "2.6", "2.7", "2.8", "2.9", "2.10", "2.11"), "11.2"),
    **dict.fromkeys(("2.12", "2.13", "2.14"), "11.8"),
    "2.15": "12.2",
    **dict.fromkeys(("2.16", "2.17"), "12.3"),
    "2.18": "12.5",
}


class KnownCuda(NamedTuple):
    """The CUDA version in an image, major and minor, and where that was read."""

    version: str
    source: Source


class _Family(NamedTuple):
    """Images whose name gives the version: its one group holds it."""

    name: str  # a pattern for the whole name
    source: Source


class _Image(NamedTuple):
    """Images whose version is given by a source."""

    name: str  # a pattern for the whole name
    known: KnownCuda


# Names are `repository:tag`; Docker Hub's registry is left out of them. A pattern is compiled at its first use.
_FAMILIES: tuple[_Family, ...] = (
    _Family(r"(?:nvcr\.io/)?nvidia/cuda:(\d+\.\d+)(?:[.-].*)?", _CUDA_TAGS),
    _Family(r"mcr\.microsoft\.com/azureml/[^:]*-cuda(\d+\.\d+)[.:-].*", _AZUREML),
    _Family(r"(?:pytorch/pytorch|nvidia/samples|nvcr\.io/nvidia/k8s/cuda-sample):.*cuda(\d+\.\d+)(?:[.-].*)?", _NAMED),
)
_TENSORFLOW_NAME = r"tensorflow/tensorflow:(\d+\.\d+)\.\d+(?:-?rc\d+)?-(?:devel-)?gpu(?:-.*)?"
_IMAGES: tuple[_Image, ...] = (
    _Image(
        r"(?:mcr\.microsoft\.com/azuredocs|microsoft)/samples-tf-mnist-demo:gpu",
        KnownCuda("8.0", _MNIST_DEMO),
    ),
    _Image(
        r"(?:k8s-gcrio\.azureedge\.net|k8s\.gcr\.io|registry\.k8s\.io|gcr\.io/google_containers|mirrorgooglecontainers)"
        r"/cuda-vector-add:v0\.1",
        KnownCuda("8.0", _VECTOR_ADD),
    ),
)


def image_cuda(reference: str) -> KnownCuda | None:
    """The CUDA version of an image, None if unknown. A digest after the tag is ignored."""
    name = reference.partition("@")[0].removeprefix("index.").removeprefix("docker.io/")
    for family in _FAMILIES:
        if found := re.fullmatch(family.name, name, re.ASCII):
            return KnownCuda(found.group(1), family.source)
    if (found := re.fullmatch(_TENSORFLOW_NAME, name, re.ASCII)) and found.group(1) in TENSORFLOW_CUDA:
        return KnownCuda(TENSORFLOW_CUDA[found.group(1)], _TENSORFLOW)
    return next((image.known for image in _IMAGES if re.fullmatch(image.name, name, re.ASCII)), None)


def cuda_at(by_date: Sequence[tuple[Source, str]], as_of: date) -> tuple[Source, str] | None:
    """The version that a service ran on that day: the newest entry that isn't later, else the first entry. None: no entries.

    `by_date` is ordered by day, the newest last.
    """
    begun = [entry for entry in by_date if entry[0].day <= as_of]
    return begun[-1] if begun else next(iter(by_date), None)


def check_container(image: str, *, service: str, highest_cuda: str, source: Source, gpu: Gpu | None, path: str) -> list[Problem]:
    """The problems of running this image on a service that brings its own driver.

    `highest_cuda` is the newest CUDA version that the driver of `service` runs, `11` for all of 11, by `source`; empty if
    unknown. `gpu` None: not known. `path` is where the image is written.
    """
    known = image_cuda(image)
    if known is None:
        return []
    return [*_service(image, known, service, highest_cuda, source, path), *_gpu(image, known, gpu, path)]


def _service(image: str, known: KnownCuda, service: str, highest_cuda: str, source: Source, path: str) -> Iterator[Problem]:
    if runs(highest_cuda, known.version) is False:
        yield refused(
            "image.cuda_too_new_for_driver",
            path,
            image,
            source=f"{source}; {known.source}",
            known=known,
            service=service,
            highest_cuda=highest_cuda,
        )


def _gpu(image: str, known: KnownCuda, gpu: Gpu | None, path: str) -> Iterator[Problem]:
    if gpu is None:
        return
    if gpu.vendor != "NVIDIA":
        yield refused("image.cuda_without_nvidia", path, image, source=f"{gpu.source}; {known.source}", known=known, gpu=gpu)
        return
    architecture = ARCHITECTURES.get(gpu.architecture)
    version = cuda_version(known.version)
    if architecture is None:
        return
    if architecture.last_cuda is not None and version[0] > architecture.last_cuda:
        yield refused(
            "image.cuda_too_new_for_gpu",
            path,
            image,
            source=f"{MATRIX}; {known.source}",
            known=known,
            architecture=architecture,
            gpu=gpu,
        )
    elif version < cuda_version(architecture.first_cuda):
        yield refused(
            "image.cuda_too_old_for_gpu",
            path,
            image,
            source=f"{MATRIX}; {known.source}",
            known=known,
            architecture=architecture,
            gpu=gpu,
        )


_ON_A_REPLICA = {"T4": "Standard_NC4as_T4_v3", "A100": "Standard_NC24ads_A100_v4"}  # sizes with a profile's GPU


def check_replica(profile_type: str, image: str, path: str) -> list[Problem]:
    """The problems of running this image, written at `path`, on a serverless GPU of Container Apps. None if it is unknown. By its
    page the service runs the latest CUDA version: an image can only be too old for the GPU, or too new for its generation."""
    profile = PROFILES.get(profile_type)
    size = SIZES.find(_ON_A_REPLICA[profile.gpu]) if profile else None
    if size is None or size.gpu is None:
        return []
    return check_container(image, service="Container Apps", highest_cuda="", source=SERVERLESS_PAGE, gpu=size.gpu, path=path)
