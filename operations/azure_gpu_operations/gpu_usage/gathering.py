"""Reads the GPU use of a cluster: from its DCGM exporters through a forwarded port, or with nvidia-smi in its pods.

nvidia-smi is executed in the pods of the jobs, which requires the permission to do so, and sees the GPUs of the pod.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from azure_gpu.catalog.services.aks import dcgm as dcgm_exporter
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.clusters.objects import PodSeen, pod_of
from azure_gpu_operations.gpu_usage import dcgm, smi
from azure_gpu_operations.gpu_usage.reading import DCGM, SMI, WHOLE_GPU, GpuUse, JobUse, Reading, moment

AUTO = "auto"
EXPORTERS = ("app.kubernetes.io/name=dcgm-exporter", "app=nvidia-dcgm-exporter")  # its own chart's, and NVIDIA's GPU operator's
_VISIBLE_DEVICES = "NVIDIA_VISIBLE_DEVICES"
_NO_GPU = ("", "none", "void")
# Pods of the system: they see all GPUs and use none.
_SYSTEM_NAMES = (
    "nvidia-device-plugin",
    "dcgm-exporter",
    "gpu-feature-discovery",
    "nvidia-mps-control-daemon",
    "mps-control-daemon",
)


class NoFiguresError(Exception):
    """The cluster has no source of GPU figures. The text is for the user."""


class Api(Protocol):
    def items(self, path: str, **query: str) -> list[dict[str, Any]]: ...

    def page_of(self, namespace: str, pod: str, port: int, path: str) -> str: ...

    def execute(self, namespace: str, pod: str, container: str, command: Sequence[str]) -> str: ...


def gather(api: Api, source: str, namespace: str, say: Callable[[str], None]) -> Reading:
    """`namespace`: read if this login may not read all namespaces. NoFiguresError without a source."""
    pods = [pod_of(each) for each in _listed(api, namespace)]
    users = [pod for pod in pods if pod.phase == "Running" and _uses_gpu(pod)]
    now = moment(datetime.now(UTC))
    if source in (AUTO, DCGM):
        pages = _pages(api, say)
        if pages or source == DCGM:
            if not pages:
                raise NoFiguresError("no DCGM exporter answers; set `metrics: true` of the cluster to install one")
            gpus, jobs = dcgm.uses(pages, users)
            return Reading(now, DCGM, tuple(gpus), tuple(jobs))
    gpus, jobs = _by_smi(api, users, say)
    if not gpus:
        why = "no running pod uses a GPU" if not users else "nvidia-smi runs in none of the pods with GPUs"
        raise NoFiguresError(f"no DCGM exporter is running, and {why}")
    return Reading(now, SMI, tuple(gpus), tuple(jobs))


def _listed(api: Api, namespace: str) -> list[dict[str, Any]]:
    try:
        return api.items("/api/v1/pods")
    except ClusterError as error:
        if error.status != 403:
            raise
        return api.items(f"/api/v1/namespaces/{namespace}/pods")


def _pages(api: Api, say: Callable[[str], None]) -> dict[str, str]:
    """Each exporter's page by its node."""
    found: dict[str, str] = {}
    for selector in EXPORTERS:
        try:
            bodies = api.items("/api/v1/pods", labelSelector=selector)
        except ClusterError as error:
            if error.status == 403:
                return {}
            raise
        for body in bodies:
            pod = pod_of(body)
            if pod.phase != "Running" or not pod.node or pod.node in found:
                continue
            try:
                found[pod.node] = api.page_of(pod.namespace, pod.name, _port(body), "/metrics")
            except ClusterError as error:
                say(f"the exporter on {pod.node} can't be read: {error}")
    return found


def _port(body: Mapping[str, Any]) -> int:
    """The exporter's port: the one named `metrics`, else its first, else the default."""
    containers: list[Mapping[str, Any]] = (body.get("spec") or {}).get("containers") or []
    ports = [each for container in containers for each in container.get("ports") or []]
    named = [each for each in ports if each.get("name") == "metrics"] or ports
    return int(named[0]["containerPort"]) if named else dcgm_exporter.PORT


def _by_smi(api: Api, pods: Sequence[PodSeen], say: Callable[[str], None]) -> tuple[list[GpuUse], list[JobUse]]:
    gpus: dict[tuple[str, str], GpuUse] = {}
    jobs: list[JobUse] = []
    for pod in pods:
        container = next((each.name for each in pod.containers if not each.is_init and each.state == "running"), "")
        try:
            seen = smi.gpus(api.execute(pod.namespace, pod.name, container, smi.GPUS), pod.node)
        except ClusterError as error:
            say(f"nvidia-smi can't be run in {pod.namespace}/{pod.name}: {error}")
            jobs.append(JobUse(pod.namespace, pod.name, pod.job, pod.node, note="nvidia-smi can't be run in it"))
            continue
        own = _processes(api, pod, container)
        shares = _shares(api, pod, container) if own else {}
        for gpu in seen:
            # Each pod numbers a shared GPU itself; its UUID is the same.
            gpus.setdefault((pod.node, gpu.uuid or gpu.gpu), gpu)
            here = [each for each in own if each.gpu_uuid == gpu.uuid]
            known = [shares[each.pid] for each in here if each.pid in shares]
            jobs.append(
                JobUse(
                    pod.namespace,
                    pod.name,
                    pod.job,
                    pod.node,
                    gpu.gpu,
                    sum(known) if known else gpu.utilisation,
                    smi.own_memory(here) if here else gpu.used_mib,
                )
            )
    return list(gpus.values()), _noted(jobs, gpus)


def _noted(jobs: list[JobUse], gpus: Mapping[tuple[str, str], GpuUse]) -> list[JobUse]:
    """Marks figures of a whole GPU that several jobs share."""
    whole = {(use.node, use.gpu): use for use in gpus.values()}
    count: dict[tuple[str, str], int] = {}
    for job in jobs:
        count[job.node, job.gpu] = count.get((job.node, job.gpu), 0) + 1
    found: list[JobUse] = []
    for job in jobs:
        gpu = whole.get((job.node, job.gpu))
        same = gpu is not None and (job.utilisation, job.used_mib) == (gpu.utilisation, gpu.used_mib)
        found.append(job._replace(note=WHOLE_GPU) if same and count[job.node, job.gpu] > 1 and not job.note else job)
    return found


def _processes(api: Api, pod: PodSeen, container: str) -> list[smi.Process]:
    try:
        return smi.processes(api.execute(pod.namespace, pod.name, container, smi.PROCESSES))
    except ClusterError:
        return []


def _shares(api: Api, pod: PodSeen, container: str) -> dict[int, float]:
    try:
        return smi.shares(api.execute(pod.namespace, pod.name, container, smi.SHARES))
    except ClusterError:
        return {}


def _uses_gpu(pod: PodSeen) -> bool:
    if pod.name.startswith(_SYSTEM_NAMES):
        return False
    return any(pod.gpus.values()) or pod.environment.get(_VISIBLE_DEVICES, "").lower() not in _NO_GPU
