"""How the GPU's driver comes onto a virtual machine: with its image, by the driver extension, or not at all.

In: a `DriverRequest`, with what is known of size and image, and the day. Out: the `Way`, and every problem. The rules of the
extension are in `driver_extension`, those of images in `vm_images`; here stands which of the two a machine takes.
"""

from collections.abc import Iterator
from datetime import date
from enum import StrEnum
from typing import NamedTuple

from azure_gpu.catalog.problems import Code, Problem, errors
from azure_gpu.catalog.services import driver_extension
from azure_gpu.catalog.services.batch.image_drivers import misfit
from azure_gpu.catalog.services.driver_extension import ExtensionRequest
from azure_gpu.catalog.services.vm_images import Distribution, Software, VmImage
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.catalog.sources import Source

_BRINGS = frozenset({Software.NVIDIA_DRIVER, Software.ROCM_DRIVER})


class Wanted(StrEnum):
    """What a user may say about the driver."""

    AUTO = "auto"
    IMAGE = "image"
    EXTENSION = "extension"
    NONE = "none"


class Way(NamedTuple):
    """How the driver comes. `why` is for people."""

    kind: Wanted  # never AUTO
    why: str
    extension: str = ""  # the type of the extension, with EXTENSION


class DriverRequest(NamedTuple):
    """A machine, as far as its driver depends on it. None: not known."""

    size: Size | None
    image: VmImage | None
    operating_system: OperatingSystem
    own_image: bool  # an image of one's own, which may bring anything
    path: str  # where the driver is written
    image_path: str  # where the image is written
    wanted: Wanted = Wanted.AUTO
    secure_boot: bool = False


def choose(request: DriverRequest, as_of: date) -> tuple[Way, list[Problem]]:
    """The way for this machine. With problems it is the nearest to what is wanted."""
    match request.wanted:
        case Wanted.NONE:
            return Way(Wanted.NONE, "no driver is wanted"), []
        case Wanted.IMAGE:
            return _by_image(request)
        case Wanted.EXTENSION:
            return _by_extension(request, as_of)
        case Wanted.AUTO:
            pass
    if brings_driver(request.image) or request.own_image or request.image is None:
        return _by_image(request)
    return _by_extension(request, as_of)


def brings_driver(image: VmImage | None) -> bool:
    return image is not None and bool(_BRINGS & image.has)


def _by_image(request: DriverRequest) -> tuple[Way, list[Problem]]:
    if request.own_image or request.image is None:
        what = "an image of one's own is taken to bring the driver" if request.own_image else "nothing is known of the image"
        return Way(Wanted.IMAGE, what), []
    way = Way(Wanted.IMAGE, f"{request.image.reference} brings the driver")
    if not brings_driver(request.image):
        return way, [
            _problem(
                request.path,
                f"{request.image.reference} brings no driver",
                request.wanted,
                "choose an image that brings one, such as ubuntu-hpc, or write extension",
                request.image.lifecycle.seen,
            )
        ]
    return way, list(_fits(request, request.image))


def _fits(request: DriverRequest, image: VmImage) -> Iterator[Problem]:
    """Whether the image's driver drives the GPU of the size."""
    size = request.size
    if size is None or size.gpu is None:
        return
    of_amd = Software.ROCM_DRIVER in image.has
    if of_amd != (size.gpu.vendor == "AMD"):
        yield _problem(
            request.image_path,
            f"{image.reference} drives GPUs of {'AMD' if of_amd else 'NVIDIA'}, and {size.name} has {size.gpu.model}",
            str(image.reference),
            "choose an image for that GPU: of ubuntu-hpc those whose SKU ends in -rocm are AMD's",
            image.lifecycle.seen,
        )
        return
    wrong = misfit(image, size)
    if wrong is not None:
        yield _problem(
            request.image_path,
            wrong.why,
            str(image.reference),
            "choose a plain image and driver: extension, or another size",
            wrong.source,
        )


def _by_extension(request: DriverRequest, as_of: date) -> tuple[Way, list[Problem]]:
    size = request.size
    if size is None or size.gpu is None:
        return Way(Wanted.EXTENSION, "the extension installs it", driver_extension.NVIDIA_LINUX), []
    kind = driver_extension.type_for(size.gpu.vendor, request.operating_system)
    way = Way(Wanted.EXTENSION, f"the extension {kind or 'of that vendor'} installs it", kind)
    if brings_driver(request.image):
        assert request.image is not None
        return way, [
            _problem(
                request.path,
                f"{request.image.reference} brings a driver, and two of them are in each other's way",
                request.wanted,
                "leave driver out, or choose a plain image",
                request.image.lifecycle.seen,
                code=Code.IMPOSSIBLE,
            )
        ]
    distribution: Distribution | None = request.image.distribution if request.image else None
    asked = ExtensionRequest(
        type=kind or driver_extension.AMD_WINDOWS, settings={}, path=request.path, secure_boot=request.secure_boot
    )
    problems = list(driver_extension.extension_problems(asked, size, distribution, as_of))
    if request.wanted is Wanted.AUTO and request.image is not None and errors(problems):
        # Nobody has written `driver`: what is wrong is that image with that size.
        problems = [_of_image(problem, request, request.image) for problem in problems]
    return way, problems


def _of_image(problem: Problem, request: DriverRequest, image: VmImage) -> Problem:
    message = f"{image.reference} brings no driver, and {problem.message}"
    return problem._replace(path=request.image_path, message=message, value=str(image.reference))


def _problem(path: str, message: str, value: object, fix: str, source: Source, code: Code = Code.WRONG_DRIVER) -> Problem:
    return Problem(path=path, message=message, value=str(value), fix=fix, source=str(source), code=code)
