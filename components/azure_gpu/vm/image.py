"""The image of a virtual machine: the one in its settings, or a default that fits its GPU.

Only its name is validated here; whether the image is available on that day and for that size is in the catalog.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import cast

from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services import vm_images
from azure_gpu.catalog.services.machines import drivers
from azure_gpu.catalog.services.machines.drivers import DriverRequest
from azure_gpu.catalog.services.vm_images import IMAGES, ImageReference
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.images import choice as image_choice
from azure_gpu.images.args import DEFAULT_SYSTEM, ImageOfPool
from azure_gpu.images.choice import KEYS, ImageChoice, NamedImage, generation_problems
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


def choose(
    settings: GpuVmSettings, size: Size | None, day: date, images: Mapping[str, ImageOfPool], path: str
) -> tuple[ImageChoice, OperatingSystem, list[Problem]]:
    """The image in the settings, else a default that fits the size, and the operating system."""
    given = [key for key in KEYS if key in settings]
    by_size: OperatingSystem = "Windows" if size is not None and size.series.windows_only else DEFAULT_SYSTEM
    system = settings.get("os_type", by_size)
    if not given:
        return ImageChoice(key="image", reference=_default(size, system, day)), system, []
    problems: list[Problem] = []
    if len(given) > 1:
        problems.append(refused("vm.several_images", f"{path}.{given[1]}", ", ".join(given), keys=", ".join(KEYS)))
    name = str(cast(Mapping[str, object], settings)[given[0]])
    if given[0] == "image":
        name = _UBUNTU_HPC.get(name) or (_DSVM[system] if name == "dsvm" else name)
    found, more = image_choice.choose(cast(NamedImage, {given[0]: name}), images, path)
    more = [_with_aliases(problem) if problem.path == f"{path}.image" else problem for problem in more]
    return found, found.operating_system or system, [*problems, *more]


def fit_problems(settings: GpuVmSettings, choice: ImageChoice, size: Size | None, path: str) -> list[Problem]:
    """Problems of the image together with the rest of the machine."""
    problems: list[Problem] = []
    of_image = choice.of_gallery["os_type"] if choice.of_gallery else choice.known.operating_system if choice.known else None
    if of_image is not None and settings.get("os_type", of_image) != of_image:
        words = {"allowed": of_image, "of_image": of_image}
        problems.append(refused("vm.other_system", f"{path}.os_type", str(settings.get("os_type")), **words))
    name = str(settings.get("gallery_image"))
    return [*problems, *generation_problems("vm.other_generation", size, choice.of_gallery, name, f"{path}.gallery_image")]


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
