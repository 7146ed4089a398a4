"""A Kubernetes manifest of jobs, as jobs of an edge or of a cluster in a stack file.

In: a file as Microsoft's pages show it, or any Job, and what it is for. Out: entries of a stack file, problems. What the reader
leaves out is a warning with its line.
"""

import re
from collections.abc import Mapping
from datetime import date
from typing import Any, NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import edge_deployment
from azure_gpu.formats.dates import days_later
from azure_gpu.formats.tags import PROPOSED_DAYS
from azure_gpu_operations.importing.blocks import Entry
from azure_gpu_operations.importing.taking import fitting

EDGES, CLUSTERS = "edges", "clusters"
_KIND = re.compile(r"^[ \t]*kind:[ \t]*['\"]?(?:Job|CronJob|Pod|Deployment|DaemonSet|ReplicaSet|StatefulSet)\b", re.MULTILINE)
_FRAGMENT = re.compile(r"^[ \t]*(?:-[ \t]+)?env:[ \t]*$", re.MULTILINE)
_OTHERS = re.compile(r"^[ \t]*(?:properties|\"?\$schema\"?|type|pool_specification|job_specifications):", re.MULTILINE)
_OF_MPS = ("active_thread_percentage", "pinned_memory_limit")
_OF_DEVICES = ("visible_devices", "host_ipc", "host_pid")


class Taken(NamedTuple):
    entry: Entry | None
    secrets: tuple[str, ...]  # variables whose values aren't copied, with the job's name


def is_manifest(text: str) -> bool:
    """Whether it is Kubernetes' rather than a group's, a template's or Batch Shipyard's."""
    return bool(_KIND.search(text)) or bool(_FRAGMENT.search(text) and not _OTHERS.search(text))


def take(text: str, file: str, part: str, name: str, as_of: date) -> tuple[Taken, list[Problem]]:
    """`part`: EDGES or CLUSTERS; `name`: what the stack file calls the edge or the cluster."""
    found, problems = edge_deployment.read(text, file, device=part == EDGES)
    jobs: dict[str, Any] = {}
    secrets: list[str] = []
    for index, job in enumerate(found, start=1):
        key = fitting(job.name or f"job-{index}" if len(found) > 1 else job.name or "job")
        jobs[key] = dict(job.settings) if part == EDGES else _on_cluster(job)
        secrets += [f"{key}: {each}" for each in job.secrets]
    if not jobs:
        return Taken(None, ()), problems
    comments = _comments(part, jobs, secrets)
    settings: dict[str, Any] = {"namespace": "gpu-jobs", "kubeconfig_file": ".local/edge-kubeconfig"}
    if any(key in job for job in jobs.values() for key in _OF_MPS):
        settings["sharing"] = {"strategy": "mps"}
    if part == CLUSTERS:
        settings = {"expires_after": days_later(as_of, PROPOSED_DAYS).isoformat()}
    return Taken(Entry(part, name, {**settings, "jobs": jobs}, comments, [], True), tuple(secrets)), problems


def _on_cluster(job: edge_deployment.EdgeJobInFile) -> dict[str, Any]:
    """There GPUs are asked for, and the device plugin says which."""
    found = {key: value for key, value in job.settings.items() if key not in _OF_DEVICES}
    seen = 0 if job.settings.get("visible_devices", "none") == "none" else 1
    return {**found, "gpus": seen if job.gpus is None else job.gpus}


def _comments(part: str, jobs: Mapping[str, Mapping[str, Any]], secrets: list[str]) -> list[str]:
    comments = ["namespace and kubeconfig_file are proposals: they are the device's own, see docs/edge.md"]
    if part == CLUSTERS:
        comments = ["what a cluster needs besides, gpu_pools with a size above all, is in docs/settings.md"]
        if any(key in job for job in jobs.values() for key in _OF_MPS):
            comments.append("shares of a GPU need `sharing: {strategy: mps, replicas: …}` of their pool")
    bare = [name for name, job in jobs.items() if "image" not in job]
    comments += [f"the file names no image for {name}: give it `image` or `workload`" for name in bare]
    comments += [f"not copied, since it is likely a secret; give it as secret_environment: {each}" for each in secrets]
    return comments
