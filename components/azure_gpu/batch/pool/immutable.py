"""The properties that Batch can't change on a pool with nodes, and their hash, which distinguishes a pool from its replacement.

`REPLACING` lists them for the engine; `BatchPoolSpec.immutable` has them as plain data for the hash. The two agree: only changes
of these properties change the data. Values equal to Batch's defaults aren't in the data, so that neither an explicit default nor
a property that a later version adds renames a pool.
"""

import hashlib
import json
from collections.abc import Mapping

from azure_gpu.catalog.services.batch.request import PoolRequest
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


def digest(immutable: Mapping[str, object], subnet_id: str) -> str:
    """Returns a hash of the immutable properties."""
    whole = {**immutable, **given({NETWORK: subnet_id})}
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:HASH_LENGTH]


def given(data: Mapping[str, object]) -> dict[str, object]:
    """Removes default values: None, empty or false."""
    return {key: value for key, value in data.items() if value}


def of_image(request: PoolRequest, image: ImageChoice) -> dict[str, object]:
    if image.of_gallery is not None:
        return {"gallery": image.of_gallery["name"]}
    if image.image_id:
        return {"id": image.image_id}
    if request.image is None:
        return {}  # rejected elsewhere
    version = image.version if image.version != LATEST else ""
    return given({**request.image._asdict(), "version": version})


def of_extension(extension: ExtensionRequest, version: str) -> dict[str, object]:
    return given(
        {
            "publisher": extension.publisher,
            "type": extension.type,
            "version": version,
            "settings": dict(extension.settings),
        }
    )
