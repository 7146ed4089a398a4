"""What nodes read of their pool's ARM body: size, slots, system, start task, packages, containers and mounts."""

from azure_gpu.catalog.services import driver_extension, vm_images
from azure_gpu.catalog.services.batch import images, installs
from azure_gpu.catalog.services.vm_images import IMAGES, ImageReference
from azure_gpu.catalog.sizes import SIZES
from localazure.arm.store import Body
from localazure.machines.model import DRIVER_OF_IMAGES

DEFAULT_RESIZE_TIMEOUT = "PT15M"


class PoolSettings:
    """A pool as it was requested. `name` is spelt as it was."""

    def __init__(self, name: str, location: str, body: Body) -> None:
        properties = body.get("properties") or {}
        machine = (properties.get("deploymentConfiguration") or {}).get("virtualMachineConfiguration") or {}
        agent = images.find_agent(str(machine.get("nodeAgentSkuId") or ""))
        policy: Body = properties.get("taskSchedulingPolicy") or {}
        self.name, self.location = name, location
        self.vm_size = str(properties.get("vmSize") or "")
        self.size = SIZES.find(self.vm_size)
        self.windows = (agent is not None and agent.operating_system == "Windows") or "windowsConfiguration" in machine
        self.slots = int(properties.get("taskSlotsPerNode") or 1)
        self.pack = str(policy.get("nodeFillType") or "Spread").lower() == "pack"  # one node after the other; else spread
        self.inter_node = str(properties.get("interNodeCommunication") or "").lower() == "enabled"
        self.start_task: Body | None = properties.get("startTask")
        self.packages: list[Body] = properties.get("applicationPackages") or []
        self.containers: Body | None = machine.get("containerConfiguration")
        self.mounts: list[Body] = properties.get("mountConfiguration") or []
        self.identities = list((body.get("identity") or {}).get("userAssignedIdentities") or ())  # their ids
        self.image: Body = machine.get("imageReference") or {}
        self.scale: Body = properties.get("scaleSettings") or {}
        self.driver = _driver(properties, machine)  # version of NVIDIA's driver on its nodes; "": none

    @property
    def multi_instance(self) -> bool:
        """Whether tasks on several nodes at once run here; in other pools they stay active for ever."""
        return self.inter_node and self.slots == 1


def _driver(properties: Body, machine: Body) -> str:
    """From the image, an extension, or a start task that calls an installer which is known by its name."""
    names = [str((machine.get("imageReference") or {}).get(part) or "") for part in ("publisher", "offer", "sku")]
    image = vm_images.find(ImageReference(*names), IMAGES)
    of_image = image is not None and "NVIDIA driver" in image.has
    requested = (driver_extension.PUBLISHER.lower(), driver_extension.NVIDIA_LINUX.lower())
    extensions = {(str(one.get("publisher")).lower(), str(one.get("type")).lower()) for one in machine.get("extensions") or ()}
    started = installs.installs_driver(str((properties.get("startTask") or {}).get("commandLine") or ""))
    return DRIVER_OF_IMAGES if of_image or started or requested in extensions else ""
