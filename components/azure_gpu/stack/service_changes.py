"""Properties that Azure services change themselves, so that a refresh shows differences that need no repair.

The provider doesn't apply `ignore_changes` to a refresh. Components ignore the same paths, so that a preview after a refresh is
empty; `operations preview --drift` omits them.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from azure_gpu.ml.endpoint.endpoint import LEFT_TO_TEMPLATE

CLUSTER = "azure-native:containerservice:ManagedCluster"
POOL = "azure-native:containerservice:AgentPool"
ENDPOINT = "azure-native:machinelearningservices:OnlineEndpoint"
DEPLOYMENT = "azure-native:machinelearningservices:OnlineDeployment"


class ServiceChange(NamedTuple):
    """A property, and what changes it."""

    path: str
    """As in a preview; includes everything below it."""
    why: str


_SCALED = "the autoscaler"
_STOPPED = "stopping and starting"
# Sources: Microsoft Learn, REST reference of Microsoft.ContainerService 2025-09-01, Managed Clusters and Agent Pools: `count`,
# `powerState`; azure/machine-learning/how-to-autoscale-endpoints: `sku.capacity`.
CHANGES: Mapping[str, tuple[ServiceChange, ...]] = {
    # Every pool is in this list, also separate resources: see `aks.read_pools`.
    CLUSTER: (ServiceChange("agentPoolProfiles", "the pools"),),
    POOL: (ServiceChange("count", _SCALED), ServiceChange("powerState", _STOPPED)),
    ENDPOINT: tuple(ServiceChange(path, "the template of its traffic, see `ml.endpoint.drift`") for path in LEFT_TO_TEMPLATE),
    DEPLOYMENT: (ServiceChange("sku.capacity", "the autoscale setting"),),
}


def why(token: str, path: str) -> str:
    """Returns what changes this property of a resource of this type; "" where nothing does."""
    return next((each.why for each in CHANGES.get(token, ()) if _covers(each.path, path)), "")


def _covers(pattern: str, path: str) -> bool:
    return re.fullmatch(rf"{re.escape(pattern)}([.\[].*)?", path) is not None
