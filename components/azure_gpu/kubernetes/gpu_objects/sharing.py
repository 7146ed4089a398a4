"""The configuration of NVIDIA's device plugin for one sharing method, and the key by which nodes select it.

The same sharing always has the same key, so that pools with the same sharing use one configuration, and changing one pool doesn't
affect the others.
"""

from dataclasses import dataclass
from typing import Any

from azure_gpu.catalog.services.aks import device_plugin, mig
from azure_gpu.catalog.services.gpu_sharing import SharingRequest, Strategy
from azure_gpu.catalog.sizes.model import Gpu

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


def of(sharing: SharingRequest, gpu: Gpu | None) -> SharingConfig:
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
        by_time = sharing.strategy == Strategy.TIME_SLICING
        if by_time:  # always so with MPS; two slices give no more of the GPU than one
            replicated["failRequestsGreaterThanOne"] = True
        document["sharing"] = {"timeSlicing" if by_time else "mps": replicated}
        if profile is not None and mig_strategy == mig.MIXED:
            words.append(profile.name)
        words += [str(sharing.strategy), str(sharing.replicas), *(["renamed"] if sharing.rename else [])]
    return SharingConfig(key="-".join(words) or WHOLE, document=document)
