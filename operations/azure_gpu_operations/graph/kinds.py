"""Which resources are parts of a graph, what people call them, and how one part depends on another.

A component of the library is one part with everything in it but what has a row of its own here. What isn't listed, such as a
resource of a user's own program, is a part of its own by the name of its type.
"""

import re
from enum import StrEnum
from itertools import takewhile
from typing import NamedTuple

from azure_gpu.formats import azure_types
from azure_gpu.formats.parts import PARTS


class Layer(StrEnum):
    """The groups of the parts."""

    IDENTITY = "people and identities"
    WORK = "work"
    PLACE = "where it runs"
    DATA = "images, data and logs"


class Kind(NamedTuple):
    """The noun of a part and its group."""

    noun: str
    layer: Layer
    used: str  # the words of a dependency on it
    has_cost: bool = False  # the library has an hourly cost for it


_COMPONENT = "azuregpu:index:"
FOUNDATION = f"{_COMPONENT}Foundation"
CLUSTER = f"{_COMPONENT}GpuCluster"
JOB = f"{_COMPONENT}ServerlessGpuJob"
POOL = f"{_COMPONENT}BatchPool"
GROUP = f"{_COMPONENT}ContainerGroup"
ENDPOINT = f"{_COMPONENT}MlEndpoint"
ML_WORKSPACE = f"{_COMPONENT}MlWorkspace"
BUDGET = f"{_COMPONENT}Budget"
IDENTITY = azure_types.USER_ASSIGNED_IDENTITY.token
REGISTRY = azure_types.REGISTRY.token
LOGS = azure_types.LOG_WORKSPACE.token
RESOURCE_GROUP = azure_types.RESOURCE_GROUP.token
COMPUTE = azure_types.ML_COMPUTE.token
MODEL = azure_types.ML_MODEL_VERSION.token
# Parts that no resource declares.
PRINCIPAL, NODES_IDENTITY = "principal", "nodes' identity"


def _parts(layer: Layer, before: str = "") -> dict[str, Kind]:
    """The library's components of a group: all, or those before a component."""
    those = takewhile(lambda part: part.token != before, PARTS)
    drawn = [(part, part.drawn) for part in those if part.drawn is not None and Layer[part.drawn.layer] is layer]
    return {part.token: Kind(shown.noun, layer, shown.used, has_cost=part.ends) for part, shown in drawn}


# In the order in which they are listed.
KINDS = {
    PRINCIPAL: Kind("principal", Layer.IDENTITY, "used by"),
    IDENTITY: Kind("identity", Layer.IDENTITY, "runs as"),
    NODES_IDENTITY: Kind("nodes' identity", Layer.IDENTITY, "pulls images as"),
    **_parts(Layer.WORK, before=ML_WORKSPACE),
    COMPUTE: Kind("ML compute", Layer.WORK, "runs on", has_cost=True),
    **_parts(Layer.WORK),  # the others
    RESOURCE_GROUP: Kind("resource group", Layer.PLACE, "is in"),
    **_parts(Layer.PLACE),
    azure_types.VIRTUAL_NETWORK.token: Kind("virtual network", Layer.PLACE, "is in"),
    azure_types.SUBNET.token: Kind("subnet", Layer.PLACE, "is in"),
    REGISTRY: Kind("registry", Layer.DATA, "pulls images from"),
    **_parts(Layer.DATA),
    azure_types.GALLERY_IMAGE_VERSION.token: Kind("gallery image", Layer.DATA, "starts from"),
    MODEL: Kind("model", Layer.DATA, "serves"),
    azure_types.STORAGE_ACCOUNT.token: Kind("storage", Layer.DATA, "keeps data in"),
    azure_types.KEY_VAULT.token: Kind("key vault", Layer.DATA, "keeps secrets in"),
    azure_types.INSIGHTS_COMPONENT.token: Kind("insights", Layer.DATA, "sends metrics to"),
    LOGS: Kind("log workspace", Layer.DATA, "logs to"),
}
ORDER = tuple(KINDS)

# What depends on what, in words that are other than the ones above, by the type of the part and of what it uses.
WORDS = {
    (ML_WORKSPACE, REGISTRY): "keeps images in",
    (ML_WORKSPACE, CLUSTER): "has its extension on",
    (MODEL, ML_WORKSPACE): "is registered in",
    (azure_types.INSIGHTS_COMPONENT.token, LOGS): "keeps metrics in",
    (JOB, azure_types.STORAGE_ACCOUNT.token): "reads and writes",
    (POOL, azure_types.STORAGE_ACCOUNT.token): "reads and writes",
}
WORDS |= {
    (azure_types.VIRTUAL_NETWORK.token, each): "has private endpoints of"
    for each in (
        REGISTRY,
        ML_WORKSPACE,
        f"{_COMPONENT}BatchAccount",
        azure_types.STORAGE_ACCOUNT.token,
        azure_types.KEY_VAULT.token,
        LOGS,
    )
}
# A pod takes the identity that its service account names.
SPEAKS_AS = "pods sign in as"
SPEAKING = (azure_types.FEDERATED_IDENTITY_CREDENTIAL.token, "kubernetes:core/v1:ServiceAccount")

# Resources that belong to a part which isn't their parent, by the type of that part.
PART_OF = {
    azure_types.DEPLOYMENT.token: REGISTRY,  # of the builds in it
    azure_types.TASK.token: REGISTRY,
    azure_types.BLOB_SERVICE.token: azure_types.STORAGE_ACCOUNT.token,
    azure_types.PRIVATE_LINK_SCOPE.token: LOGS,
    **{
        each.token: azure_types.VIRTUAL_NETWORK.token
        for each in (
            azure_types.NETWORK_SECURITY_GROUP,
            azure_types.NAT_GATEWAY,
            azure_types.PUBLIC_IP_ADDRESS,
            azure_types.PRIVATE_ZONE,
            azure_types.PRIVATE_ZONE_LINK,
            azure_types.PRIVATE_ENDPOINT,
            azure_types.PRIVATE_DNS_ZONE_GROUP,
        )
    },
}
# What private endpoints lead to.
LED_TO = (
    REGISTRY,
    azure_types.STORAGE_ACCOUNT.token,
    azure_types.KEY_VAULT.token,
    azure_types.BATCH_ACCOUNT.token,
    azure_types.ML_WORKSPACE.token,
    azure_types.PRIVATE_LINK_SCOPE.token,
)
# How a part that exists is named where its id isn't: the output of its component that has the name, by the package and the input
# of the resource that names it.
NAMED_BY = {
    ("azure-native:batch", "accountName"): "account_name",
    ("azure-native:machinelearningservices", "workspaceName"): "workspace_name",
}
# The types by which an ARM id in a stack file is a part that exists already.
BY_ARM_TYPE = {
    each.arm_type.lower(): each.token
    for each in (
        azure_types.USER_ASSIGNED_IDENTITY,
        azure_types.REGISTRY,
        azure_types.STORAGE_ACCOUNT,
        azure_types.LOG_WORKSPACE,
        azure_types.KEY_VAULT,
        azure_types.INSIGHTS_COMPONENT,
        azure_types.GALLERY_IMAGE_VERSION,
        azure_types.SUBNET,
    )
}
PROVIDER_PREFIX = "pulumi:providers:"


def is_component(token: str) -> bool:
    """Whether a resource of this type is one of the library's components."""
    return token.startswith(_COMPONENT)


def kind_of(token: str) -> Kind:
    """The kind of any type; an unlisted one is named after the type."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", token.rpartition(":")[2]).lower()
    return KINDS.get(token) or Kind(words, Layer.PLACE, "uses")
