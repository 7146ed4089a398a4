"""Settings of GPU sharing, with the same keys for all components: `SharingArgs`.

`sharing_request` converts them for the rules and yields of `catalog.services.gpu_sharing`.
"""

from typing import NotRequired, TypedDict

from azure_gpu.catalog.services.aks.mig import SINGLE
from azure_gpu.catalog.services.gpu_sharing import SharingRequest, Strategy, StrategyName


class SharingArgs(TypedDict):
    """How programs share a GPU. All of it is plain."""

    strategy: NotRequired[StrategyName]
    """none gives every program a GPU of its own; time-slicing lets them take turns, with nothing kept apart; mps runs them at
    once and can limit threads and memory; mig cuts the GPU into instances that the hardware keeps apart. Default: none."""
    replicas: NotRequired[int]
    """How many programs share one GPU, or one MIG instance; with time-slicing and mps. Default: none."""
    profile: NotRequired[str]
    """Into which instances MIG cuts a GPU, such as MIG1g; with mig, and with time-slicing of the instances. Default: none."""
    mig_strategy: NotRequired[str]
    """What Kubernetes calls the instances: single, nvidia.com/gpu; mixed, by their profile. Default: single."""
    rename: NotRequired[bool]
    """True: the shared resource is called nvidia.com/gpu.shared, so that nobody takes it for a whole GPU. Default: false."""
    active_thread_percentage: NotRequired[float]
    """The share of a GPU's threads that each program gets, where it says nothing else; with mps. Default: no limit of its own."""
    pinned_memory_limit: NotRequired[str]
    """The memory of a GPU that each program gets, such as 4G, where it says nothing else; with mps. Default: no limit of its
    own."""


def sharing_request(settings: SharingArgs, path: str) -> SharingRequest:
    """The same for the catalog's rules. `path` is where the settings are written."""
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
