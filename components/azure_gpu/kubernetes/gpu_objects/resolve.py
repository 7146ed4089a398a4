"""Resolves the objects on a cluster with GPU pools: fills in all defaults and finds all problems. Pure."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import cast

import pulumi

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services import gpu_sharing
from azure_gpu.catalog.services.aks import dcgm, device_plugin
from azure_gpu.catalog.services.aks.clusters import SYSTEM_NAMESPACES
from azure_gpu.catalog.services.aks.pools import LABEL as AKS_POOL_LABEL
from azure_gpu.catalog.services.groups import mirrored
from azure_gpu.formats import image_reference
from azure_gpu.formats.tags import NODE_POOL
from azure_gpu.kubernetes import jobs as kubernetes_jobs, services as kubernetes_services
from azure_gpu.kubernetes.gpu_objects import queues
from azure_gpu.kubernetes.gpu_objects.args import (
    DEFAULT_GPUS,
    DEFAULT_NAMESPACE,
    DEFAULT_PARALLELISM,
    ClusterJobSettings,
    ClusterObjectsSettings,
    DevicePluginArgs,
    MetricsArgs,
)
from azure_gpu.kubernetes.gpu_objects.spec import GPU_TAINT, ClusterObjectsSpec, GpuPool, PoolNodes, pool_of
from azure_gpu.kubernetes.jobs import JobSpec, Placement, too_small
from azure_gpu.kubernetes.objects import toleration
from azure_gpu.kubernetes.services import ServiceSpec
from azure_gpu.shared.validation import written
from azure_gpu.shared.workloads import Workload


def resolve_objects(
    settings: ClusterObjectsSettings, pools: Sequence[GpuPool], path: str
) -> tuple[ClusterObjectsSpec, list[Problem]]:
    """Resolves the objects on the cluster at `path`, with their problems. Pure. Without pools, the stack hasn't created any."""
    plugin = written(settings.get("device_plugin", DevicePluginArgs()))
    by_plugin = plugin.get("enabled", True)
    mirror = settings.get("mirror", "")
    namespace = settings.get("namespace", {}).get("name", DEFAULT_NAMESPACE)
    metrics = written(settings.get("metrics", MetricsArgs()))
    jobs: dict[str, JobSpec] = {}
    problems = [problem for pool in pools for problem in _pool_problems(pool, by_plugin=by_plugin)]
    for name, job in settings.get("jobs", {}).items():
        pool = pool_of(job.get("pool"), pools)
        jobs[name], more = kubernetes_jobs.resolve(name, job, _placement(job, pool, namespace), f"{path}.jobs.{name}")
        problems += [*more, *_job_problems(job, pool, pools, f"{path}.jobs.{name}")]
    team_queues, more = queues.resolve(settings["queues"], pools, path) if "queues" in settings else ({}, [])
    problems += [*more, *queues.job_problems(jobs, team_queues, settings, path)]
    services: dict[str, ServiceSpec] = {}
    for name, service in settings.get("services", {}).items():
        at, pod = f"{path}.services.{name}", cast(ClusterJobSettings, service)  # what a pod requests has the same keys in both
        with_gpu = service.get("gpus", DEFAULT_GPUS) != 0
        pool = pool_of(pod.get("pool"), pools) if with_gpu else None
        place = _placement(pod, pool, namespace) if with_gpu else _without_gpu(pod, namespace)
        services[name], more = kubernetes_services.resolve(name, service, place, at)
        problems += [*more, *(_job_problems(pod, pool, pools, at) if with_gpu else _problems_without_gpu(pod, at))]
        if name in jobs:  # two objects of one name in a namespace would share their labels
            problems.append(refused("kubernetes.name_of_job", at))
    nodes = {pool.name: pool.nodes for pool in pools}
    spec = ClusterObjectsSpec(
        path=path,
        settings=settings,
        mirror=mirror,
        namespace=namespace,
        quota=_quota(settings, nodes.values()),
        plugin_image=plugin.get("image", mirrored(device_plugin.PINNED_IMAGE, mirror)),
        device_plugin=by_plugin,
        feature_labels=settings.get("feature_labels", True),
        metrics=metrics.get("enabled", True),
        counters=tuple(metrics.get("counters", _default_counters(nodes.values()))),
        exporter_image=metrics.get("image", mirrored(dcgm.PINNED_IMAGE, mirror)),
        pools=nodes,
        queue_controller=settings.get("queue_controller", "queues" in settings and bool(settings["queues"])),
        queues=team_queues,
        groups=settings.get("groups", any(job.nodes > 1 for job in jobs.values())),
        jobs=jobs,
        services=services,
    )
    problems += _settings_problems(settings, nodes.values(), namespace, spec.counters, path)
    problems += _quota_problems(settings, spec.jobs, path)
    return spec, problems


def workloads(settings: ClusterObjectsSettings) -> set[Workload]:
    """The workloads that the registry has to build for jobs and services."""
    return kubernetes_jobs.workloads([*settings.get("jobs", {}).values(), *settings.get("services", {}).values()])


def _placement(job: ClusterJobSettings, pool: GpuPool | None, namespace: str) -> Placement:
    resource = pool.nodes.resource if pool is not None else device_plugin.GPU_RESOURCE
    requests, memory = _requests(job)
    taints = pool.nodes.taints if pool is not None else (GPU_TAINT,)
    selector = {NODE_POOL: pool.name} if pool is not None else {AKS_POOL_LABEL: job["pool"]} if "pool" in job else {}
    return Placement(
        namespace=namespace,
        limits={resource: str(job.get("gpus", DEFAULT_GPUS)), **memory},
        requests={**requests, **memory},
        node_selector=selector,
        tolerations=tuple(toleration(taint) for taint in taints),
        environment=kubernetes_jobs.mps_variables(job, pool.nodes.sharing) if pool is not None else {},
        parallelism=job.get("parallelism", DEFAULT_PARALLELISM),
        queue=job.get("queue", ""),
    )


def _without_gpu(pod: ClusterJobSettings, namespace: str) -> Placement:
    """A pod without a GPU, which runs on any node."""
    requests, memory = _requests(pod)
    return Placement(namespace=namespace, limits=memory, requests={**requests, **memory})


def _requests(job: ClusterJobSettings) -> tuple[dict[str, str], dict[str, str]]:
    """Requests of CPU and memory; memory is also the limit."""
    requests = {"cpu": f"{job['cpu']:g}"} if "cpu" in job else {}
    # As a fraction: a float may be too large to be multiplied.
    memory = {"memory": f"{round(Fraction(job['memory_in_gib']) * 1024)}Mi"} if "memory_in_gib" in job else {}
    return requests, memory


def _quota(settings: ClusterObjectsSettings, pools: Iterable[PoolNodes]) -> dict[str, str]:
    most = settings.get("namespace", {}).get("max_gpus")
    if most is None:
        return {}
    resources = {pool.resource for pool in pools} | {device_plugin.GPU_RESOURCE}
    return {f"requests.{resource}": str(most) for resource in sorted(resources)}


def _default_counters(pools: Iterable[PoolNodes]) -> tuple[str, ...]:
    """The default set without profiling counters, which need a capability. Of MIG's instances only those tell the use."""
    pools = list(pools)
    profiled = any(pool.config.by_mig for pool in pools)
    found: list[str] = []
    for counter in dcgm.COUNTERS:
        known = not any(list(dcgm.check([counter], pool.gpu, "")) for pool in pools)
        if not counter.startswith(dcgm.PROFILING) or (profiled and known):
            found.append(counter)
    return tuple(found)


def _pool_problems(pool: GpuPool, *, by_plugin: bool) -> Iterator[Problem]:
    """Problems of the pool's sharing, and of NVIDIA's plugin on its GPUs."""
    gpu, sharing = pool.nodes.gpu, pool.nodes.sharing
    yield from gpu_sharing.check(sharing, gpu)
    if not by_plugin:
        if sharing.strategy in ("time-slicing", "mps"):
            yield refused("kubernetes.sharing_without_plugin", sharing.at("strategy"), str(sharing.strategy))
        return
    yield from gpu_sharing.with_device_plugin(sharing)
    if pool.min_nodes == 0 and (sharing.divided or sharing.profile):
        yield from gpu_sharing.from_zero(sharing, f"{pool.path}.min_nodes", pool.max_nodes)
    if gpu is not None and gpu.vendor != "NVIDIA":
        yield refused("kubernetes.not_nvidia", f"{pool.path}.size", pool.nodes.size, gpu=gpu)


def _job_problems(job: ClusterJobSettings, pool: GpuPool | None, pools: Sequence[GpuPool], path: str) -> Iterator[Problem]:
    """Problems of the job's placement on the cluster."""
    gpus, parallelism = job.get("gpus", DEFAULT_GPUS), job.get("parallelism", DEFAULT_PARALLELISM)
    for key, value in (("gpus", gpus), ("parallelism", parallelism)):
        if value < 1:
            yield too_small(f"{path}.{key}", value, 1)
    yield from _sizes(job, path)
    if pool is None:
        yield from _no_pool(job, pools, path)
        return
    yield from kubernetes_jobs.mps_problems(job, pool.nodes.sharing, pool.nodes.gpu, path)
    most = pool.nodes.amount
    each = max(1, most // max(1, gpus)) if most is not None else None  # the affinity to different nodes is only a preference
    if each is not None and (nodes := job.get("nodes", 1)) > pool.max_nodes * each:
        holds = {"pool": pool, "most": pool.max_nodes * each, "needed": math.ceil(nodes / each)}
        yield refused("kubernetes.group_too_large", f"{path}.nodes", nodes, **holds)
    if pool.nodes.sharing.divided and gpus > 1:
        yield refused("kubernetes.several_shares", f"{path}.gpus", gpus, pool=pool)
    elif most is not None and gpus > most:
        yield refused("kubernetes.more_than_a_node", f"{path}.gpus", gpus, pool=pool, most=most)


def _sizes(pod: ClusterJobSettings, path: str) -> Iterator[Problem]:
    for key, above in (("cpu", pod.get("cpu", 1)), ("memory_in_gib", pod.get("memory_in_gib", 1))):
        if above <= 0:
            yield refused("kubernetes.nothing_requested", f"{path}.{key}", above)


def _problems_without_gpu(pod: ClusterJobSettings, path: str) -> Iterator[Problem]:
    """Problems of the requests of a service's pods that use no GPU."""
    yield from _sizes(pod, path)
    if "pool" in pod:
        yield refused("kubernetes.pool_without_gpu", f"{path}.pool", pod["pool"])


def _no_pool(job: ClusterJobSettings, pools: Sequence[GpuPool], path: str) -> Iterator[Problem]:
    names = ", ".join(pool.name for pool in pools)
    if "pool" not in job:
        several = refused("kubernetes.several_pools", f"{path}.pool", names=names, first=pools[0].name) if pools else None
        yield several or refused("kubernetes.pool_not_set", f"{path}.pool")
    elif pools:  # otherwise the pools aren't the stack's, and unknown here
        yield refused("kubernetes.no_such_pool", f"{path}.pool", job["pool"], names=names)


def _settings_problems(
    settings: ClusterObjectsSettings, pools: Iterable[PoolNodes], namespace: str, counters: Sequence[str], path: str
) -> list[Problem]:
    """Problems of namespace, images and metrics."""
    found = kubernetes_jobs.name_problems(namespace, f"{path}.namespace.name")
    if namespace in SYSTEM_NAMESPACES:
        of_system = ", ".join(SYSTEM_NAMESPACES)
        found.append(refused("kubernetes.system_namespace", f"{path}.namespace.name", namespace, of_system=of_system))
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
        return [refused("kubernetes.no_counter", path)]
    found: list[Problem] = []
    for gpu in [None, *(pool.gpu for pool in pools)]:
        found += [problem for problem in dcgm.check(counters, gpu, path) if problem not in found]
    return found


def _quota_problems(settings: ClusterObjectsSettings, jobs: Mapping[str, JobSpec], path: str) -> Iterator[Problem]:
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
            words = {"together": together, "resource": resource}
            yield refused("kubernetes.over_quota", f"{path}.namespace.max_gpus", most, **words)
