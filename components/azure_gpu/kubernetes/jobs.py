"""Resolves and validates a Kubernetes Job and builds its manifest, independent of the cluster it runs on.

How the job gets its GPU is passed in as a `Placement`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pulumi

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services import gpu_sharing
from azure_gpu.catalog.services.gpu_sharing import SharingRequest
from azure_gpu.catalog.sizes.model import Gpu
from azure_gpu.formats.kubernetes_manifest import MEMORY, PERCENTAGE, VISIBLE
from azure_gpu.kubernetes import worker_group
from azure_gpu.kubernetes.args import ClusterServiceSettings, JobSettings
from azure_gpu.kubernetes.manifests import filled
from azure_gpu.kubernetes.objects import Manifest
from azure_gpu.shared.workloads import Workload, image_problems, not_built

GPU_VARIABLES = (VISIBLE, PERCENTAGE, MEMORY)  # set by users, a job could see GPUs of others
MANAGED_BY = {"app.kubernetes.io/managed-by": "azure-gpu"}
NO_WAITING = {"pulumi.com/skipAwait": "true"}
PATIENCE_SECONDS = 24 * 3600  # that an update waits for a job without a timeout; Pulumi's default is 10 minutes
AFTER_THE_LIMIT_SECONDS = 300  # for Kubernetes to report the timeout

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_VARIABLE = re.compile(r"[A-Za-z_.-][A-Za-z0-9_.-]*")
_LONGEST_NAME = 63


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """How a job gets its GPU, and where it runs."""

    namespace: str
    limits: Mapping[str, str] = field(default_factory=dict[str, str])  # resources that Kubernetes allocates
    requests: Mapping[str, str] = field(default_factory=dict[str, str])
    node_selector: Mapping[str, str] = field(default_factory=dict[str, str])
    tolerations: tuple[Mapping[str, str], ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])  # takes precedence over the job's own
    parallelism: int = 1
    queue: str = ""  # of Kueue; "": none
    host_ipc: bool = False
    host_pid: bool = False
    pull_secret: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """A resolved job. Secrets stay in the settings."""

    name: str
    image: pulumi.Input[str]  # empty with a workload
    workload: Workload | None
    command: tuple[str, ...]
    args: tuple[str, ...]
    environment: Mapping[str, pulumi.Input[str]]
    secret_names: tuple[str, ...]
    retries: int
    timeout_seconds: int | None
    wait: bool
    placement: Placement
    nodes: int = 1

    @property
    def secret_name(self) -> str:
        """Name of the Secret with the secret variables."""
        return f"{self.name}-environment"


def resolve(name: str, settings: JobSettings, placement: Placement, path: str) -> tuple[JobSpec, list[Problem]]:
    """Resolves the job whose settings are at `path`, with its problems. Pure."""
    spec = JobSpec(
        name=name,
        image=settings.get("image", ""),
        workload=settings.get("workload"),
        command=tuple(settings.get("command", [])),
        args=tuple(settings.get("args", [])),
        environment={**settings.get("environment", {}), **placement.environment},
        secret_names=tuple(sorted(settings.get("secret_environment", {}))),
        retries=settings.get("retries", 0),
        timeout_seconds=settings["timeout_minutes"] * 60 if "timeout_minutes" in settings else None,
        wait=settings.get("wait", False),
        placement=placement,
        nodes=settings.get("nodes", 1),
    )
    of_image = image_problems(settings.get("image"), settings.get("workload"), path)
    problems = [*name_problems(name, path), *of_image, *_variables(settings, path), *_numbers(settings, path)]
    return spec, [*problems, *worker_group.problems(name, spec.nodes, placement.parallelism, path)]


def name_problems(name: str, path: str) -> list[Problem]:
    """Validates the name of a Job or a namespace."""
    if len(name) <= _LONGEST_NAME and _NAME.fullmatch(name):
        return []
    source = "Kubernetes v1.36.2, validation of Job: its name is a label of its pods"
    return [refused("kubernetes.bad_name", path, name, source=source)]


def mps_variables(settings: JobSettings, sharing: SharingRequest) -> dict[str, str]:
    """Variables for the job's MPS limits, its own or those of the sharing. None without MPS."""
    if sharing.strategy != "mps":
        return {}
    percentage = settings.get("active_thread_percentage", sharing.active_thread_percentage)
    memory = settings.get("pinned_memory_limit", sharing.pinned_memory_limit)
    variables = {PERCENTAGE: f"{percentage:g}"} if percentage is not None else {}
    return {**variables, **({MEMORY: f"0={memory}"} if memory else {})}  # 0: the first GPU that the program sees


def mps_problems(settings: JobSettings, sharing: SharingRequest, gpu: Gpu | None, path: str) -> list[Problem]:
    """Problems of the job's own MPS limits with this sharing."""
    own = SharingRequest(
        path=path,
        strategy="mps" if sharing.strategy == "mps" else "none",
        active_thread_percentage=settings.get("active_thread_percentage"),
        pinned_memory_limit=settings.get("pinned_memory_limit", ""),
    )
    return gpu_sharing.check(own, gpu)


def _variables(settings: JobSettings, path: str) -> list[Problem]:
    plain, secret = settings.get("environment", {}), settings.get("secret_environment", {})
    every = [(f"{path}.environment.{name}", name) for name in plain]
    every += [(f"{path}.secret_environment.{name}", name) for name in secret]
    group = worker_group.VARIABLES if settings.get("nodes", 1) > 1 else ()
    taken = ", ".join(GPU_VARIABLES)
    return [
        *(refused("kubernetes.bad_variable", at, name) for at, name in every if not _VARIABLE.fullmatch(name)),
        *(refused("kubernetes.twice", f"{path}.environment.{name}") for name in sorted(plain.keys() & secret.keys())),
        *(refused("kubernetes.taken", at, taken=taken) for at, name in every if name in GPU_VARIABLES),
        *(refused("kubernetes.taken_by_group", at, taken=", ".join(group)) for at, name in every if name in group),
    ]


def _numbers(settings: JobSettings, path: str) -> list[Problem]:
    least = (
        ("nodes", settings.get("nodes", 1), 1),
        ("retries", settings.get("retries", 0), 0),
        ("timeout_minutes", settings.get("timeout_minutes", 1), 1),
    )
    return [too_small(f"{path}.{key}", value, at_least) for key, value, at_least in least if value < at_least]


def too_small(path: str, value: float, least: int) -> Problem:
    """The problem of a number below its minimum."""
    return refused("kubernetes.too_small", path, value, least=least)


def missing(specs: Mapping[str, JobSpec], path: str, images: Mapping[str, object]) -> list[Problem]:
    """Problems of jobs whose workload's image isn't built. `path`: of the jobs."""
    return [
        not_built(spec.workload, images, f"{path}.{name}.workload")
        for name, spec in specs.items()
        if spec.workload is not None and spec.workload not in images
    ]


def manifest(spec: JobSpec, image: pulumi.Input[str]) -> Manifest:
    """The Job, or the JobSet of a group of workers."""
    place, labels = spec.placement, filled("labels", name=spec.name)
    place_of: dict[str, Any] = {"name": spec.name, "namespace": place.namespace, "queue": place.queue or None}
    metadata = filled("job-metadata", **place_of, labels=labels, annotations=_waiting(spec))
    template = {"metadata": {"labels": labels}, "spec": pod(spec, image)}
    if spec.nodes > 1:
        return worker_group.manifest(metadata, template, spec.nodes, spec.retries, spec.timeout_seconds)
    numbers = {"parallelism": place.parallelism, "retries": spec.retries, "timeout_seconds": spec.timeout_seconds}
    return filled("job", metadata=metadata, template=template, **numbers)


def pod(spec: JobSpec, image: pulumi.Input[str]) -> dict[str, Any]:
    """The specification of its pods."""
    place, group = spec.placement, spec.nodes > 1
    own = {key: dict(each) for key, each in (("limits", place.limits), ("requests", place.requests)) if each}
    return filled(
        "pod",
        name=spec.name,
        image=image,
        command=list(spec.command) or None,
        args=list(spec.args) or None,
        variables=[*(worker_group.variables(spec.name, spec.nodes) if group else []), *_environment(spec)] or None,
        resources=own or None,
        node_selector=dict(place.node_selector) or None,
        tolerations=[dict(each) for each in place.tolerations] or None,
        affinity=worker_group.apart(spec.name) if group else None,
        host_ipc=place.host_ipc or None,
        host_pid=place.host_pid or None,
        pull_secrets=[{"name": place.pull_secret}] if place.pull_secret else None,
    )


def _waiting(spec: JobSpec) -> dict[str, str]:
    """Annotations for how long an update waits for the job's end."""
    if not spec.wait:
        return NO_WAITING
    condition = {"pulumi.com/waitFor": worker_group.HAS_ENDED} if spec.nodes > 1 else {}
    limit = PATIENCE_SECONDS if spec.timeout_seconds is None else spec.timeout_seconds + AFTER_THE_LIMIT_SECONDS
    return {**condition, "pulumi.com/timeoutSeconds": str(limit)}


def _environment(spec: JobSpec) -> list[dict[str, Any]]:
    """Variables in the order of their names, so that their order in the settings doesn't matter."""
    plain: dict[str, dict[str, Any]] = {name: {"name": name, "value": value} for name, value in spec.environment.items()}
    secret: dict[str, dict[str, Any]] = {
        name: {"name": name, "valueFrom": {"secretKeyRef": {"name": spec.secret_name, "key": name}}} for name in spec.secret_names
    }
    return [variable for _, variable in sorted({**plain, **secret}.items())]


def secret_manifest(spec: JobSpec, given: Mapping[str, pulumi.Input[str]]) -> Manifest:
    """The Secret with the job's secret variables."""
    values = {name: pulumi.Output.secret(given[name]) for name in spec.secret_names}
    return filled("secret", name=spec.name, secret=spec.secret_name, namespace=spec.placement.namespace, values=values)


def image_of(spec: JobSpec, images: Mapping[str, pulumi.Input[str]]) -> pulumi.Input[str]:
    """The job's image: its own, or the one that the registry built of its workload."""
    return images[spec.workload] if spec.workload is not None else spec.image


def workloads(settings: Iterable[JobSettings | ClusterServiceSettings]) -> set[Workload]:
    """The workloads that the registry has to build for these jobs and services."""
    return {each["workload"] for each in settings if "workload" in each}
