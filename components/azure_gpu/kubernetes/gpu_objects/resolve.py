"""Resolves the objects on a cluster with GPU pools: fills in all defaults and finds all problems. Pure."""

from collections.abc import Iterable, Sequence
from fractions import Fraction

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.aks import dcgm, device_plugin
from azure_gpu.catalog.services.aks.pools import LABEL as AKS_POOL_LABEL
from azure_gpu.catalog.services.groups import mirrored
from azure_gpu.formats.tags import NODE_POOL
from azure_gpu.kubernetes import jobs as kubernetes_jobs, services as kubernetes_services
from azure_gpu.kubernetes.args import ClusterServiceSettings
from azure_gpu.kubernetes.gpu_objects import queues, rules
from azure_gpu.kubernetes.gpu_objects.args import (
    DEFAULT_EXPORTER_IMAGE,
    DEFAULT_GPUS,
    DEFAULT_NAMESPACE,
    DEFAULT_PARALLELISM,
    DEFAULT_PLUGIN_IMAGE,
    ClusterJobSettings,
    ClusterObjectsSettings,
    DevicePluginArgs,
    MetricsArgs,
)
from azure_gpu.kubernetes.gpu_objects.spec import GPU_TAINT, ClusterObjectsSpec, GpuPool, PoolNodes
from azure_gpu.kubernetes.jobs import JobSpec, Placement
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
    problems = [problem for pool in pools for problem in rules.pool_problems(pool, by_plugin=by_plugin)]
    for name, job in settings.get("jobs", {}).items():
        pool = rules.pool_of(job, pools)
        jobs[name], more = kubernetes_jobs.resolve(name, job, _placement(job, pool, namespace), f"{path}.jobs.{name}")
        problems += [*more, *rules.job_problems(job, pool, pools, f"{path}.jobs.{name}")]
    team_queues, more = queues.resolve(settings["queues"], pools, path) if "queues" in settings else ({}, [])
    problems += [*more, *queues.job_problems(jobs, team_queues, settings, path)]
    services: dict[str, ServiceSpec] = {}
    for name, service in settings.get("services", {}).items():
        of_pod = rules.pod_of(service)
        with_gpu = service.get("gpus", DEFAULT_GPUS) != 0
        pool = rules.pool_of(of_pod, pools) if with_gpu else None
        place = _placement(of_pod, pool, namespace) if with_gpu else _without_gpu(service, namespace)
        services[name], more = kubernetes_services.resolve(name, service, place, f"{path}.services.{name}")
        problems += [*more, *rules.service_problems(service, pool, pools, f"{path}.services.{name}")]
        if name in jobs:
            problems.append(rules.name_taken(f"{path}.services.{name}", "a job"))
    nodes = {pool.name: pool.nodes for pool in pools}
    spec = ClusterObjectsSpec(
        path=path,
        settings=settings,
        mirror=mirror,
        namespace=namespace,
        quota=_quota(settings, nodes.values()),
        plugin_image=plugin.get("image", mirrored(DEFAULT_PLUGIN_IMAGE, mirror)),
        device_plugin=by_plugin,
        feature_labels=settings.get("feature_labels", True),
        metrics=metrics.get("enabled", True),
        counters=tuple(metrics.get("counters", _default_counters(nodes.values()))),
        exporter_image=metrics.get("image", mirrored(DEFAULT_EXPORTER_IMAGE, mirror)),
        pools=nodes,
        queue_controller=settings.get("queue_controller", "queues" in settings and bool(settings["queues"])),
        queues=team_queues,
        groups=settings.get("groups", any(job.nodes > 1 for job in jobs.values())),
        jobs=jobs,
        services=services,
    )
    problems += rules.settings_problems(settings, nodes.values(), namespace, spec.counters, path)
    problems += rules.quota_problems(settings, spec.jobs, path)
    return spec, problems


def workloads(settings: ClusterObjectsSettings) -> set[Workload]:
    """The workloads that the registry has to build for jobs and services."""
    of_jobs = kubernetes_jobs.workloads(list(settings.get("jobs", {}).values()))
    return of_jobs | kubernetes_services.workloads(settings.get("services", {}))


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
        parallelism=int(job.get("parallelism", DEFAULT_PARALLELISM)),
        queue=job.get("queue", ""),
    )


def _without_gpu(service: ClusterServiceSettings, namespace: str) -> Placement:
    """A pod without a GPU, which runs on any node."""
    requests, memory = _requests(rules.pod_of(service))
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
