"""What one shared GPU yields in Kubernetes, and warnings for a pool that can have zero nodes."""

from collections.abc import Iterator, Mapping
from datetime import date
from fractions import Fraction
from typing import NamedTuple

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.aks import device_plugin, mig
from azure_gpu.catalog.services.aks.mig import SINGLE
from azure_gpu.catalog.services.gpu_sharing import SharingRequest, Strategy, check
from azure_gpu.catalog.sizes.model import Gpu
from azure_gpu.catalog.sources import Dated, Source

AUTOSCALER = Source("Azure/AKS issue 5161", Dated.OBSERVED, date(2026, 11, 20))
# Reported for T4s with four replicas each: four pods started four nodes. A node that doesn't exist yet counts as one GPU.
TOO_MANY = Source("Azure/AKS issue 3427", Dated.OBSERVED, date(2026, 11, 25))


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
    by_mps = request.strategy == Strategy.MPS
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
    labels = {device_plugin.STRATEGY_LABEL: request.strategy if shared else Strategy.NONE.value}
    if shared:
        labels[device_plugin.replicas_label(resource.removesuffix(device_plugin.SHARED_SUFFIX))] = str(request.replicas)
    return labels


def from_zero(request: SharingRequest, path: str, most: int = 1) -> Iterator[Problem]:
    """The warnings about a pool that has no nodes at first, and `most` at most: the cluster autoscaler judges a node that doesn't
    exist yet by its size, so it makes none for names that only the device plugin knows, and too many for GPUs that are shared."""
    mixed = bool(request.profile) and request.mig_strategy != SINGLE
    if mixed or (request.rename and request.divided):
        what = "MIG instances by their profiles' names" if mixed else "a renamed resource"
        yield Problem(
            path=path,
            message=f"the cluster autoscaler knows only {device_plugin.GPU_RESOURCE}: pods that request {what} start no node",
            value=0,
            allowed="1 and more",
            fix="keep one node, take the single MIG strategy, or don't rename the resource",
            source=str(AUTOSCALER),
            code=Code.IMPOSSIBLE,
            severity=Severity.WARNING,
        )
    elif request.divided and most > 1:
        yield Problem(
            path=path,
            message=f"while the pool has no node, the cluster autoscaler counts a GPU once, not {request.replicas} times: "
            f"waiting pods start up to {most} nodes, though one node holds {request.replicas} of them",
            value=0,
            allowed="1 and more, or one node at most",
            fix="set max_nodes: 1 where one node is enough, or keep one by min_nodes: 1",
            source=str(TOO_MANY),
            code=Code.IMPOSSIBLE,
            severity=Severity.WARNING,
        )
