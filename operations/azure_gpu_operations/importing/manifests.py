"""Kubernetes Jobs, or a part of one, as jobs of an edge in a stack file."""

import re
from collections.abc import Mapping
from typing import Any

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import cluster_manifest, edge_deployment
from azure_gpu.formats.kubernetes_manifest import RUNS, VISIBLE
from azure_gpu_operations.importing.blocks import Entry, fitting

EDGES, CLUSTERS = "edges", "clusters"
_KIND = re.compile(r"^[ \t{]*[\"']?kind[\"']?:[ \t]*['\"]?([A-Z]\w*)", re.MULTILINE)
_VERSION = re.compile(r"[\"']?\bapiVersion[\"']?:[ \t]*['\"]?[a-z]")  # of Container Instances it is a date
_GPU_RESOURCE = re.compile(r"[{ \t'\"](?:nvidia\.com/|amd\.com/|gpu\.intel\.com/)[\w.-]+['\"]?:")
_FRAGMENT = re.compile(r"^[ \t]*(?:-[ \t]+)?env:[ \t]*$", re.MULTILINE)
_OTHERS = re.compile(r"^[ \t]*(?:properties|\"?\$schema\"?|type):", re.MULTILINE)
_OF_MPS = ("active_thread_percentage", "pinned_memory_limit")


def is_manifest(text: str) -> bool:
    """Whether it is Kubernetes' rather than a group's or a template's."""
    of_jobs = set(_KIND.findall(text)) & {*RUNS, *cluster_manifest.SERVES, "DaemonSet"}
    return bool(of_jobs or (_KIND.search(text) and _VERSION.search(text))) or bool(
        _FRAGMENT.search(text) and not _OTHERS.search(text)
    )


def target_of(text: str) -> str:
    """EDGES or CLUSTERS, if the command line doesn't name one: a device gives its GPUs by a variable, a cluster by requests."""
    if VISIBLE in text:
        return EDGES
    others = set(_KIND.findall(text)) - set(RUNS)
    return CLUSTERS if others or _GPU_RESOURCE.search(text) else EDGES


def take(text: str, file: str, name: str) -> tuple[list[Entry], list[str], list[Problem]]:
    """The entry, if there is one, and the variables whose values aren't copied, with the job's name. `name`: what the stack file
    calls the edge."""
    found, problems = edge_deployment.read(text, file)
    jobs: dict[str, Any] = {}
    secrets: list[str] = []
    for index, job in enumerate(found, start=1):
        key = fitting(job.name or f"job-{index}" if len(found) > 1 else job.name or "job")
        jobs[key] = dict(job.settings)
        secrets += [f"{key}: {each}" for each in job.secrets]
    if not jobs:
        return [], [], problems
    settings: dict[str, Any] = {"namespace": "gpu-jobs", "kubeconfig_file": ".local/edge-kubeconfig"}
    if any(key in job for job in jobs.values() for key in _OF_MPS):
        settings["sharing"] = {"strategy": "mps"}
    return [Entry(EDGES, name, {**settings, "jobs": jobs}, _comments(jobs, secrets), [], True)], secrets, problems


def _comments(jobs: Mapping[str, Mapping[str, Any]], secrets: list[str]) -> list[str]:
    comments = ["namespace and kubeconfig_file are proposals: they are the device's own, see docs/edge.md"]
    bare = [name for name, job in jobs.items() if "image" not in job]
    comments += [f"the file names no image for {name}: give it `image` or `workload`" for name in bare]
    comments += [f"not copied, since it is likely a secret; give it as secret_environment: {each}" for each in secrets]
    return comments
