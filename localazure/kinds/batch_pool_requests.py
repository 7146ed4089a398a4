"""A pool's body as the catalog's rules read it.

The `PoolRequest` has the path of each value in the body. What a body can't tell (whether a start task installs a driver, whether
tasks use RDMA) isn't asked.
"""

from datetime import timedelta

from azure_gpu.catalog.services.batch.request import ContainerTasks, ImageKind, PoolRequest, kind_of
from azure_gpu.catalog.services.driver_extension import ExtensionRequest
from azure_gpu.catalog.services.vm_images import ImageReference
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes import SIZES
from localazure.arm.store import Body, Resource
from localazure.batch import durations
from localazure.kinds.batch_refusals import invalid_value

MACHINE = "properties.deploymentConfiguration.virtualMachineConfiguration"
FIXED = "properties.scaleSettings.fixedScale"
AUTO = "properties.scaleSettings.autoScale"
_WRITTEN = {
    "size": "properties.vmSize",
    "region": "location",
    "image": f"{MACHINE}.imageReference",
    "node_agent": f"{MACHINE}.nodeAgentSkuId",
    "dedicated_nodes": f"{FIXED}.targetDedicatedNodes",
    "spot_nodes": f"{FIXED}.targetLowPriorityNodes",
    "resize_timeout": f"{FIXED}.resizeTimeout",
    "autoscale_formula": f"{AUTO}.formula",
    "evaluation_interval": f"{AUTO}.evaluationInterval",
    "task_slots": "properties.taskSlotsPerNode",
    "inter_node": "properties.interNodeCommunication",
    "containers": f"{MACHINE}.containerConfiguration",
    "packages": "properties.applicationPackages",
    "certificates": "properties.certificates",
    "communication": "properties.targetNodeCommunicationMode",
    "ephemeral_os_disk": f"{MACHINE}.osDisk.ephemeralOSDiskSettings.placement",
    "resource_tags": "properties.resourceTags",
    "windows_configuration": f"{MACHINE}.windowsConfiguration",
}


def request_of(body: Body, account: Resource) -> PoolRequest:
    """ArmError 400 for a length of time that is none."""
    properties = body["properties"]
    machine = properties["deploymentConfiguration"]["virtualMachineConfiguration"]
    scale = properties.get("scaleSettings") or {}
    fixed, auto = scale.get("fixedScale"), scale.get("autoScale") or {}
    if fixed is None and not auto:
        fixed = {"targetDedicatedNodes": 0}  # as the service has it where nothing is said
    given = fixed or {}
    image = machine["imageReference"]
    containers = machine.get("containerConfiguration")
    return PoolRequest(
        path="properties",
        written=_WRITTEN,
        size=SIZES.find(properties["vmSize"]),
        region=account.location,
        auto_storage=True,  # the service looks up each package instead, which are in no account without: `batch_packages.check`
        operating_system=system_of(machine["nodeAgentSkuId"]),
        image_kind=_image_kind(image),
        image=_marketplace(image),
        node_agent=machine["nodeAgentSkuId"],
        dedicated_nodes=given.get("targetDedicatedNodes"),
        spot_nodes=given.get("targetLowPriorityNodes"),
        resize_timeout=_duration(given.get("resizeTimeout"), f"{FIXED}.resizeTimeout"),
        autoscale_formula=auto.get("formula", ""),
        evaluation_interval=_duration(auto.get("evaluationInterval"), f"{AUTO}.evaluationInterval"),
        task_slots=properties.get("taskSlotsPerNode", 1),
        inter_node=properties.get("interNodeCommunication") == "Enabled",
        containers=ContainerTasks(type=containers["type"], elevated=True) if containers else None,
        packages=len(properties.get("applicationPackages") or []),
        extensions=tuple(_extension(each, index) for index, each in enumerate(machine.get("extensions") or [])),
        certificates=bool(properties.get("certificates")),
        communication=properties.get("targetNodeCommunicationMode", ""),
        explicit_outbound=True,
        ephemeral_os_disk=bool((machine.get("osDisk") or {}).get("ephemeralOSDiskSettings")),
        resource_tags=bool(properties.get("resourceTags")),
        windows_configuration=bool(machine.get("windowsConfiguration")),
    )


def system_of(node_agent: str) -> OperatingSystem:
    return OperatingSystem.WINDOWS if ".windows" in node_agent.lower() else OperatingSystem.LINUX


def _image_kind(image: Body) -> ImageKind:
    if image.get("id"):
        return kind_of(image["id"])
    shared = image.get("communityGalleryImageId") or image.get("sharedGalleryImageId")
    return ImageKind.GALLERY if shared else ImageKind.MARKETPLACE


def _marketplace(image: Body) -> ImageReference | None:
    if _image_kind(image) is not ImageKind.MARKETPLACE:
        return None
    return ImageReference(image["publisher"], image["offer"], image["sku"])


def _extension(extension: Body, index: int) -> ExtensionRequest:
    settings = extension.get("settings")
    return ExtensionRequest(
        type=extension["type"],
        settings=settings if isinstance(settings, dict) else {},
        path=f"{MACHINE}.extensions[{index}]",
        publisher=extension["publisher"],
    )


def _duration(text: object, path: str) -> timedelta | None:
    if text is None:
        return None
    found = durations.parse(text) if isinstance(text, str) else None
    if found is None:
        raise invalid_value(path, "It takes an ISO 8601 duration, such as PT15M.", text)
    return found
