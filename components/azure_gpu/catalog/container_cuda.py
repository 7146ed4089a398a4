"""Checks whether a container image's CUDA programs run on the driver and on the GPU.

An image of unknown CUDA version has no problems.
"""

from collections.abc import Iterator, Sequence
from datetime import date

from azure_gpu.catalog.drivers import ARCHITECTURES, MATRIX, RELEASE_NOTES, cuda_version, highest_cuda, minimum_driver, runs
from azure_gpu.catalog.image_cuda import KnownCuda, image_cuda
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.sizes.model import Gpu, Vendor
from azure_gpu.catalog.sources import Source


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


def check_container_on_driver(image: str, *, driver: str, windows: bool = False, gpu: Gpu | None, path: str) -> list[Problem]:
    """The problems of running this image where a driver of this version is installed, such as on the nodes of a pool."""
    known = image_cuda(image)
    if known is None:
        return []
    return [*_driver(image, known, driver, windows, path), *_gpu(image, known, gpu, path)]


def _service(image: str, known: KnownCuda, service: str, highest_cuda: str, source: Source, path: str) -> Iterator[Problem]:
    if runs(highest_cuda, known.version) is False:
        yield Problem(
            path=path,
            message=f"the image has CUDA {known.version}, but the driver of {service} runs CUDA up to {highest_cuda}",
            value=image,
            allowed=f"CUDA {highest_cuda} or older",
            fix=f"use an image with CUDA {highest_cuda} or older",
            source=f"{source}; {known.source}",
            code=Code.WRONG_DRIVER,
        )


def _driver(image: str, known: KnownCuda, driver: str, windows: bool, path: str) -> Iterator[Problem]:
    highest = highest_cuda(driver, windows=windows)
    if highest is not None and runs(highest, known.version) is False:
        needed = minimum_driver(known.version, windows=windows)
        yield Problem(
            path=path,
            message=f"the image has CUDA {known.version}, but driver {driver} runs CUDA up to {highest}",
            value=image,
            allowed=f"CUDA {highest} or older",
            fix=f"use an image with CUDA {highest} or older" + (f", or driver {needed} or later" if needed else ""),
            source=f"{RELEASE_NOTES}; {known.source}",
            code=Code.WRONG_DRIVER,
        )


def _gpu(image: str, known: KnownCuda, gpu: Gpu | None, path: str) -> Iterator[Problem]:
    if gpu is None:
        return
    if gpu.vendor is not Vendor.NVIDIA:
        yield Problem(
            path=path,
            message=f"the image has CUDA {known.version}, which {gpu.model} doesn't run",
            value=image,
            fix="use an image with ROCm, or an NVIDIA GPU",
            source=f"{gpu.source}; {known.source}",
            code=Code.WRONG_DRIVER,
        )
        return
    architecture = ARCHITECTURES.get(gpu.architecture)
    version = cuda_version(known.version)
    if architecture is None:
        return
    if architecture.last_cuda is not None and version[0] > architecture.last_cuda:
        yield Problem(
            path=path,
            message=f"the image has CUDA {known.version}, which no longer supports the {architecture.name} generation "
            f"of {gpu.model}",
            value=image,
            allowed=f"CUDA {architecture.last_cuda} or older",
            fix=f"use an image with CUDA {architecture.last_cuda}.x",
            source=f"{MATRIX}; {known.source}",
            code=Code.WRONG_DRIVER,
        )
    elif version < cuda_version(architecture.first_cuda):
        yield Problem(
            path=path,
            message=f"the image has CUDA {known.version}, which is older than the {architecture.name} generation of "
            f"{gpu.model}: its programs may start slowly or not run",
            value=image,
            allowed=f"CUDA {architecture.first_cuda} or later",
            fix=f"use an image with CUDA {architecture.first_cuda} or later",
            source=f"{MATRIX}; {known.source}",
            code=Code.WRONG_DRIVER,
            severity=Severity.WARNING,
        )
