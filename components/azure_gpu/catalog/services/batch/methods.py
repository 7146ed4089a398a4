"""Chooses the method by which a Batch pool's driver is installed, and the image, with the reason.

The choice uses the rules that validate pools: the first image that Batch supports on that day, on that size, with those
containers and that network, and that brings the right driver; else the driver extension on a plain image; else only a custom
image or a package helps. `pools.problems(method.applied(request), as_of)` then checks the pool with the method.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta

from azure_gpu.catalog.lifecycle import SOLD, Status
from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services import driver_extension, vm_images
from azure_gpu.catalog.services.batch import images, installs, mpi, sources
from azure_gpu.catalog.services.batch.packages import driver_command
from azure_gpu.catalog.services.batch.request import (
    DriverMethod,
    MethodKind,
    PackageReference,
    PoolRequest,
    RequestedMethod,
    StartTask,
)
from azure_gpu.catalog.services.driver_extension import ExtensionRequest
from azure_gpu.catalog.services.vm_images import IMAGES, Distribution, ImageReference, VmImage
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Driver
from azure_gpu.catalog.sources import BATCH_ARTICLE
from azure_gpu.catalog.tables import Keyed

_MAINTAINED = timedelta(days=3 * 365)
# Images by preference. The first ones bring drivers; those of the article are there for its day.
_LINUX_HPC = (
    *vm_images.WITH_DRIVERS,
    "microsoft-dsvm/ubuntu-hpc/2204-v100",
    *vm_images.WITH_ROCM,
    "OpenLogic/CentOS-HPC/7.4",
)
_LINUX_DATA_SCIENCE = ("microsoft-dsvm/linux-data-science-vm-ubuntu/linuxdsvmubuntu",)
_LINUX_CONTAINERS = tuple(
    f"microsoft-azure-batch/ubuntu-server-container{network}/{sku}"
    for sku in ("20-04-lts", "16-04-lts")
    for network in ("", "-rdma")
)
_LINUX_PLAIN = (
    "canonical/ubuntu-24_04-lts/server",
    "canonical/0001-com-ubuntu-server-jammy/22_04-lts-gen2",
    "canonical/0001-com-ubuntu-server-jammy/22_04-lts",
    "canonical/0001-com-ubuntu-server-focal/20_04-lts",
    "canonical/ubuntuserver/18.04-lts",
    "canonical/ubuntuserver/16.04-lts",
)
_WINDOWS_WITH_DRIVERS = ("microsoft-dsvm/dsvm-win-2022/winserver-2022", "microsoft-dsvm/dsvm-windows/server-2016")
_WINDOWS_PLAIN = tuple(
    f"microsoftwindowsserver/windowsserver/{sku}"
    for sku in ("2022-datacenter-g2", "2022-datacenter", "2016-datacenter", "2012-r2-datacenter")
)
BY_NAME = Keyed(lambda: {str(image.reference).lower(): image for image in IMAGES})


def with_drivers(request: PoolRequest) -> Sequence[str]:
    """Names of images that bring drivers; for containers, container images first."""
    names = (*_LINUX_HPC, *_LINUX_DATA_SCIENCE, *_LINUX_CONTAINERS)
    if request.operating_system == "Windows":
        names = _WINDOWS_WITH_DRIVERS
    elif request.containers is not None:
        names = (*_LINUX_HPC, *_LINUX_CONTAINERS, *_LINUX_DATA_SCIENCE)
    return [name.lower() for name in names]


def plain(operating_system: OperatingSystem) -> Sequence[str]:
    """Names of images without drivers."""
    return _WINDOWS_PLAIN if operating_system == "Windows" else _LINUX_PLAIN


def with_containers(operating_system: OperatingSystem) -> Sequence[str]:
    """Names of images without drivers that run containers."""
    if operating_system != "Windows":
        return ()
    return [name for name, image in BY_NAME.items() if "Windows containers" in image.has]


def first(
    names: Iterable[str], request: PoolRequest, as_of: date, *, needs_driver: bool = True, seen_later: bool = False
) -> VmImage | None:
    """The first image that serves the pool."""
    found = (BY_NAME[name] for name in names)
    return next((one for one in found if serves(one, request, as_of, needs_driver=needs_driver, seen_later=seen_later)), None)


def serves(
    image: VmImage,
    request: PoolRequest,
    as_of: date,
    *,
    needs_driver: bool = True,
    extension: ExtensionRequest | None = None,
    seen_later: bool = False,
) -> bool:
    """Whether the pool with this image has no problems, other than a later retirement.

    With `seen_later`, also an image that was first seen soon after `as_of`, with a warning.
    """
    if image.lifecycle.status(as_of) not in SOLD and not (seen_later and _seen_soon(image, as_of)):
        return False
    needs_network = needs_driver and extension is None and request.rdma
    if needs_network and request.size is not None and images.network_software(request.size) not in image.has:
        return False
    trial = request._replace(
        image=image.reference,
        image_kind="Marketplace",
        node_agent=request.node_agent or agent_of(image.distribution),
        extensions=(extension,) if extension else (),
        start_task=None,
    )
    found = list(images.image_problems(trial, as_of))
    if trial.mpi is not None and request.operating_system == "Linux":  # no image for Windows has one
        found += mpi.mpi_problems_of(trial.mpi, trial, as_of)
    if extension is not None:
        found += installs.install_problems(trial, as_of)
    ignored = {Code.RETIRING, *(() if needs_driver else (Code.WRONG_DRIVER,)), *((Code.UNKNOWN,) if seen_later else ())}
    return all(problem.code in ignored for problem in found)


def _seen_soon(image: VmImage, as_of: date) -> bool:
    """Whether the image probably existed: first seen within the years for which an image is maintained."""
    later = image.lifecycle.seen.day - as_of
    return image.lifecycle.status(as_of) is Status.UNKNOWN and timedelta() < later <= _MAINTAINED


def agent_of(distribution: Distribution) -> str:
    """The SKU of the node agent for it; empty if unknown."""
    agent = images.agent_for(distribution)
    return agent.sku if agent else ""


def choose(
    request: PoolRequest,
    as_of: date,
    requested: RequestedMethod = "auto",
    *,
    driver_version: str = "",
    package: str = "",
) -> tuple[DriverMethod, list[Problem]]:
    """The method for this pool. `package` is the application whose package installs the driver `driver_version`.

    With problems, the method is the closest to the requested one, so that the rest of the pool can be checked.
    """
    method, problems = _Chooser(request, as_of, driver_version, package).by(requested)
    if problems or method.image is None:  # sources are sparse for some days: then images that were seen later are accepted
        other, left = _Chooser(request, as_of, driver_version, package, seen_later=True).by(requested)
        if not left and other.image is not None:
            method, problems = other, left
    if not problems and method.image is None and request.image_kind == "Marketplace":
        problems = [no_image(request)]
    return method, problems or unused(method, request, driver_version, package)


class _Chooser:
    """One choice: the request, and the candidate images."""

    def __init__(self, request: PoolRequest, as_of: date, driver_version: str, package: str, *, seen_later: bool = False) -> None:
        self._request = request
        self._seen_later = seen_later
        self._as_of = as_of
        self._version = driver_version
        self._package = package
        self._windows = request.operating_system == "Windows"

    def by(self, requested: RequestedMethod) -> tuple[DriverMethod, list[Problem]]:
        if requested == "none":
            return self.plain("no driver is requested"), []
        ways = {
            "image": self.by_image,
            "extension": self.by_extension,
            "package": self.by_package,
            "start_task": self.by_start_task,
        }
        return ways.get(requested, self.auto)()

    def auto(self) -> tuple[DriverMethod, list[Problem]]:
        task = self._request.start_task
        if self._request.image_kind != "Marketplace":
            return self.by_image()
        if not self._needs_gpu and not self._request.rdma:
            found = self._image_method() if self._mpi_of_image else None
            return found or (self.plain(self._nothing_needed()), [])
        if task is not None and task.installs_driver:
            return self.by_start_task()
        if self._package:
            return self.by_package()
        if self._version:
            return self.by_extension()
        extension = self._extension()
        first = self._extension_method(extension) if self._windows and self._needs_gpu else None  # maintained, unlike images
        if found := first or self._image_method() or self._extension_method(extension):
            return found
        return self._rejected("no known method installs the software"), self._nothing_works()

    def by_image(self) -> tuple[DriverMethod, list[Problem]]:
        request = self._request
        if request.image_kind != "Marketplace":
            why = f"a {request.image_kind.removesuffix(' image')} image brings what its maker installed"
            return self._method("gallery image", why, None), []
        if self._version:
            method, _ = self._image_method() or (self.plain("the image determines the driver"), [])
            return method, [refused("batch.version_of_image", request.at("driver_version"), self._version)]
        if found := self._image_method():
            return found
        return self._rejected("no Marketplace image brings what this pool needs"), self._nothing_works()

    def by_extension(self) -> tuple[DriverMethod, list[Problem]]:
        extension = self._extension()
        of_marketplace = self._request.image_kind == "Marketplace"
        if of_marketplace and (found := self._extension_method(extension)):
            return found
        # none fits: the method is returned anyway, and the rules report why it is invalid
        if extension is None:
            return self._rejected("there is no extension"), [refused("batch.size_without_gpu", self._request.at("driver"))]
        unpinned = self._extension_method(extension._replace(settings={})) if of_marketplace else None
        image = unpinned[0].image if unpinned else self._base()
        return self._method("driver extension", self._extension_why(), image, extension=extension), []

    def by_package(self) -> tuple[DriverMethod, list[Problem]]:
        request = self._request
        if not self._package:
            return self._rejected("the package isn't set"), [refused("batch.no_driver_package", request.at("driver_package"))]
        listed = [one for one in request.package_references if one.application == self._package]
        reference = listed[0] if listed else PackageReference(self._package, self._version)
        version = self._version or reference.version
        task = StartTask(
            command_line=driver_command(reference, request.operating_system),
            elevated=True,
            wait_for_success=True,
            installs_driver=True,
            driver_version=version,
        )
        problems: list[Problem] = []
        if request.size is not None and (request.size.gpu is None or request.size.gpu.vendor != "NVIDIA"):
            path = request.at("driver_package")
            problems.append(refused("batch.package_for_nvidia", path, self._package, size=request.size))
        if request.start_task is not None:
            problems.append(refused("batch.two_start_tasks", request.at("start_task")))
        why = f"the start task installs the driver from the package {reference.application} {reference.version}".rstrip()
        why += ", which delays the node's start"
        image = self._base()
        method = self._method("application package", why, image, start_task=task)
        return method if listed else method._replace(packages=(*request.package_references, reference)), problems

    def by_start_task(self) -> tuple[DriverMethod, list[Problem]]:
        task = self._request.start_task
        if task is None:
            return self._rejected("there is no start task"), [refused("batch.no_start_task", self._request.at("start_task"))]
        task = task._replace(installs_driver=True, driver_version=self._version or task.driver_version)
        image = self._base()
        return self._method("start task", "the pool's own start task installs the driver", image, start_task=task), []

    def plain(self, why: str) -> DriverMethod:
        """Only an image: the one that is set, else the first that Batch supports."""
        request = self._request
        if request.image_kind != "Marketplace":
            return self._method("nothing", why, None)
        names = with_drivers(request) if request.containers or request.rdma or self._mpi_of_image else ()
        image = self._named or self._first_plain(*names, *with_containers(request.operating_system))
        return self._method("nothing", why, image)

    def _rejected(self, why: str) -> DriverMethod:
        """The result of a rejected choice: without an image, unless the pool sets one, so that no other image is checked."""
        return self._method("nothing", why, self._named)

    # The parts.

    @property
    def _needs_gpu(self) -> bool:
        return self._request.size is not None and self._request.size.gpu is not None

    @property
    def _mpi_of_image(self) -> bool:
        """Whether the requested MPI may come with an image: no image for Windows has one."""
        return self._request.mpi is not None and not self._windows

    @property
    def _named(self) -> VmImage | ImageReference | None:
        """The image that the pool sets: its row, if it has one."""
        if self._request.image is None:
            return None
        return vm_images.find(self._request.image, IMAGES) or self._request.image

    def _image_method(self) -> tuple[DriverMethod, list[Problem]] | None:
        """A Marketplace image that brings everything: the one that is set, else the first that does."""
        named = self._named
        if isinstance(named, ImageReference) or self._request.needs is Driver.GRID:  # unknown, and they drive for compute
            return None
        image = named if named is not None and serves(named, self._request, self._as_of, seen_later=True) else None
        if named is None:
            names = with_drivers(self._request)
            image = first(names, self._request, self._as_of, seen_later=self._seen_later)
        return (self._method("marketplace image", image_why(image, self._request), image), []) if image else None

    def _extension_method(self, extension: ExtensionRequest | None) -> tuple[DriverMethod, list[Problem]] | None:
        """The extension on an image without a driver, where its list has the size and the operating system."""
        named = self._named
        if extension is None or isinstance(named, ImageReference):
            return None
        candidates = [named] if named is not None else [BY_NAME[name] for name in plain(self._request.operating_system)]
        for image in candidates:
            if "NVIDIA driver" not in image.has and serves(
                image, self._request, self._as_of, extension=extension, seen_later=self._seen_later or named is not None
            ):
                return self._method("driver extension", self._extension_why(), image, extension=extension), []
        return None

    def _extension(self) -> ExtensionRequest | None:
        size = self._request.size
        if size is not None and size.gpu is None:
            return None
        vendor = size.gpu.vendor if size is not None and size.gpu is not None else "NVIDIA"  # as most of Azure's sizes have
        kind = driver_extension.type_for(vendor, self._request.operating_system)
        settings: dict[str, object] = {}
        if self._request.needs is Driver.GRID and self._driver_of_extension({}) is Driver.CUDA:
            settings[driver_extension.GRID_ON_NC] = True
        if self._version:
            settings[driver_extension.VERSION] = self._version
        return ExtensionRequest(type=kind, settings=settings, path=self._request.at("driver"))

    def _driver_of_extension(self, settings: Mapping[str, object]) -> Driver | None:
        size = self._request.size
        return driver_extension.driver_of(size, settings, self._request.operating_system) if size is not None else None

    def _extension_why(self) -> str:
        size, extension = self._request.size, self._extension()
        driver = self._driver_of_extension(extension.settings if extension else {})
        gpu = size.gpu.name if size and size.gpu else "GPU"
        return f"the driver extension installs {driver or 'a driver'} for the {gpu} on a plain image"

    def _base(self) -> VmImage | ImageReference | None:
        """The image on which a driver is installed: the one that is set, else a plain one; None for a custom image."""
        if self._request.image_kind != "Marketplace":
            return None
        return self._named or self._first_plain()

    def _first_plain(self, *names: str) -> VmImage | None:
        """The first of these or of the plain images that Batch supports, with or without drivers."""
        request = self._request
        candidates = (*names, *plain(request.operating_system))
        return first(candidates, request, self._as_of, needs_driver=False, seen_later=self._seen_later)

    def _method(
        self,
        kind: MethodKind,
        why: str,
        image: VmImage | ImageReference | None,
        *,
        extension: ExtensionRequest | None = None,
        start_task: StartTask | None = None,
    ) -> DriverMethod:
        request = self._request
        row = vm_images.find(image, IMAGES) if isinstance(image, ImageReference) else image
        named = images.find_agent(request.node_agent)
        agent = named.sku if named else request.node_agent  # one spelling, so that letter case doesn't replace the pool
        agent = agent or (agent_of(row.distribution) if row is not None else "")
        if not agent and image is None and self._windows:
            agent = agent_of("Windows Server 2022")  # one for every Windows
        newest = driver_extension.HANDLER_VERSIONS[-1]
        of_linux = extension is not None and extension.type == driver_extension.NVIDIA_LINUX
        return DriverMethod(
            kind=kind,
            why=why,
            image=request.image or (image.reference if isinstance(image, VmImage) else image),
            node_agent=agent,
            extension=extension,
            extension_version=newest if of_linux else "",
            start_task=start_task or request.start_task,
            packages=request.package_references,
        )

    def _nothing_needed(self) -> str:
        if self._request.size is None:
            return "the size is unknown, so no driver is installed; `driver: image` uses an image that brings one"
        return f"{self._request.size.name} has no GPU, and the work needs no InfiniBand"

    def _nothing_works(self) -> list[Problem]:
        """The problem that neither a Marketplace image nor the extension works; none if the image is rejected anyway."""
        request = self._request
        named = self._named
        fix = "create a gallery image that has it" if named else "set image to one that has it, or create a gallery image"
        if not request.containers:  # the images that run containers have a driver of their own
            fix += ", or install it from an application package in the start task"
        if named is not None:
            if isinstance(named, ImageReference) or not serves(named, request, self._as_of, needs_driver=False):
                return []
            other, problems = choose(request._replace(image=None, node_agent=""), self._as_of)
            if other.image is not None and not problems:
                fix = f"leave image out: {other.why}"
        return [
            refused(
                "batch.no_method",
                request.at("image" if request.image else "driver"),
                str(request.image) if request.image else None,
                fix=fix,
                source=BATCH_ARTICLE if named is not None else vm_images.HPC_IMAGES,
                what=request.size.name if request.size else "this pool",
                listed=listed([*_needs(request), *(["InfiniBand"] if request.rdma else [])]),
                on=f" on {request.image}" if request.image else "",
            )
        ]


def unused(method: DriverMethod, request: PoolRequest, driver_version: str, package: str) -> list[Problem]:
    """Problems of a driver version or package that is set, but that the method doesn't install."""
    installs = method.kind in ("driver extension", "application package", "start task")
    unused = [("driver_version", driver_version)] if driver_version and not installs else []
    unused += [("driver_package", package)] if package and method.kind != "application package" else []
    gpu = request.size.gpu if request.size is not None else None
    fix = "leave it out, or set driver: package" if gpu is not None and gpu.vendor == "NVIDIA" else "leave it out"
    return [refused("batch.nothing_installs", request.at(key), value, fix=fix, method=method) for key, value in unused]


def no_image(request: PoolRequest) -> Problem:
    """The problem that no image is known, though no driver is needed or something else installs it."""
    source = sources.CONTAINERS if request.containers else BATCH_ARTICLE
    return refused("batch.no_image_known", request.at("image"), source=source, listed=listed(_needs(request)))


def _needs(request: PoolRequest) -> list[str]:
    return [request.operating_system, *(["containers"] if request.containers else [])]


def image_why(image: VmImage, request: PoolRequest) -> str:
    """What the image brings that this pool needs."""
    size = request.size
    brings: list[str] = []
    if size is not None and size.gpu is not None:
        brings.append(f"the {'ROCm' if size.gpu.vendor == 'AMD' else 'NVIDIA'} driver for the {size.gpu.name}")
    if request.rdma:
        brings.append("drivers for InfiniBand")
    if request.mpi is not None:
        brings.append(mpi.CALLED[request.mpi])
    if request.containers is not None:
        brings.append("a container runtime")
    return f"{image.reference} brings {listed(brings)}" if brings else f"{image.reference} has everything needed"


def listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
