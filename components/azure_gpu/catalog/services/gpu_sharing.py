"""How several programs share a GPU, with the same settings for AKS clusters and Azure Stack Edge devices, and what one shared GPU
yields in Kubernetes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.aks import device_plugin, mig
from azure_gpu.catalog.services.aks.mig import MIXED, SINGLE
from azure_gpu.catalog.sizes.model import Gpu
from azure_gpu.catalog.sources import observed

SHARING_2021 = observed("Microsoft Learn, articles/databox-online/azure-stack-edge-gpu-sharing.md", 2021, 3, 5)

ALL_OF_A_GPU = 100  # per cent


Strategy = Literal[
    "none",  # one program a GPU
    "time-slicing",  # in turns; every program sees all memory, and nothing keeps them apart
    "mps",  # at once, through NVIDIA's Multi-Process Service; threads and memory can be limited
    "mig",  # in instances that the hardware keeps apart
]


class SharingRequest(NamedTuple):
    """The sharing settings of the GPUs of one node."""

    path: str  # where the sharing is written
    paths: Mapping[str, str] = MappingProxyType({})  # by field, where it isn't `path` and the field's name
    strategy: str = "none"
    replicas: int | None = None  # of each GPU, or of each MIG instance
    profile: str = ""  # AKS's name of a MIG profile; with time-slicing, the instances are shared
    mig_strategy: str = SINGLE  # what the instances are called: single or mixed
    rename: bool = False  # the shared resource gets the suffix .shared
    active_thread_percentage: float | None = None  # of each program
    pinned_memory_limit: str = ""  # of each program, such as 4G or 512M

    @property
    def divided(self) -> bool:
        """Whether Kubernetes counts a GPU or MIG instance more than once."""
        return self.replicas is not None and self.strategy in ("time-slicing", "mps")

    def at(self, name: str) -> str:
        """Where the field of this name is written."""
        return self.paths.get(name, f"{self.path}.{name}")


def check(request: SharingRequest, gpu: Gpu | None) -> list[Problem]:
    """All problems of the settings, with this GPU or any. `gpu`: None if unknown."""
    if request.strategy not in tuple(get_args(Strategy)):
        return [
            refused("sharing.unknown_strategy", request.at("strategy"), request.strategy, allowed=", ".join(get_args(Strategy)))
        ]
    return [*_wrong_fields(request), *_replicas(request), *_profile(request, gpu), *_limits(request, gpu), *_vendor(request, gpu)]


_FIELDS = {  # beside the strategy, by strategy
    "none": (),
    "time-slicing": ("replicas", "profile"),
    "mps": ("replicas", "active_thread_percentage", "pinned_memory_limit"),
    "mig": ("profile",),
}
_WHY = {
    "replicas": "only time-slicing and MPS have replicas; the number of MIG instances depends on the profile",
    "profile": "only MIG instances have a profile, and they don't support MPS",
    "active_thread_percentage": "only MPS can limit a program's share of a GPU",
    "pinned_memory_limit": "only MPS can limit the memory of a program",
}


def _wrong_fields(request: SharingRequest) -> Iterator[Problem]:
    for field, why in _WHY.items():
        value = getattr(request, field)
        if value not in (None, "") and field not in _FIELDS[request.strategy]:
            allowed = [strategy for strategy, fields in _FIELDS.items() if field in fields]
            words = {"why": why, "either": " or ".join(allowed), "first": allowed[0]}
            yield refused("sharing.not_of_strategy", request.at(field), value, **words)


def _replicas(request: SharingRequest) -> Iterator[Problem]:
    if request.strategy not in ("time-slicing", "mps"):
        return
    missing = request.replicas is None and request.strategy == "time-slicing"
    if missing or (request.replicas is not None and request.replicas < 2):
        yield refused("sharing.one_replica", request.at("replicas"), request.replicas)


def _profile(request: SharingRequest, gpu: Gpu | None) -> Iterator[Problem]:
    if request.strategy == "mig" and not request.profile:
        yield refused("sharing.no_profile", request.at("profile"), allowed=", ".join(gpu.mig if gpu else mig.PROFILES))
    if request.mig_strategy not in (SINGLE, MIXED):
        yield refused(
            "sharing.unknown_mig_strategy", request.at("mig_strategy"), request.mig_strategy, single=SINGLE, mixed=MIXED
        )
    if not request.profile or gpu is None:
        return
    if not gpu.mig:
        yield refused("sharing.no_mig", request.at("profile"), request.profile, gpu=gpu)
    elif request.profile not in gpu.mig:
        yield refused("sharing.unknown_profile", request.at("profile"), request.profile, allowed=", ".join(gpu.mig), gpu=gpu)


_MEMORY = r"([1-9][0-9]{0,8})(G|M)"


def _limits(request: SharingRequest, gpu: Gpu | None) -> Iterator[Problem]:
    percentage = request.active_thread_percentage
    if percentage is not None and not 0 < percentage <= ALL_OF_A_GPU:
        yield refused("sharing.bad_percentage", request.at("active_thread_percentage"), percentage)
    if not request.pinned_memory_limit:
        return
    match = re.fullmatch(_MEMORY, request.pinned_memory_limit)
    gib = Fraction(int(match[1]), 1 if match[2] == "G" else 1024) if match else None
    if gib is None or (gpu is not None and gib > gpu.memory_gib):
        most = f", at most {gpu.memory_gib}G on a {gpu.name}" if gpu is not None else ""
        yield refused("sharing.bad_memory", request.at("pinned_memory_limit"), request.pinned_memory_limit, most=most)


def _vendor(request: SharingRequest, gpu: Gpu | None) -> Iterator[Problem]:
    if gpu is not None and gpu.vendor != "NVIDIA" and request.strategy != "none":
        yield refused("sharing.not_nvidia", request.at("strategy"), request.strategy, gpu=gpu)


def with_device_plugin(request: SharingRequest) -> Iterator[Problem]:
    """What NVIDIA's device plugin adds to `check`: there, MPS divides a GPU equally among its replicas."""
    if request.strategy != "mps":
        return
    if request.replicas is None:
        yield refused("sharing.mps_without_replicas", request.at("replicas"))
    yield refused(
        "sharing.mps_experimental",
        request.at("strategy"),
        request.strategy,
        mps_experimental_since=device_plugin.MPS_EXPERIMENTAL_SINCE,
    )


class Share(NamedTuple):
    """One program's share of one GPU by MPS."""

    gpu: str  # which: an index or a node's name with it
    percentage: float
    path: str


def totals(shares: Iterable[Share]) -> Iterator[Problem]:
    """A warning for each GPU whose shares exceed 100 %: MPS allows it; the programs then wait for each other."""
    by_gpu: dict[str, list[Share]] = {}
    for share in shares:
        if 0 < share.percentage <= ALL_OF_A_GPU:  # others are refused one by one
            by_gpu.setdefault(share.gpu, []).append(share)
    for gpu, given in by_gpu.items():
        total = sum(Fraction(str(share.percentage)) for share in given)
        if total > ALL_OF_A_GPU:
            yield refused("sharing.over_a_gpu", given[-1].path, given[-1].percentage, gpu=gpu, total=float(total))


AUTOSCALER = observed("Azure/AKS issue 5161", 2026, 11, 20)


class Yield(NamedTuple):
    """What one GPU becomes in Kubernetes."""

    resource: str  # that a pod requests
    each: int  # of that resource, from one GPU
    memory_gib: Fraction | None  # that one program can have; None: not known
    memory_kept_apart: bool  # False: every program sees it all, and can take it from the others
    labels: Mapping[str, str]  # that the device plugin writes onto the node
    product_suffix: str  # what the plugin puts behind the GPU's product label

    def __str__(self) -> str:
        memory = "" if self.memory_gib is None else f", {float(self.memory_gib):g} GiB each"
        together = "" if self.memory_kept_apart else ", memory not isolated"
        return f"one GPU yields {self.each} x {self.resource}{memory}{together}"


def yields(request: SharingRequest, gpu: Gpu) -> Yield | None:
    """What one `gpu` yields; None if `check` has problems of the request."""
    if check(request, gpu):
        return None
    profile = gpu.mig.get(request.profile)
    resource = mig.resource(profile, request.mig_strategy) if profile else device_plugin.GPU_RESOURCE
    memory = Fraction(profile.memory_gib if profile else gpu.memory_gib)
    instances = profile.instances if profile else 1
    replicas = request.replicas or 1
    by_mps = request.strategy == "mps"
    shared = request.divided
    if shared and request.rename:
        resource += device_plugin.SHARED_SUFFIX
    return Yield(
        resource=resource,
        each=instances * replicas,
        memory_gib=memory / replicas if by_mps else memory,
        memory_kept_apart=by_mps or not shared,
        labels=_labels(request, resource),
        product_suffix=device_plugin.SHARED_PRODUCT_SUFFIX if shared and not request.rename else "",
    )


def _labels(request: SharingRequest, resource: str) -> dict[str, str]:
    shared = request.divided
    labels = {device_plugin.STRATEGY_LABEL: request.strategy if shared else "none"}
    if shared:
        labels[device_plugin.replicas_label(resource.removesuffix(device_plugin.SHARED_SUFFIX))] = str(request.replicas)
    return labels


def from_zero(request: SharingRequest, path: str, most: int = 1) -> Iterator[Problem]:
    """The warnings about a pool that has no nodes at first, and `most` at most: the cluster autoscaler judges a node that doesn't
    exist yet by its size, so it makes none for names that only the device plugin knows, and too many for shared GPUs: four pods
    started four nodes with a T4 of four replicas."""
    mixed = bool(request.profile) and request.mig_strategy != SINGLE
    if mixed or (request.rename and request.divided):
        what = "MIG instances by their profiles' names" if mixed else "a renamed resource"
        yield refused("sharing.unknown_to_autoscaler", path, 0, gpu_resource=device_plugin.GPU_RESOURCE, what=what)
    elif request.divided and most > 1:
        yield refused("sharing.too_many_nodes", path, 0, request=request, most=most)
