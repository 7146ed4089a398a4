"""A requested AKS node pool, the input of every rule about pools.

Values are as the user wrote them, so that a rule can report each; `PoolRequest.at` says where it was written.
"""

from collections.abc import Mapping
from datetime import date
from types import MappingProxyType
from typing import NamedTuple

from azure_gpu.catalog.services.aks.sizes import INSTALL
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.catalog.sources import Dated, Source

SYSTEM = "System"
USER = "User"
MANAGED = "Managed"
UNMANAGED = "Unmanaged"

LABEL = "kubernetes.azure.com/agentpool"  # of every node, with its pool's name
PROVIDER_API = "2025-09-01"  # the version of the agent pool API that the program's provider speaks
PROVIDER_SOURCE = Source(f"pulumi-azure-native 3.29.0, containerservice {PROVIDER_API}", Dated.OBSERVED, date(2026, 11, 20))


class Spot(NamedTuple):
    """A pool of Spot machines."""

    eviction_policy: str = "Delete"
    max_price: float = -1  # US dollars an hour for one node; -1: up to the price of an ordinary machine


class PoolRequest(NamedTuple):
    """One pool. An empty string: not set, AKS chooses."""

    path: str  # where the pool is written
    name: str
    size: Size | None  # None: the size isn't known, and nothing about it is checked here
    paths: Mapping[str, str] = MappingProxyType({})  # by field, where it isn't `path` and the field's name
    mode: str = USER
    operating_system: OperatingSystem = OperatingSystem.LINUX
    os_sku: str = ""
    kubernetes_version: str = ""
    long_term_support: bool = False  # the cluster has the plan for it
    node_image: str = ""  # such as AKSUbuntu-2404gen2containerd-202608.14.0
    node_count: int = 1
    autoscaler: bool = False
    min_count: int = 0  # with the autoscaler
    max_count: int = 1
    driver: str = INSTALL
    driver_type: str = ""  # CUDA or GRID
    management_mode: str = ""  # Managed or Unmanaged
    mig_strategy: str = ""  # None, Single or Mixed; of a managed pool
    mig_profile: str = ""  # MIG1g, …
    spot: Spot | None = None
    scale_set: bool = True  # made of a virtual machine scale set
    standard_load_balancer: bool = True  # the cluster's
    max_surge: str = ""
    taints: tuple[str, ...] = ()
    tags: Mapping[str, str] = MappingProxyType({})
    features: frozenset[str] = frozenset()  # feature flags that the subscription has, by the user's settings
    api_version: str = PROVIDER_API

    def at(self, name: str) -> str:
        """Where the field of this name is written."""
        return self.paths.get(name, f"{self.path}.{name}")
