"""Placement of a pod: its node pool, tolerations and GPU resource. Pure.

A pod with GPUs runs on one AKS pool and tolerates its taints; the resource name is what the pool's nodes advertise. On an edge
without a device plugin, `NVIDIA_VISIBLE_DEVICES` selects one GPU, as on Azure Stack Edge; several pods may use the same.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.aks.device_plugin import CONFIG_LABEL, GPU_RESOURCE
from azure_gpu.catalog.sizes import SIZES
from azure_gpu_operations.clusters.arm_facts import PoolFacts
from azure_gpu_operations.clusters.objects import NodeSeen, Taint, taint_of
from azure_gpu_operations.run.on_cluster.request import ClusterRequest
from azure_gpu_operations.run.unknown import unknown

VISIBLE_DEVICES = "NVIDIA_VISIBLE_DEVICES"
MPS_PREFIX = "CUDA_MPS_"  # an MPS client needs the host's IPC namespace to share memory with the daemon
FIRST_GPU = "0"
NO_GPU_BY_NAME = "none"  # the value in Azure Stack Edge's documentation
NO_GPU = "void"  # the container runtime adds no GPU, even if the image requests some
# The most common taints of GPU pools; harmless without them.
_EDGE_TAINTS = (Taint("sku", "gpu", "NoSchedule"), Taint("nvidia.com/gpu", "", "NoSchedule"))


class Placement(NamedTuple):
    """Placement of the pod."""

    resource: str = ""  # requested GPU resource; "": none
    gpus: int = 0
    pool: str = ""
    taints: tuple[Taint, ...] = ()  # that it tolerates
    environment: Mapping[str, str] = {}  # in addition to the user's
    is_spot: bool = False
    with_host: bool = False  # uses the host's PID and IPC namespaces, for MPS on a device


def on_aks(
    request: ClusterRequest, pools: Sequence[PoolFacts], nodes: Iterable[NodeSeen], resources: Mapping[str, str] | None = None
) -> tuple[Placement | None, list[Problem]]:
    """`resources`: GPU resource names of the pools in the stack's outputs, for a pool without nodes."""
    if not request.gpus and not request.pool:
        return Placement(environment={VISIBLE_DEVICES: NO_GPU}), []
    pool, problems = _pool(request, pools)
    if pool is None:
        return None, problems
    here = [node for node in nodes if node.pool == pool.name]
    resource = resource_of(here, (resources or {}).get(pool.called, GPU_RESOURCE)) if request.gpus else ""
    most = _most(pool, resource, here)
    problems += _fits(request, pool, most)
    problems += _enough(request, pool, most)
    return (
        Placement(
            resource=resource,
            gpus=request.gpus,
            pool=pool.name,
            taints=tuple(found for text in pool.taints if (found := taint_of(text)) is not None),
            environment={} if request.gpus else {VISIBLE_DEVICES: NO_GPU},
            is_spot=pool.is_spot,
        ),
        problems,
    )


def on_edge(request: ClusterRequest, nodes: Iterable[NodeSeen]) -> tuple[Placement | None, list[Problem]]:
    given = request.target.environment
    with_host = any(name.startswith(MPS_PREFIX) for name in given)
    if VISIBLE_DEVICES in given:
        problems = _two_at_once(given[VISIBLE_DEVICES])
        return Placement(taints=_EDGE_TAINTS, with_host=with_host), problems
    if not request.gpus:
        return Placement(environment={VISIBLE_DEVICES: NO_GPU_BY_NAME}), []
    there = list(nodes)
    if any(amount for node in there for amount in node.gpus.values()) and not with_host:
        return Placement(resource_of(there), request.gpus, taints=_EDGE_TAINTS), []
    if request.gpus > 1:
        fix = f"remove it, and choose the GPU with --env {VISIBLE_DEVICES}=1"
        message = "the edge has no device plugin, so a job gets at most one GPU"
        return None, [Problem("--gpus", message, value=request.gpus, allowed="0 or 1", fix=fix, code=Code.IMPOSSIBLE)]
    return Placement(taints=_EDGE_TAINTS, environment={VISIBLE_DEVICES: FIRST_GPU}, with_host=with_host), []


def resource_of(nodes: Iterable[NodeSeen], expected: str = GPU_RESOURCE) -> str:
    """The GPU resource of the nodes; `expected` without nodes or device plugin."""
    names = {name for node in nodes for name, amount in node.gpus.items() if amount}
    return expected if expected in names or not names else min(names)


def _pool(request: ClusterRequest, pools: Sequence[PoolFacts]) -> tuple[PoolFacts | None, list[Problem]]:
    there = [pool for pool in pools if pool.provisioning != "Deleting"]
    if request.pool:
        found = next((pool for pool in there if pool.is_meant(request.pool)), None)
        if found is not None:
            return found, []
        known = sorted(pool.called for pool in there)
        return None, [unknown("--pool", "the cluster has no pool of this name", request.pool, known)]
    with_gpus = [pool for pool in there if pool.has_gpu and not pool.is_windows]
    if not with_gpus:
        fix = "add one to `gpu_pools` in the stack's file and run `pulumi up`, or set --gpus 0"
        return None, [Problem("--gpus", "the cluster has no pool with GPUs", value=request.gpus, fix=fix, code=Code.NOT_FOUND)]
    if len(with_gpus) > 1:
        names = sorted(pool.called for pool in with_gpus)
        fix = f"choose one: --pool {names[0]}"
        return None, [Problem("--pool", "the cluster has several pools with GPUs", allowed=", ".join(names), fix=fix)]
    return with_gpus[0], []


def _fits(request: ClusterRequest, pool: PoolFacts, most: int) -> list[Problem]:
    """`most`: GPUs per node, 0 if unknown. Workers share nodes if there aren't enough."""
    problems: list[Problem] = []
    each = max(1, most // request.gpus) if most and request.gpus else 0
    if pool.is_windows:
        message = "the pool's nodes run Windows, but runs use Linux containers"
        problems.append(Problem("--pool", message, value=pool.called, fix="choose another pool"))
    if request.gpus and not pool.has_gpu:
        fix = "choose a pool with GPUs, or set --gpus 0"
        problems.append(Problem("--pool", f"nodes of the size {pool.size} have no GPU", value=pool.called, fix=fix))
    if pool.power.lower() == "stopped":
        fix = "start it with az aks nodepool start"
        problems.append(Problem("--pool", "the pool is stopped", value=pool.called, fix=fix))
    elif each and request.nodes > pool.at_most * each > 0:
        key = "max_nodes" if pool.autoscaling else "nodes"
        fix = f"request fewer, or increase `{key}` in the stack's file and run `pulumi up`"
        message = f"the pool {pool.called} has room for fewer workers, so the group would wait forever"
        allowed = f"1 to {pool.at_most * each}"
        problems.append(Problem("--nodes", message, value=request.nodes, allowed=allowed, fix=fix, code=Code.IMPOSSIBLE))
    elif not pool.at_most and not pool.autoscaling:
        fix = "set `max_nodes` in the stack's file and run `pulumi up`"
        problems.append(Problem("--pool", "the pool has no nodes and no autoscaling", value=pool.called, fix=fix))
    return problems


def _most(pool: PoolFacts, resource: str, nodes: Sequence[NodeSeen]) -> int:
    """GPUs per node of the pool; 0 if unknown."""
    most = max((node.gpus.get(resource, 0) for node in nodes), default=0)
    size = SIZES.find(pool.size)
    if not most and size is not None and size.gpu is not None and not pool.mig_profile and not _shares(pool):
        most = max(1, math.floor(size.gpu_count or 1))
    return most


def _enough(request: ClusterRequest, pool: PoolFacts, most: int) -> list[Problem]:
    """Rejects more GPUs than a node has, for which the pod would wait forever."""
    if not most or request.gpus <= most:
        return []
    message = f"a node of the pool {pool.called} has fewer GPUs, and a pod gets all its GPUs from one node"
    return [
        Problem(
            "--gpus", message, value=request.gpus, allowed=f"0 to {most}", fix="request fewer, or choose a pool with larger nodes"
        )
    ]


def _shares(pool: PoolFacts) -> bool:
    """Whether the device plugin shares GPUs, according to the pool's labels."""
    return CONFIG_LABEL in pool.labels


def _two_at_once(devices: str) -> list[Problem]:
    if "," not in devices and devices.lower() != "all":
        return []
    message = "a job gets at most one GPU of the device"
    allowed = "0, 1 or none"
    return [Problem("--env", message, value=f"{VISIBLE_DEVICES}={devices}", allowed=allowed, fix="start one job per GPU")]
