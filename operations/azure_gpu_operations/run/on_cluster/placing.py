"""Where in a cluster a pod goes, and what it asks for to get GPUs there.

In: what is wanted, the cluster's pools as ARM answers them, its nodes as far as there are any. Out: a `Placement`, and problems.
Pure. A pod that asks for GPUs goes to one pool of AKS, whose taints it tolerates; the name of the resource is what that pool's
nodes advertise. On an edge without a device plugin GPUs are given by `NVIDIA_VISIBLE_DEVICES`, as Azure Stack Edge has it: one,
and several pods may have the same.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.aks.device_plugin import CONFIG_LABEL, GPU_RESOURCE
from azure_gpu.catalog.sizes import SIZES
from azure_gpu_operations.clusters.arm_facts import PoolFacts
from azure_gpu_operations.clusters.objects import NodeSeen, Taint, taint_of
from azure_gpu_operations.run.on_cluster.wanted import Wanted
from azure_gpu_operations.run.unknown import unknown

VISIBLE_DEVICES = "NVIDIA_VISIBLE_DEVICES"
MPS_PREFIX = "CUDA_MPS_"  # a client of MPS shares the daemon's memory, which lies with the node's other processes
FIRST_GPU = "0"
NO_GPU_BY_NAME = "none"  # what the device's own page writes for it
NO_GPU = "void"  # the container runtime hands out nothing, whatever the image says
# What pools of GPUs are tainted with most often; harmless where none is.
_EDGE_TAINTS = (Taint("sku", "gpu", "NoSchedule"), Taint("nvidia.com/gpu", "", "NoSchedule"))


class Placement(NamedTuple):
    """Where the pod goes."""

    resource: str = ""  # that it asks for; "": none
    gpus: int = 0
    pool: str = ""
    taints: tuple[Taint, ...] = ()  # that it tolerates
    environment: Mapping[str, str] = {}  # beside the user's own
    is_spot: bool = False
    with_host: bool = False  # it shares the node's processes and their memory, as MPS on a device needs it


def on_aks(
    wanted: Wanted, pools: Sequence[PoolFacts], nodes: Iterable[NodeSeen], resources: Mapping[str, str] | None = None
) -> tuple[Placement | None, list[Problem]]:
    """`resources`: what the stack says that GPUs of its pools are called, for a pool that has no node yet."""
    if not wanted.gpus and not wanted.pool:
        return Placement(environment={VISIBLE_DEVICES: NO_GPU}), []
    pool, problems = _pool(wanted, pools)
    if pool is None:
        return None, problems
    here = [node for node in nodes if node.pool == pool.name]
    resource = resource_of(here, (resources or {}).get(pool.called, GPU_RESOURCE)) if wanted.gpus else ""
    most = _most(pool, resource, here)
    problems += _fits(wanted, pool, most)
    problems += _enough(wanted, pool, most)
    return (
        Placement(
            resource=resource,
            gpus=wanted.gpus,
            pool=pool.name,
            taints=tuple(found for text in pool.taints if (found := taint_of(text)) is not None),
            environment={} if wanted.gpus else {VISIBLE_DEVICES: NO_GPU},
            is_spot=pool.is_spot,
        ),
        problems,
    )


def on_edge(wanted: Wanted, nodes: Iterable[NodeSeen]) -> tuple[Placement | None, list[Problem]]:
    given = wanted.target.environment
    with_host = any(name.startswith(MPS_PREFIX) for name in given)
    if VISIBLE_DEVICES in given:
        problems = _two_at_once(given[VISIBLE_DEVICES])
        return Placement(taints=_EDGE_TAINTS, with_host=with_host), problems
    if not wanted.gpus:
        return Placement(environment={VISIBLE_DEVICES: NO_GPU_BY_NAME}), []
    there = list(nodes)
    if any(amount for node in there for amount in node.gpus.values()) and not with_host:
        return Placement(resource_of(there), wanted.gpus, taints=_EDGE_TAINTS), []
    if wanted.gpus > 1:
        fix = f"leave it out, and name the GPU: --env {VISIBLE_DEVICES}=1"
        message = "this edge has no device plugin, and without one a job has one GPU at most"
        return None, [Problem("--gpus", message, value=wanted.gpus, allowed="0 or 1", fix=fix, code=Code.IMPOSSIBLE)]
    return Placement(taints=_EDGE_TAINTS, environment={VISIBLE_DEVICES: FIRST_GPU}, with_host=with_host), []


def resource_of(nodes: Iterable[NodeSeen], expected: str = GPU_RESOURCE) -> str:
    """What the nodes call their GPUs. Where there is no node, or no device plugin on it yet, what is expected."""
    names = {name for node in nodes for name, amount in node.gpus.items() if amount}
    return expected if expected in names or not names else min(names)


def _pool(wanted: Wanted, pools: Sequence[PoolFacts]) -> tuple[PoolFacts | None, list[Problem]]:
    there = [pool for pool in pools if pool.provisioning != "Deleting"]
    if wanted.pool:
        found = next((pool for pool in there if pool.is_meant(wanted.pool)), None)
        if found is not None:
            return found, []
        known = sorted(pool.called for pool in there)
        return None, [unknown("--pool", "the cluster has no such pool", wanted.pool, known)]
    with_gpus = [pool for pool in there if pool.has_gpu and not pool.is_windows]
    if not with_gpus:
        fix = "give it one, `gpu_pools` in the stack's file, then `pulumi up`; or write --gpus 0"
        return None, [Problem("--gpus", "the cluster has no pool with GPUs", value=wanted.gpus, fix=fix, code=Code.NOT_FOUND)]
    if len(with_gpus) > 1:
        names = sorted(pool.called for pool in with_gpus)
        fix = f"choose one: --pool {names[0]}"
        return None, [Problem("--pool", "the cluster has several pools with GPUs", allowed=", ".join(names), fix=fix)]
    return with_gpus[0], []


def _fits(wanted: Wanted, pool: PoolFacts, most: int) -> list[Problem]:
    """`most`: GPUs of a node, 0 where it isn't known. Workers are on nodes of their own only where they can be."""
    problems: list[Problem] = []
    each = max(1, most // wanted.gpus) if most and wanted.gpus else 0
    if pool.is_windows:
        message = "the pool's nodes run Windows, and what is run here are Linux containers"
        problems.append(Problem("--pool", message, value=pool.called, fix="name another pool"))
    if wanted.gpus and not pool.has_gpu:
        fix = "name a pool with GPUs, or write --gpus 0"
        problems.append(Problem("--pool", f"nodes of the size {pool.size} have no GPU", value=pool.called, fix=fix))
    if pool.power.lower() == "stopped":
        fix = "start it: az aks nodepool start"
        problems.append(Problem("--pool", "the pool is stopped", value=pool.called, fix=fix))
    elif each and wanted.nodes > pool.at_most * each > 0:
        key = "max_nodes" if pool.autoscaling else "its nodes"
        fix = f"ask for fewer, or give it more (`{key}` in the stack's file), then `pulumi up`"
        message = f"the pool {pool.called} has room for fewer workers at most, so that the group would wait for ever"
        allowed = f"1 to {pool.at_most * each}"
        problems.append(Problem("--nodes", message, value=wanted.nodes, allowed=allowed, fix=fix, code=Code.IMPOSSIBLE))
    elif not pool.at_most and not pool.autoscaling:
        fix = "give it `max_nodes` in the stack's file, then `pulumi up`"
        problems.append(Problem("--pool", "the pool has no node, and nothing that adds one", value=pool.called, fix=fix))
    return problems


def _most(pool: PoolFacts, resource: str, nodes: Sequence[NodeSeen]) -> int:
    """GPUs of one node of the pool; 0 where that isn't known."""
    most = max((node.gpus.get(resource, 0) for node in nodes), default=0)
    size = SIZES.find(pool.size)
    if not most and size is not None and size.gpu is not None and not pool.mig_profile and not _shares(pool):
        most = max(1, math.floor(size.gpu_count or 1))
    return most


def _enough(wanted: Wanted, pool: PoolFacts, most: int) -> list[Problem]:
    """More GPUs than any node has are waited for without an end."""
    if not most or wanted.gpus <= most:
        return []
    message = f"a node of the pool {pool.called} has fewer GPUs, and a pod gets all of its GPUs from one node"
    return [Problem("--gpus", message, value=wanted.gpus, allowed=f"0 to {most}", fix="ask for fewer, or name a larger pool")]


def _shares(pool: PoolFacts) -> bool:
    """Whether the device plugin is told to make more of a GPU than one, as far as the pool's labels say."""
    return CONFIG_LABEL in pool.labels


def _two_at_once(said: str) -> list[Problem]:
    if "," not in said and said.lower() != "all":
        return []
    message = "a job has one GPU of the device, or none: one program isn't given two"
    allowed = "0, 1 or none"
    return [Problem("--env", message, value=f"{VISIBLE_DEVICES}={said}", allowed=allowed, fix="start a job for each")]
