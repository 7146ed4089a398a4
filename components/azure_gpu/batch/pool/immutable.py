"""What Batch doesn't change on a pool that has nodes, and its hash, by which a pool and its replacement have two names.

In: what is resolved of a pool. Out: `REPLACING` for the engine, and plain data with its hash. The two agree: whatever changes a
property that is listed here changes the data, and nothing else does. What is as Batch has it by itself isn't in the data, so that
neither a default that is written out nor a property that a later version adds renames a pool.
"""

import hashlib
import json
from collections.abc import Mapping

from azure_gpu.catalog.services.batch.request import PoolRequest
from azure_gpu.catalog.services.batch.scale import DEFAULT_TASK_SLOTS
from azure_gpu.catalog.services.driver_extension import ExtensionRequest
from azure_gpu.images.choice import LATEST, ImageChoice
from azure_gpu.shared.naming import HASH_LENGTH

# What Batch doesn't change on a pool that has nodes, answering PropertyCannotBeUpdated. What takes effect with nodes: packages,
# metadata, scale and the start task. Source: Microsoft Learn, batch/batch-pool-update-properties, of API 2024-07-01, by which the
# others need a pool of no nodes; the refusal is quoted in Azure/Batch issues 85 and 153. How nodes are reached is among what the
# data plane's update changes. That tags can be changed is assumed. The provider itself makes a new pool for another name, account
# or resource group alone.
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
REGISTRY = "the registry that containers come from, by its name"
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
    """The pool's own data, by the paths above where they have one; all as it is declared, or what tells it apart."""
    return given(
        {
            "name": base_name,  # Batch takes a name in another letter case for the same
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
    """The same for the same immutable properties, whatever else changes."""
    whole = {**immutable, **given({NETWORK: subnet_id})}
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:HASH_LENGTH]


def given(data: Mapping[str, object]) -> dict[str, object]:
    """Without what has the default of a property: nothing, empty or false."""
    return {key: value for key, value in data.items() if value}


def _image(request: PoolRequest, image: ImageChoice) -> dict[str, object]:
    if image.of_gallery is not None:
        return {"gallery": image.of_gallery["name"]}
    if image.image_id:
        return {"id": image.image_id}
    if request.image is None:
        return {}  # refused
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
