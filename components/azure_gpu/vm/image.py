"""The image of a virtual machine: the one in its settings, or a default that fits its GPU.

Only its name is validated here; whether the image is available on that day and for that size is in the catalog.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services import vm_images
from azure_gpu.catalog.services.machines import drivers
from azure_gpu.catalog.services.machines.drivers import DriverRequest
from azure_gpu.catalog.services.vm_images import IMAGES, ImageReference, VmImage
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Size, VmGeneration
from azure_gpu.images import choice as image_choice
from azure_gpu.images.args import ImageOfPool
from azure_gpu.images.choice import KEYS, LATEST, ImageChoice, NamedImage
from azure_gpu.vm.args import GpuVmSettings

_DSVM = {
    "Linux": "microsoft-dsvm:ubuntu-2204:2204-gen2",
    "Windows": "microsoft-dsvm:dsvm-win-2022:winserver-2022",
}
_UBUNTU_HPC = {"ubuntu-hpc": "microsoft-dsvm:ubuntu-hpc:2404", "ubuntu-hpc-2204": "microsoft-dsvm:ubuntu-hpc:2204"}
ALIASES = ("dsvm", *_UBUNTU_HPC)
# By preference: images with drivers, then plain ones for the extension.
_BY_DEFAULT: Mapping[OperatingSystem, Sequence[str]] = {
    "Linux": (
        "microsoft-dsvm:ubuntu-hpc:2404",
        "microsoft-dsvm:ubuntu-hpc:2204-v100",
        "microsoft-dsvm:ubuntu-hpc:2404-rocm",
        "Canonical:0001-com-ubuntu-server-jammy:22_04-lts-gen2",
    ),
    "Windows": (_DSVM["Windows"], "MicrosoftWindowsServer:WindowsServer:2022-datacenter-g2"),
}


class VmImageChoice(NamedTuple):
    """The machine's image: an id, or a reference with a version."""

    key: str  # in the settings; "image" by default
    operating_system: OperatingSystem
    reference: ImageReference | None = None
    version: str = LATEST
    image_id: str = ""  # of `image_id`
    of_gallery: ImageOfPool | None = None
    by_default: bool = False  # the settings have none

    @property
    def known(self) -> VmImage | None:
        """The image in the catalog, if it is known there."""
        return vm_images.find(self.reference, IMAGES) if self.reference is not None else None

    @property
    def own(self) -> bool:
        """Whether it is a custom image."""
        return bool(self.image_id) or self.of_gallery is not None


def choose(
    settings: GpuVmSettings, size: Size | None, day: date, images: Mapping[str, ImageOfPool], path: str
) -> tuple[VmImageChoice, list[Problem]]:
    """The image in the settings, else a default that fits the size."""
    given = [key for key in KEYS if key in settings]
    if not given:
        system = _system(settings, None, size)
        return VmImageChoice("image", system, _default(size, system, day), by_default=True), []
    problems: list[Problem] = []
    if len(given) > 1:
        problems.append(refused("vm.several_images", f"{path}.{given[1]}", ", ".join(given), keys=", ".join(KEYS)))
    key = given[0]
    named = {
        "image": settings.get("image"),
        "image_id": settings.get("image_id"),
        "gallery_image": str(settings["gallery_image"]) if "gallery_image" in settings else None,
    }[key] or ""
    if key == "image":
        named = _UBUNTU_HPC.get(named) or (_DSVM[_system(settings, None, size)] if named == "dsvm" else named)
    found, more = image_choice.choose(_named(key, named), images, path)
    more = [_with_aliases(problem) if problem.path == f"{path}.image" else problem for problem in more]
    return _choice(found, _system(settings, found.operating_system, size)), [*problems, *more]


def _named(key: str, value: str) -> NamedImage:
    if key == "image":
        return NamedImage(image=value)
    return NamedImage(image_id=value) if key == "image_id" else NamedImage(gallery_image=value)


def fit_problems(settings: GpuVmSettings, choice: VmImageChoice, size: Size | None, path: str) -> list[Problem]:
    """Problems of the image together with the rest of the machine."""
    problems: list[Problem] = []
    of_image = (
        choice.of_gallery["os_type"]
        if choice.of_gallery
        else choice.known.distribution.operating_system
        if choice.known
        else None
    )
    if of_image is not None and settings.get("os_type", of_image) != of_image:
        problems.append(
            refused("vm.other_system", f"{path}.os_type", str(settings.get("os_type")), allowed=of_image, of_image=of_image)
        )
    generation: VmGeneration | None = choice.of_gallery["generation"] if choice.of_gallery else None
    boots = size.series.generations if size is not None else ()
    if size is not None and generation is not None and boots and generation not in boots:
        problems.append(
            refused(
                "vm.other_generation",
                f"{path}.gallery_image",
                str(settings.get("gallery_image")),
                source="; ".join(str(source) for source in size.series.sources),
                size=size,
                generations=" and ".join(boots),
                generation=generation,
                either=" or ".join(boots),
            )
        )
    return problems


def _choice(found: ImageChoice, system: OperatingSystem) -> VmImageChoice:
    own = found.image_id if found.kind != "Marketplace" else ""
    return VmImageChoice(found.key, system, found.reference, found.version, own, found.of_gallery)


def _system(settings: GpuVmSettings, of_image: OperatingSystem | None, size: Size | None) -> OperatingSystem:
    if of_image is not None:
        return of_image
    if "os_type" in settings:
        return settings["os_type"]
    return "Windows" if size is not None and size.series.windows_only else "Linux"


def _default(size: Size | None, system: OperatingSystem, day: date) -> ImageReference:
    """The first default image without problems; if all have some, the first of them, whose problems are then reported."""
    references = [ImageReference(*name.split(":")) for name in _BY_DEFAULT[system]]
    return next((each for each in references if _serves(each, size, system, day)), references[0])


def _serves(reference: ImageReference, size: Size | None, system: OperatingSystem, day: date) -> bool:
    known = vm_images.find(reference, IMAGES)
    request = DriverRequest(size, known, system, own_image=False, path="", image_path="")
    of_driver = drivers.choose(request, day)[1]
    of_image = vm_images.image_problems(reference, day, "", IMAGES, size=size)
    return not errors([*of_driver, *of_image])


def _with_aliases(problem: Problem) -> Problem:
    return problem._replace(allowed=f"{', '.join(ALIASES)}, or {problem.allowed}") if problem.allowed else problem
