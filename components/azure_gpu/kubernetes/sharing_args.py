"""Settings of GPU sharing, with the same keys for all components: `SharingArgs`.

`sharing_request` converts them for the rules and yields of `catalog.services.gpu_sharing`.
"""

from typing import NotRequired, TypedDict

from azure_gpu.catalog.services.aks.mig import SINGLE
from azure_gpu.catalog.services.gpu_sharing import SharingRequest, Strategy, StrategyName


class SharingArgs(TypedDict):
    """How programs share a GPU. All of it is plain."""

    strategy: NotRequired[StrategyName]
    """none gives every program a whole GPU; time-slicing lets them take turns, without isolation; mps runs them at once and can
    limit threads and memory; mig divides the GPU into instances that the hardware isolates. Default: none."""
    replicas: NotRequired[int]
    """Number of programs that share one GPU, or one MIG instance; with time-slicing and mps. Default: none."""
    profile: NotRequired[str]
    """MIG profile into which a GPU is divided, such as MIG1g; with mig, and with time-slicing of the instances. Default: none."""
    mig_strategy: NotRequired[str]
    """Resource name of the instances in Kubernetes: single, nvidia.com/gpu; mixed, by their profile. Default: single."""
    rename: NotRequired[bool]
    """True: the shared resource is named nvidia.com/gpu.shared, to distinguish it from a whole GPU. Default: false."""
    active_thread_percentage: NotRequired[float]
    """Percentage of a GPU's threads that each program gets, unless it sets another; with mps. Default: no limit."""
    pinned_memory_limit: NotRequired[str]
    """GPU memory that each program gets, such as 4G, unless it sets another; with mps. Default: no limit."""


def sharing_request(settings: SharingArgs, path: str) -> SharingRequest:
    """Converts the settings for the catalog's rules. `path` is the settings' path."""
    return SharingRequest(
        path=path,
        strategy=str(settings.get("strategy", Strategy.NONE)),
        replicas=int(settings["replicas"]) if "replicas" in settings else None,
        profile=settings.get("profile", ""),
        mig_strategy=settings.get("mig_strategy", SINGLE),
        rename=settings.get("rename", False),
        active_thread_percentage=settings.get("active_thread_percentage"),
        pinned_memory_limit=settings.get("pinned_memory_limit", ""),
    )
