"""Resolved objects on a cluster with GPU pools, `ClusterObjectsSpec`, and the labels that its nodes need."""

from dataclasses import dataclass
from typing import NamedTuple

import pulumi

from azure_gpu.catalog.services.aks import device_plugin, spot
from azure_gpu.catalog.services.gpu_sharing import SharingRequest
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Gpu
from azure_gpu.kubernetes.gpu_objects import sharing as sharing_config
from azure_gpu.kubernetes.gpu_objects.args import ClusterObjectsSettings
from azure_gpu.kubernetes.gpu_objects.sharing import SharingConfig
from azure_gpu.kubernetes.jobs import JobSpec
from azure_gpu.kubernetes.services import ServiceSpec

GPU_TAINT = "sku=gpu:NoSchedule"  # as in AKS's documentation


class GpuPool(NamedTuple):
    """A GPU pool of the cluster, with what the objects on it depend on."""

    name: str
    path: str  # of the pool in the settings
    size: str
    sharing: SharingRequest
    min_nodes: int
    max_nodes: int
    spot: bool = False
    taints: tuple[str, ...] = (GPU_TAINT,)  # without those that AKS adds
    driver: str = "install"

    @property
    def gpu(self) -> Gpu | None:
        """The GPU as a node sees it; None if unknown, or without one."""
        size = SIZES.find(self.size)
        if size is None or size.gpu is None:
            return None
        seen = size.gpu_memory_each_gib  # less than the whole GPU's if machines share it
        return size.gpu._replace(memory_gib=int(seen)) if seen is not None else size.gpu

    @property
    def gpus(self) -> int | None:
        """Number of GPUs that a node sees: one if machines share it. None if unknown."""
        size = SIZES.find(self.size)
        return max(1, int(size.gpu_count)) if size is not None and size.gpu_count else None

    @property
    def all_taints(self) -> tuple[str, ...]:
        """The pool's taints, including those that AKS adds."""
        return (*self.taints, *((spot.TAINT,) if self.spot and spot.TAINT not in self.taints else ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolObjects:
    """Objects for a pool's nodes."""

    name: str
    config: SharingConfig
    resource: str  # that a pod requests
    tolerations: tuple[str, ...]  # taints
    announcement: str  # what one of its GPUs yields; empty if unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSpec:
    """A team's quota of one pool."""

    pool: str
    resource: str  # that its pods request
    gpus: int
    borrow: int | None  # None: all GPUs of the pool's other queues
    reclaim: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterObjectsSpec:
    """The resolved objects on a cluster. Secrets stay in the settings."""

    path: str
    settings: ClusterObjectsSettings
    namespace: str
    quota: dict[str, str]  # requests.<resource> → how many; empty: no quota
    plugin_image: pulumi.Input[str]
    device_plugin: bool
    feature_labels: bool
    metrics: bool
    counters: tuple[str, ...]
    exporter_image: pulumi.Input[str]
    pools: tuple[PoolObjects, ...]
    groups: bool  # JobSet is declared
    queue_controller: bool  # Kueue is declared
    queues: dict[str, QueueSpec]
    jobs: dict[str, JobSpec]
    services: dict[str, ServiceSpec]

    @property
    def configs(self) -> dict[str, SharingConfig]:
        """The pools' configurations, by key."""
        return {pool.config.key: pool.config for pool in sorted(self.pools, key=lambda pool: pool.config.key)}

    @property
    def resources(self) -> dict[str, str]:
        """The resource that a pod requests, by pool."""
        return {pool.name: pool.resource for pool in self.pools}

    def taints_of(self, key: str | None = None) -> list[str]:
        """The taints of the pools with this configuration, or of all."""
        return sorted({taint for pool in self.pools if key in (None, pool.config.key) for taint in pool.tolerations})


def node_labels(sharing: SharingRequest, size: str) -> dict[str, str]:
    """Labels that assign a configuration to the nodes of a pool."""
    found = SIZES.find(size)
    gpu = found.gpu if found is not None else None
    return {device_plugin.CONFIG_LABEL: sharing_config.of(sharing, gpu).key}


def announcements(spec: ClusterObjectsSpec) -> list[str]:
    """What one GPU of each pool yields, for a preview."""
    return [pool.announcement for pool in spec.pools if pool.announcement]
