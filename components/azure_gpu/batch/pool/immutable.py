"""The properties that Batch can't change on a pool with nodes, and their hash, which distinguishes a pool from its replacement.

`REPLACING` lists them for the engine; `of_pool` returns them as plain data for the hash. The two agree: only changes of these
properties change the data. Values equal to Batch's defaults aren't in the data, so that neither an explicit default nor a
property that a later version adds renames a pool.
"""

import hashlib
import json
from collections.abc import Mapping

from azure_gpu.catalog.services.batch.request import PoolRequest
from azure_gpu.catalog.services.batch.scale import DEFAULT_TASK_SLOTS
from azure_gpu.catalog.services.driver_extension import ExtensionRequest
from azure_gpu.images.choice import LATEST, ImageChoice
from azure_gpu.shared.naming import HASH_LENGTH

# Batch rejects changes of these on a pool with nodes with PropertyCannotBeUpdated. With nodes it can change packages, metadata,
# scale and the start task. Source: Microsoft Learn, batch/batch-pool-update-properties, of API 2024-07-01, by which the others
# require a pool without nodes; the error is quoted in Azure/Batch issues 85 and 153. The data plane's update can change the
# communication mode. That tags can be changed is assumed. The provider itself replaces a pool only for another name, account or
# resource group.
_MACHINES = "deploymentConfiguration.virtualMachineConfiguration"
IMAGE_NAMES = f"{_MACHINES}.containerConfiguration.containerImageNames"
CONTAINERS = f"{_MACHINES}.containerConfiguration.type"
EXTENSIONS = f"{_MACHINES}.extensions"
IMAGE = f"{_MACHINES}.imageReference"
NODE_AGENT = f"{_MACHINES}.nodeAgentSkuId"
IDENTITY = "identity"
INTER_NODE = "interNodeCommunication"
MOUNTS = "mountConfiguration"
NETWORK = "networkConfiguration"
TASK_SLOTS = "taskSlotsPerNode"
SIZE = "vmSize"
REPLACING = [
    IMAGE_NAMES,
    CONTAINERS,
    EXTENSIONS,
    IMAGE,
    NODE_AGENT,
    IDENTITY,
    INTER_NODE,
    MOUNTS,
    NETWORK,
    TASK_SLOTS,
    SIZE,
]
REGISTRY = "the registry that containers come from, by its name"  # part of the hash, as is every key of the data
REPLACING_WITHOUT_PATH = [REGISTRY, "whether tasks run in containers"]


def of_pool(
    *,
    base_name: str,
    size: str,
    request: PoolRequest,
    image: ImageChoice,
    extension_version: str,
    container_images: tuple[str, ...] | None,
    mounts: object,
    identity: str,
    registry: str,
) -> dict[str, object]:
    """Returns the pool's immutable properties as plain data, by the paths above where they have one."""
    return given(
        {
            "name": base_name,  # Batch's names are case-insensitive
            SIZE: size,
            IMAGE: _image(request, image),
            NODE_AGENT: request.node_agent,
            EXTENSIONS: [_extension(each, extension_version) for each in request.extensions],
            CONTAINERS: container_images is not None,
            IMAGE_NAMES: list(container_images or ()),
            REGISTRY: registry if container_images is not None and identity else "",
            IDENTITY: identity,
            TASK_SLOTS: request.task_slots if request.task_slots != DEFAULT_TASK_SLOTS else None,
            INTER_NODE: request.inter_node,
            f"{NETWORK} without public addresses": not request.public_addresses,
            MOUNTS: mounts,
        }
    )


def digest(immutable: Mapping[str, object], subnet_id: str) -> str:
    """Returns a hash of the immutable properties."""
    whole = {**immutable, **given({NETWORK: subnet_id})}
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:HASH_LENGTH]


def given(data: Mapping[str, object]) -> dict[str, object]:
    """Removes default values: None, empty or false."""
    return {key: value for key, value in data.items() if value}


def _image(request: PoolRequest, image: ImageChoice) -> dict[str, object]:
    if image.of_gallery is not None:
        return {"gallery": image.of_gallery["name"]}
    if image.image_id:
        return {"id": image.image_id}
    if request.image is None:
        return {}  # rejected elsewhere
    version = image.version if image.version != LATEST else ""
    return given({**request.image._asdict(), "version": version})


def _extension(extension: ExtensionRequest, version: str) -> dict[str, object]:
    return given(
        {
            "publisher": extension.publisher,
            "type": extension.type,
            "version": version,
            "settings": dict(extension.settings),
        }
    )
