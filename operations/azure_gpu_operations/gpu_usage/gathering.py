"""Reads the GPU use of a cluster: from its DCGM exporters through a forwarded port, or with nvidia-smi in its pods.

DCGM's metrics are in Prometheus' text format: each counter has a line for each GPU, `DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-…",
modelName="Tesla T4",Hostname="n",namespace="jobs",pod="x"} 37`. A GPU that several pods share has one figure: the exporter gives
it to one of them, or with --kubernetes-virtual-gpus to each; the use by each pod isn't reported (NVIDIA/dcgm-exporter 4.5, README
and etc/default-counters.csv).

nvidia-smi is executed in the pods of the jobs, which requires the permission to do so, and sees the GPUs of the pod; processes
only with `hostPID`, without which the use of the GPU counts as the pod's. Source: NVIDIA, nvidia-smi(1): --query-gpu,
--query-compute-apps, pmon. Values such as [N/A] are None.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from azure_gpu.catalog.services.aks import dcgm as dcgm_exporter
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.clusters.objects import PodSeen, pod_of
from azure_gpu_operations.gpu_usage.reading import DCGM, SMI, WHOLE_GPU, GpuUse, JobUse, Reading, moment

UTILISATION = "DCGM_FI_DEV_GPU_UTIL"
ENGINE = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"  # a share of time; the only one of MIG instances
USED, FREE = "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE"  # MiB
_LINE = re.compile(r"(?P<name>[A-Za-z_:][A-Za-z0-9_:]*)(?:\{(?P<labels>.*)\})?\s+(?P<value>[^\s]+)(?:\s+\d+)?\s*")
_LABEL = re.compile(r'([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"')
_ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


class Sample(NamedTuple):
    """One line of a page."""

    name: str
    labels: Mapping[str, str]
    value: float


def samples(text: str) -> list[Sample]:
    """Skips other lines, and values that aren't numbers."""
    found: list[Sample] = []
    for line in text.splitlines():
        match = None if line.startswith("#") else _LINE.fullmatch(line)
        if match is None:
            continue
        try:
            value = float(match["value"])
        except ValueError:
            continue
        labels = {key: _plain(value) for key, value in _LABEL.findall(match["labels"] or "")}
        if value == value:  # not NaN
            found.append(Sample(match["name"], labels, value))
    return found


def dcgm_uses(pages: Mapping[str, str], pods: Sequence[PodSeen]) -> tuple[list[GpuUse], list[JobUse]]:
    """`pages`: by the exporter's node. `pods`: those with GPUs."""
    gpus: list[GpuUse] = []
    jobs: list[JobUse] = []
    for node, text in pages.items():
        by_gpu: dict[str, list[Sample]] = {}
        for sample in samples(text):
            if sample.name in (UTILISATION, ENGINE, USED, FREE):
                by_gpu.setdefault(_gpu(sample), []).append(sample)
        here = [pod for pod in pods if pod.node == node and not pod.is_over]
        named: set[tuple[str, str]] = set()
        for gpu, found in sorted(by_gpu.items()):
            use = _use(node, gpu, found)
            gpus.append(use)
            holders = sorted({(each.labels.get("namespace", ""), each.labels["pod"]) for each in found if each.labels.get("pod")})
            named |= set(holders)
            shared = len(holders) > 1 or _is_shared(here, len(by_gpu))
            jobs += [_job(use, namespace, pod, here, WHOLE_GPU if shared else "") for namespace, pod in holders]
        rest = [pod for pod in here if (pod.namespace, pod.name) not in named]
        jobs += [
            JobUse(pod.namespace, pod.name, pod.job, node, note="DCGM doesn't distinguish pods that share a GPU") for pod in rest
        ]
    return gpus, jobs


def _use(node: str, gpu: str, found: Iterable[Sample]) -> GpuUse:
    """Pods that share a GPU have the same figures, so the maximum is the value."""
    values: dict[str, float] = {}
    labels: Mapping[str, str] = {}
    for sample in found:
        values[sample.name] = max(values.get(sample.name, 0.0), sample.value)
        labels = sample.labels
    used, free = values.get(USED), values.get(FREE)
    utilisation = values.get(UTILISATION)
    if utilisation is None and ENGINE in values:
        utilisation = values[ENGINE] * 100
    return GpuUse(
        node,
        gpu,
        labels.get("modelName", ""),
        utilisation,
        used,
        used + free if used is not None and free is not None else None,
        labels.get("UUID", ""),
    )


def _job(use: GpuUse, namespace: str, pod: str, here: Sequence[PodSeen], note: str) -> JobUse:
    job = next((each.job for each in here if (each.namespace, each.name) == (namespace, pod)), "")
    return JobUse(namespace, pod, job, use.node, use.gpu, use.utilisation, use.used_mib, note)


def _is_shared(here: Sequence[PodSeen], gpus: int) -> bool:
    """With more pods than GPUs some share one, independent of the labels."""
    return len(here) > gpus


def _gpu(sample: Sample) -> str:
    instance = sample.labels.get("GPU_I_ID", "")
    profile = sample.labels.get("GPU_I_PROFILE", "")
    index = sample.labels.get("gpu", "?")
    return f"{index}/{profile}/{instance}" if instance else index


def _plain(text: str) -> str:
    return re.sub(r"\\[\\\"n]", lambda found: _ESCAPES[found[0]], text)


SMI_GPUS = (
    "nvidia-smi",
    "--query-gpu=index,uuid,name,utilization.gpu,memory.used,memory.total",
    "--format=csv,noheader,nounits",
)
SMI_PROCESSES = ("nvidia-smi", "--query-compute-apps=gpu_uuid,pid,used_memory", "--format=csv,noheader,nounits")
SMI_SHARES = ("nvidia-smi", "pmon", "-c", "1", "-s", "u")


class Process(NamedTuple):
    """One program on one GPU."""

    gpu_uuid: str
    pid: int
    used_mib: float | None


def smi_gpus(text: str, node: str) -> list[GpuUse]:
    found: list[GpuUse] = []
    for cells in _rows(text):
        if len(cells) == 6 and cells[0].isdecimal():
            index, uuid, name, utilisation, used, total = cells
            found.append(GpuUse(node, index, name, _number(utilisation), _number(used), _number(total), uuid))
    return found


def smi_processes(text: str) -> list[Process]:
    return [
        Process(cells[0], int(cells[1]), _number(cells[2])) for cells in _rows(text) if len(cells) == 3 and cells[1].isdecimal()
    ]


def smi_shares(text: str) -> dict[int, float]:
    """Percent of its GPU by process id. Columns are found by the heading, because they differ between versions."""
    heading: list[str] = []
    found: dict[int, float] = {}
    for line in text.splitlines():
        cells = line.split()
        if line.startswith("#"):
            heading = heading or [each.lower() for each in cells[1:]]
            continue
        if len(cells) < len(heading) or "pid" not in heading or "sm" not in heading:
            continue
        pid, share = cells[heading.index("pid")], _number(cells[heading.index("sm")])
        if pid.isdecimal() and share is not None:
            found[int(pid)] = found.get(int(pid), 0.0) + share
    return found


def own_memory(found: Iterable[Process]) -> float | None:
    known = [each.used_mib for each in found if each.used_mib is not None]
    return sum(known) if known else None


def _rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip()]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


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
            gpus, jobs = dcgm_uses(pages, users)
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
            seen = smi_gpus(api.execute(pod.namespace, pod.name, container, SMI_GPUS), pod.node)
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
                    own_memory(here) if here else gpu.used_mib,
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


def _processes(api: Api, pod: PodSeen, container: str) -> list[Process]:
    try:
        return smi_processes(api.execute(pod.namespace, pod.name, container, SMI_PROCESSES))
    except ClusterError:
        return []


def _shares(api: Api, pod: PodSeen, container: str) -> dict[int, float]:
    try:
        return smi_shares(api.execute(pod.namespace, pod.name, container, SMI_SHARES))
    except ClusterError:
        return {}


def _uses_gpu(pod: PodSeen) -> bool:
    if pod.name.startswith(_SYSTEM_NAMES):
        return False
    return any(pod.gpus.values()) or pod.environment.get(_VISIBLE_DEVICES, "").lower() not in _NO_GPU
