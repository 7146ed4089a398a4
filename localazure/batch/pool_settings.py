"""What nodes read of their pool's ARM body: size, slots, system, start task, packages, containers and mounts."""

from typing import Any, NamedTuple

from azure_gpu.catalog.services import driver_extension, vm_images
from azure_gpu.catalog.services.batch import images, installs
from azure_gpu.catalog.services.vm_images import IMAGES, ImageReference
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Size
from localazure.arm.store import Body
from localazure.machines.model import DRIVER_OF_IMAGES

DEFAULT_RESIZE_TIMEOUT = "PT15M"


class PoolSettings(NamedTuple):
    """A pool as it was requested."""

    name: str  # as it was spelt
    location: str
    vm_size: str
    size: Size | None
    windows: bool
    slots: int
    pack: bool  # fill one node after the other; else spread
    inter_node: bool
    start_task: Body | None
    packages: tuple[Body, ...]  # id and version of applications
    containers: Body | None  # containerConfiguration
    mounts: tuple[Body, ...]
    identities: tuple[str, ...]  # ids of the pool's user-assigned identities
    image: Body
    scale: Body  # scaleSettings
    driver: str  # version of NVIDIA's driver on its nodes; "": none

    @property
    def multi_instance(self) -> bool:
        """Whether tasks on several nodes at once run here; in other pools they stay active for ever."""
        return self.inter_node and self.slots == 1


def read(name: str, location: str, body: Body) -> PoolSettings:
    properties = body.get("properties") or {}
    machine = (properties.get("deploymentConfiguration") or {}).get("virtualMachineConfiguration") or {}
    agent = images.find_agent(str(machine.get("nodeAgentSkuId") or ""))
    windows = agent is not None and agent.operating_system == "Windows"
    policy: dict[str, Any] = properties.get("taskSchedulingPolicy") or {}
    return PoolSettings(
        name=name,
        location=location,
        vm_size=str(properties.get("vmSize") or ""),
        size=SIZES.find(str(properties.get("vmSize") or "")),
        windows=windows or "windowsConfiguration" in machine,
        slots=int(properties.get("taskSlotsPerNode") or 1),
        pack=str(policy.get("nodeFillType") or "Spread").lower() == "pack",
        inter_node=str(properties.get("interNodeCommunication") or "").lower() == "enabled",
        start_task=properties.get("startTask"),
        packages=tuple(properties.get("applicationPackages") or ()),
        containers=machine.get("containerConfiguration"),
        mounts=tuple(properties.get("mountConfiguration") or ()),
        identities=tuple((body.get("identity") or {}).get("userAssignedIdentities") or ()),
        image=machine.get("imageReference") or {},
        scale=properties.get("scaleSettings") or {},
        driver=_driver(properties, machine),
    )


def _driver(properties: Body, machine: Body) -> str:
    """From the image, an extension, or a start task that calls an installer which is known by its name."""
    names = [str((machine.get("imageReference") or {}).get(part) or "") for part in ("publisher", "offer", "sku")]
    image = vm_images.find(ImageReference(*names), IMAGES)
    of_image = image is not None and "NVIDIA driver" in image.has
    requested = (driver_extension.PUBLISHER.lower(), driver_extension.NVIDIA_LINUX.lower())
    extensions = {(str(one.get("publisher")).lower(), str(one.get("type")).lower()) for one in machine.get("extensions") or ()}
    started = installs.installs_driver(str((properties.get("startTask") or {}).get("commandLine") or ""))
    return DRIVER_OF_IMAGES if of_image or started or requested in extensions else ""
