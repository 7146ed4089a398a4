"""Chooses the method by which a virtual machine gets its GPU driver: with its image, by the driver extension, or none.

The rules of the extension are in `driver_extension`, those of images in `vm_images`.
"""

from collections.abc import Iterator
from datetime import date
from typing import Literal, NamedTuple

from azure_gpu.catalog.problems import Code, Problem, errors
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services import driver_extension
from azure_gpu.catalog.services.batch.images import misfit
from azure_gpu.catalog.services.driver_extension import ExtensionRequest
from azure_gpu.catalog.services.vm_images import Distribution, VmImage
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Size

_BRINGS = frozenset({"NVIDIA driver", "AMD ROCm driver"})


RequestedMethod = Literal[
    "auto",
    "image",
    "extension",
    "none",
]
"""The method that a user requests."""


class DriverMethod(NamedTuple):
    """The chosen method. `why` is for people."""

    kind: RequestedMethod  # never AUTO
    why: str
    extension: str = ""  # the type of the extension, with EXTENSION


class DriverRequest(NamedTuple):
    """A machine, as far as its driver depends on it. None: not known."""

    size: Size | None
    image: VmImage | None
    operating_system: OperatingSystem
    own_image: bool  # a custom image, which may include anything
    path: str  # where the driver is written
    image_path: str  # where the image is written
    requested: RequestedMethod = "auto"
    secure_boot: bool = False


def choose(request: DriverRequest, as_of: date) -> tuple[DriverMethod, list[Problem]]:
    """The method for this machine. With problems, the closest to the requested one."""
    match request.requested:
        case "none":
            return DriverMethod("none", "no driver is requested"), []
        case "image":
            return _by_image(request)
        case "extension":
            return _by_extension(request, as_of)
        case "auto":
            pass
    if brings_driver(request.image) or request.own_image or request.image is None:
        return _by_image(request)
    return _by_extension(request, as_of)


def brings_driver(image: VmImage | None) -> bool:
    return image is not None and bool(_BRINGS & image.has)


def _by_image(request: DriverRequest) -> tuple[DriverMethod, list[Problem]]:
    if request.own_image or request.image is None:
        what = "a custom image is assumed to bring the driver" if request.own_image else "the image is unknown"
        return DriverMethod("image", what), []
    method = DriverMethod("image", f"{request.image.reference} brings the driver")
    if not brings_driver(request.image):
        return method, [
            refused(
                "vm.image_without_driver",
                request.path,
                request.requested,
                source=request.image.lifecycle.seen,
                image=request.image,
            )
        ]
    return method, list(_fits(request, request.image))


def _fits(request: DriverRequest, image: VmImage) -> Iterator[Problem]:
    """Checks whether the image's driver supports the GPU of the size."""
    size = request.size
    if size is None or size.gpu is None:
        return
    of_amd = "AMD ROCm driver" in image.has
    if of_amd != (size.gpu.vendor == "AMD"):
        words = {"source": image.lifecycle.seen, "image": image, "vendor": "AMD" if of_amd else "NVIDIA", "size": size}
        yield refused("vm.image_of_other_vendor", request.image_path, str(image.reference), **words)
        return
    wrong = misfit(image, size)
    if wrong is not None:
        yield refused("vm.image_of_other_gpu", request.image_path, str(image.reference), source=wrong.source, why=wrong.why)


def _by_extension(request: DriverRequest, as_of: date) -> tuple[DriverMethod, list[Problem]]:
    size = request.size
    if size is None or size.gpu is None:
        return DriverMethod("extension", "the extension installs it", driver_extension.NVIDIA_LINUX), []
    kind = driver_extension.type_for(size.gpu.vendor, request.operating_system)
    method = DriverMethod("extension", f"the extension {kind} installs it", kind)
    if brings_driver(request.image):
        assert request.image is not None
        return method, [
            refused("vm.two_drivers", request.path, request.requested, source=request.image.lifecycle.seen, image=request.image)
        ]
    distribution: Distribution | None = request.image.distribution if request.image else None
    extension = ExtensionRequest(type=kind, settings={}, path=request.path, secure_boot=request.secure_boot)
    problems = list(driver_extension.extension_problems(extension, size, distribution, as_of))
    unfit = errors(problems) or any(each.code is Code.NOT_LISTED for each in problems)
    if request.requested == "auto" and request.image is not None and unfit:
        # `driver` isn't set: the problem is that image with that size.
        problems = [_of_image(problem, request, request.image) for problem in problems]
    return method, problems


def _of_image(problem: Problem, request: DriverRequest, image: VmImage) -> Problem:
    message = f"{image.reference} brings no driver, and {problem.message}"
    return problem._replace(path=request.image_path, message=message, value=str(image.reference))
