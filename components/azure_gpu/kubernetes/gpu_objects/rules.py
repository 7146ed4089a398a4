"""Validates the objects on a cluster with GPU pools: sharing, jobs, services, quota and metrics."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

import pulumi

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services import gpu_sharing
from azure_gpu.catalog.services.aks import dcgm, device_plugin
from azure_gpu.catalog.services.aks.clusters import SYSTEM_NAMESPACES
from azure_gpu.formats import image_reference
from azure_gpu.kubernetes import jobs as kubernetes_jobs
from azure_gpu.kubernetes.args import ClusterServiceSettings
from azure_gpu.kubernetes.gpu_objects.args import (
    DEFAULT_GPUS,
    DEFAULT_PARALLELISM,
    ClusterJobSettings,
    ClusterObjectsSettings,
    DevicePluginArgs,
    MetricsArgs,
)
from azure_gpu.kubernetes.gpu_objects.spec import GpuPool, PoolNodes
from azure_gpu.kubernetes.jobs import JobSpec, too_small
from azure_gpu.shared.validation import written


def pool_of(job: ClusterJobSettings, pools: Sequence[GpuPool]) -> "GpuPool | None":
    """The pool of the job: its `pool`, else the only one."""
    if "pool" in job:
        return next((pool for pool in pools if pool.name == job["pool"]), None)
    return pools[0] if len(pools) == 1 else None


def pool_problems(pool: GpuPool, *, by_plugin: bool) -> Iterator[Problem]:
    """Problems of the pool's sharing, and of NVIDIA's plugin on its GPUs."""
    gpu, sharing = pool.nodes.gpu, pool.nodes.sharing
    yield from gpu_sharing.check(sharing, gpu)
    if not by_plugin:
        if sharing.strategy in ("time-slicing", "mps"):
            yield Problem(
                path=sharing.at("strategy"),
                message="time-slicing and mps require the device plugin, but `device_plugin` is false",
                value=str(sharing.strategy),
                allowed="none, mig",
                fix="set `device_plugin: true`, or set the strategy to none and configure the plugin that is installed",
                source=str(device_plugin.SOURCE),
                code=Code.IMPOSSIBLE,
            )
        return
    yield from gpu_sharing.with_device_plugin(sharing)
    if pool.min_nodes == 0 and (sharing.divided or sharing.profile):
        yield from gpu_sharing.from_zero(sharing, f"{pool.path}.min_nodes", pool.max_nodes)
    if gpu is not None and gpu.vendor != "NVIDIA":
        yield Problem(
            path=f"{pool.path}.size",
            message=f"NVIDIA's device plugin doesn't support {gpu.vendor}'s {gpu.name}",
            value=pool.nodes.size,
            allowed="sizes with NVIDIA GPUs",
            fix="set `device_plugin: false` and install the vendor's plugin, or choose a size with an NVIDIA GPU",
            source=str(device_plugin.SOURCE),
            code=Code.IMPOSSIBLE,
        )


def job_problems(job: ClusterJobSettings, pool: "GpuPool | None", pools: Sequence[GpuPool], path: str) -> Iterator[Problem]:
    """Problems of the job's placement on the cluster."""
    gpus, parallelism = job.get("gpus", DEFAULT_GPUS), job.get("parallelism", DEFAULT_PARALLELISM)
    for key, value in (("gpus", gpus), ("parallelism", parallelism)):
        if value < 1:
            yield too_small(f"{path}.{key}", value, 1)
    for key, above in (("cpu", job.get("cpu", 1)), ("memory_in_gib", job.get("memory_in_gib", 1))):
        if above <= 0:
            fix = "set what a pod needs, or remove it"
            yield Problem(path=f"{path}.{key}", message="must be greater than 0", value=above, fix=fix)
    if pool is None:
        yield from _no_pool(job, pools, path)
        return
    yield from kubernetes_jobs.mps_problems(job, pool.nodes.sharing, pool.nodes.gpu, path)
    most = pool.nodes.amount
    each = max(1, most // max(1, gpus)) if most is not None else None  # the affinity to different nodes is only a preference
    if each is not None and (nodes := job.get("nodes", 1)) > pool.max_nodes * each:
        yield Problem(
            path=f"{path}.nodes",
            message=f"pool {pool.name} can't hold that many workers, so the group would never start",
            value=nodes,
            allowed=f"1 to {pool.max_nodes * each}",
            fix=f"write {pool.path}.max_nodes: {math.ceil(nodes / each)}, or request fewer",
            code=Code.IMPOSSIBLE,
        )
    shared = pool.nodes.sharing.divided
    if shared and gpus > 1:
        yield Problem(
            path=f"{path}.gpus",
            message=f"the GPUs of pool {pool.name} are shared, and a pod can use only one share",
            value=gpus,
            allowed="1",
            fix="write 1, or use a pool whose GPUs aren't shared",
            source=str(device_plugin.CHART),
            code=Code.IMPOSSIBLE,
        )
        return
    if most is not None and gpus > most:
        yield Problem(
            path=f"{path}.gpus",
            message=f"a node of pool {pool.name} has fewer of {pool.nodes.resource}, and a pod runs on one node",
            value=gpus,
            allowed=f"1 to {most}",
            fix="request fewer, or use a pool of a larger size",
            code=Code.IMPOSSIBLE,
        )


def pod_of(service: ClusterServiceSettings) -> ClusterJobSettings:
    """The requests of a service's pods, as job settings."""
    requested = ("gpus", "pool", "cpu", "memory_in_gib")
    return cast(ClusterJobSettings, {key: value for key, value in service.items() if key in requested})


def service_problems(
    service: ClusterServiceSettings, pool: "GpuPool | None", pools: Sequence[GpuPool], path: str
) -> Iterator[Problem]:
    """Problems of the service's placement on the cluster."""
    if service.get("gpus", DEFAULT_GPUS) == 0:
        without = {key: value for key, value in service.items() if key in ("cpu", "memory_in_gib")}
        found = job_problems(cast(ClusterJobSettings, without), None, (), path)
        yield from (problem for problem in found if not problem.path.endswith(".pool"))
        if "pool" in service:
            message = "`pool` can't be combined with `gpus: 0`"
            yield Problem(path=f"{path}.pool", message=message, value=service["pool"], fix="remove it, or write gpus: 1")
        return
    yield from job_problems(pod_of(service), pool, pools, path)


def name_taken(path: str, by: str) -> Problem:
    """Two objects of one name in a namespace would share their labels."""
    return Problem(path=path, message=f"{by} of the cluster already has this name", fix="rename one of the two")


def _no_pool(job: ClusterJobSettings, pools: Sequence[GpuPool], path: str) -> Iterator[Problem]:
    names = ", ".join(pool.name for pool in pools)
    if "pool" in job:
        if pools:  # otherwise the pools aren't the stack's, and unknown here
            yield Problem(
                path=f"{path}.pool",
                message="the cluster has no GPU pool of this name",
                value=job["pool"],
                allowed=names,
                fix="write one of those allowed",
                code=Code.NOT_FOUND,
            )
        return
    yield Problem(
        path=f"{path}.pool",
        message="`pool` is not set, and there are several GPU pools" if pools else "`pool` is not set",
        allowed=names or "a GPU pool of the existing cluster",
        fix=f"set `pool: {pools[0].name}`" if pools else "set `pool: <name>`",
    )


def settings_problems(
    settings: ClusterObjectsSettings, pools: Iterable[PoolNodes], namespace: str, counters: Sequence[str], path: str
) -> list[Problem]:
    """Problems of namespace, images and metrics."""
    found = kubernetes_jobs.name_problems(namespace, f"{path}.namespace.name")
    if namespace in SYSTEM_NAMESPACES:
        found.append(
            Problem(
                path=f"{path}.namespace.name",
                message="reserved for the cluster's own components",
                value=namespace,
                allowed=f"any but {', '.join(SYSTEM_NAMESPACES)}",
                fix="choose another name",
            )
        )
    if "mirror" in settings:
        found += image_reference.check(f"{settings['mirror']}/image", f"{path}.mirror")
    most = settings.get("namespace", {}).get("max_gpus")
    if most is not None and most < 1:
        found.append(too_small(f"{path}.namespace.max_gpus", most, 1))
    images: Mapping[str, pulumi.Input[str] | None] = {
        "device_plugin": written(settings.get("device_plugin", DevicePluginArgs())).get("image"),
        "metrics": written(settings.get("metrics", MetricsArgs())).get("image"),
    }
    for key, image in images.items():
        if isinstance(image, str):  # an output can't be validated
            found += image_reference.check(image, f"{path}.{key}.image")
    if "counters" in written(settings.get("metrics", MetricsArgs())):
        found += _counter_problems(counters, pools, f"{path}.metrics.counters")
    return found


def _counter_problems(counters: Sequence[str], pools: Iterable[PoolNodes], path: str) -> list[Problem]:
    if not counters:
        return [Problem(path=path, message="must name at least one counter", fix="name one, or set `metrics: false`")]
    found: list[Problem] = []
    for gpu in [None, *(pool.gpu for pool in pools)]:
        found += [problem for problem in dcgm.check(counters, gpu, path) if problem not in found]
    return found


def quota_problems(settings: ClusterObjectsSettings, jobs: Mapping[str, JobSpec], path: str) -> Iterator[Problem]:
    """A warning if the jobs together request more than their namespace's quota: Kubernetes then doesn't create some of the
    pods."""
    most = settings.get("namespace", {}).get("max_gpus")
    if most is None:
        return
    requested: dict[str, int] = {}
    for job in jobs.values():
        for resource, number in job.placement.limits.items():
            if resource != "memory":
                requested[resource] = requested.get(resource, 0) + int(number) * job.placement.parallelism * job.nodes
    for resource, together in sorted(requested.items()):
        if together > most:
            yield Problem(
                path=f"{path}.namespace.max_gpus",
                message=f"the jobs request {together} of {resource} in total, so some wait until others have ended",
                value=most,
                allowed=f"{together} or more, to run all of them at once",
                fix=f"raise it to {together}, or keep it if waiting is intended",
                code=Code.IMPOSSIBLE,
                severity=Severity.WARNING,
            )
