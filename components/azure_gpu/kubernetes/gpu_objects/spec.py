"""Resolved objects on a cluster with GPU pools, `ClusterObjectsSpec`, and the device plugin's configuration for a way of sharing.

The same sharing always has the same key, so that pools with the same sharing use one configuration, and changing one pool doesn't
affect the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from azure_gpu.catalog.services import gpu_sharing
from azure_gpu.catalog.services.aks import dcgm, device_plugin, mig
from azure_gpu.catalog.services.gpu_sharing import SharingRequest, Yield
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Gpu
from azure_gpu.kubernetes.gpu_objects.args import ClusterObjectsSettings
from azure_gpu.kubernetes.jobs import JobSpec
from azure_gpu.kubernetes.services import ServiceSpec

WHOLE = "whole"  # the key of GPUs without sharing


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingConfig:
    """One configuration of the device plugin."""

    key: str  # in the ConfigMap, and on the nodes: whole, time-slicing-4, mps-4, mig-single
    document: dict[str, Any]  # as the plugin reads it

    @property
    def name(self) -> str:
        """The key as part of an object's name."""
        return self.key.replace(".", "-")

    @property
    def by_mps(self) -> bool:
        return "mps" in self.document.get("sharing", {})

    @property
    def by_mig(self) -> bool:
        return self.document["flags"]["migStrategy"] != "none"


def config_of(sharing: SharingRequest, gpu: Gpu | None) -> SharingConfig:
    """The plugin's configuration for a pool's sharing."""
    mig_strategy = sharing.mig_strategy if sharing.profile else "none"
    profile = gpu.mig.get(sharing.profile) if gpu is not None else None
    document: dict[str, Any] = {"version": device_plugin.VERSION, "flags": {"migStrategy": mig_strategy}}
    words = [f"mig-{mig_strategy}"] if sharing.profile else []
    if sharing.divided:
        resource = mig.resource(profile, mig_strategy) if profile is not None else device_plugin.GPU_RESOURCE
        replicated: dict[str, Any] = {
            "renameByDefault": sharing.rename,
            "resources": [{"name": resource, "replicas": sharing.replicas}],
        }
        by_time = sharing.strategy == "time-slicing"
        if by_time:  # always so with MPS; two slices give no more of the GPU than one
            replicated["failRequestsGreaterThanOne"] = True
        document["sharing"] = {"timeSlicing" if by_time else "mps": replicated}
        if profile is not None and mig_strategy == mig.MIXED:
            words.append(profile.name)
        words += [str(sharing.strategy), str(sharing.replicas), *(["renamed"] if sharing.rename else [])]
    return SharingConfig(key="-".join(words) or WHOLE, document=document)


GPU_TAINT = "sku=gpu:NoSchedule"  # as in AKS's documentation


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolNodes:
    """What pods know of the nodes of a GPU pool."""

    size: str  # as the catalog spells it
    sharing: SharingRequest
    taints: tuple[str, ...] = (GPU_TAINT,)  # all of them

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
    def config(self) -> SharingConfig:
        return config_of(self.sharing, self.gpu)

    @property
    def yields(self) -> Yield | None:
        """What one of the GPUs yields; None if unknown, or if it can't be shared like that."""
        return gpu_sharing.yields(self.sharing, self.gpu) if self.gpu is not None else None

    @property
    def resource(self) -> str:
        """What a pod requests."""
        found = self.yields
        return found.resource if found is not None else device_plugin.GPU_RESOURCE

    @property
    def amount(self) -> int | None:
        """How many of the resource a node has; None if unknown."""
        found = self.yields
        return self.gpus * found.each if self.gpus is not None and found is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuPool:
    """A GPU pool of the cluster."""

    name: str  # in the stack file
    path: str
    nodes: PoolNodes
    min_nodes: int
    max_nodes: int


def pool_of(name: str | None, pools: Sequence[GpuPool]) -> GpuPool | None:
    """The pool of this name; None as the name: the only one there is."""
    if name is None:
        return pools[0] if len(pools) == 1 else None
    return next((pool for pool in pools if pool.name == name), None)


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
    mirror: str  # a registry that has the default images; empty: their own
    namespace: str
    quota: dict[str, str]  # requests.<resource> → how many; empty: no quota
    plugin_image: pulumi.Input[str]
    device_plugin: bool
    feature_labels: bool
    metrics: bool
    counters: tuple[str, ...]
    exporter_image: pulumi.Input[str]
    pools: dict[str, PoolNodes]
    groups: bool  # JobSet is declared
    queue_controller: bool  # Kueue is declared
    queues: dict[str, QueueSpec]
    jobs: dict[str, JobSpec]
    services: dict[str, ServiceSpec]

    @property
    def configs(self) -> dict[str, SharingConfig]:
        """The pools' configurations, by key."""
        found = {pool.config.key: pool.config for pool in self.pools.values()}
        return dict(sorted(found.items()))

    @property
    def profiled(self) -> bool:
        """Whether a counter needs the capability SYS_ADMIN."""
        return any(counter.startswith(dcgm.PROFILING) for counter in self.counters)

    def taints_of(self, key: str | None = None) -> list[str]:
        """The taints of the pools with this configuration, or of all."""
        return sorted({taint for pool in self.pools.values() if key in (None, pool.config.key) for taint in pool.taints})


def announcements(spec: ClusterObjectsSpec) -> list[str]:
    """What one GPU of each pool yields, for a preview."""
    return [f"pool {name}: {pool.yields}" for name, pool in spec.pools.items() if pool.yields is not None]
