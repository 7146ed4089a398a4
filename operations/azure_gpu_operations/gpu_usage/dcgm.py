"""Parses the metrics of NVIDIA's DCGM exporter in Prometheus' text format into uses of GPUs and pods. Pure.

Each counter has a line for each GPU, `DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-…",modelName="Tesla T4",Hostname="n",
namespace="jobs",pod="x"} 37`. A GPU that several pods share has one figure: the exporter gives it to one of them, or with
--kubernetes-virtual-gpus to each; the use by each pod isn't reported (NVIDIA/dcgm-exporter 4.5, README and
etc/default-counters.csv).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from azure_gpu_operations.clusters.objects import PodSeen
from azure_gpu_operations.gpu_usage.reading import WHOLE_GPU, GpuUse, JobUse

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


def uses(pages: Mapping[str, str], pods: Sequence[PodSeen]) -> tuple[list[GpuUse], list[JobUse]]:
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
