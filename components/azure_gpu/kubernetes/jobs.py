"""Resolves and validates a Kubernetes Job and builds its manifest, independent of the cluster it runs on.

How the job gets its GPU is passed in as a `Placement`. A finished Job is kept on purpose, with its log and its exit code: if
Kubernetes cleaned it up, it would be missing from the stack and would run again.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services import gpu_sharing
from azure_gpu.catalog.services.gpu_sharing import SharingRequest
from azure_gpu.catalog.sizes.model import Gpu
from azure_gpu.formats.kubernetes_manifest import MEMORY, PERCENTAGE, VISIBLE
from azure_gpu.kubernetes import worker_group
from azure_gpu.kubernetes.args import DEFAULT_NODES, DEFAULT_RETRIES, JobSettings
from azure_gpu.kubernetes.objects import Manifest
from azure_gpu.shared.workloads import Workload, image_problems, not_built

GPU_VARIABLES = (VISIBLE, PERCENTAGE, MEMORY)  # set by users, a job could see GPUs of others
LOGICAL_NAME = "app.kubernetes.io/name"
MANAGED_BY = {"app.kubernetes.io/managed-by": "azure-gpu"}
NO_WAITING = {"pulumi.com/skipAwait": "true"}
PATIENCE_SECONDS = 24 * 3600  # that an update waits for a job without a timeout; Pulumi's default is 10 minutes
AFTER_THE_LIMIT_SECONDS = 300  # for Kubernetes to report the timeout

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_VARIABLE = re.compile(r"[A-Za-z_.-][A-Za-z0-9_.-]*")
_LONGEST_NAME = 63
_NAME_SOURCE = "Kubernetes v1.36.2, validation of Job: its name is a label of its pods"


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
    nodes: int = DEFAULT_NODES

    @property
    def secret_name(self) -> str:
        """Name of the Secret with the secret variables."""
        return f"{self.name}-environment"


def resolve(name: str, settings: JobSettings, placement: Placement, path: str) -> tuple[JobSpec, list[Problem]]:
    """Resolves the job whose settings are at `path`, with its problems. Pure."""
    spec = JobSpec(
        name=name,
        image=settings.get("image", ""),
        workload=Workload(settings["workload"]) if "workload" in settings else None,
        command=tuple(settings.get("command", [])),
        args=tuple(settings.get("args", [])),
        environment={**settings.get("environment", {}), **placement.environment},
        secret_names=tuple(sorted(settings.get("secret_environment", {}))),
        retries=int(settings.get("retries", DEFAULT_RETRIES)),
        timeout_seconds=int(settings["timeout_minutes"]) * 60 if "timeout_minutes" in settings else None,
        wait=settings.get("wait", False),
        placement=placement,
        nodes=int(settings.get("nodes", DEFAULT_NODES)),
    )
    of_image = image_problems(settings.get("image"), settings.get("workload"), path)
    problems = [*name_problems(name, path), *of_image, *_variables(settings, path), *_numbers(settings, path)]
    return spec, [*problems, *worker_group.problems(name, spec.nodes, placement.parallelism, path)]


def name_problems(name: str, path: str) -> list[Problem]:
    """Validates the name of a Job or a namespace."""
    if len(name) <= _LONGEST_NAME and _NAME.fullmatch(name):
        return []
    return [
        Problem(
            path=path,
            message="not a valid Kubernetes name",
            value=name,
            allowed="at most 63 lowercase letters, digits and hyphens, a letter or digit at both ends",
            fix="rename it",
            source=_NAME_SOURCE,
        )
    ]


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
    misnamed = [
        Problem(
            path=f"{path}.{kind}.{variable}",
            message="not a valid environment variable name",
            value=variable,
            allowed="letters, digits, underscores, periods and hyphens, no digit first",
            fix="rename the variable",
        )
        for kind, names in (("environment", plain), ("secret_environment", secret))
        for variable in names
        if not _VARIABLE.fullmatch(variable)
    ]
    twice = [
        Problem(
            path=f"{path}.environment.{variable}",
            message="set in both `environment` and `secret_environment`",
            allowed="one of environment and secret_environment",
            fix="remove it from environment",
        )
        for variable in sorted(plain.keys() & secret.keys())
    ]
    taken = [
        Problem(
            path=f"{path}.{kind}.{variable}",
            message="set by the component",
            allowed=f"any variable but {', '.join(GPU_VARIABLES)}",
            fix="remove it, and use the job's GPU keys",
        )
        for kind, names in (("environment", plain), ("secret_environment", secret))
        for variable in names
        if variable in GPU_VARIABLES
    ]
    of_group = [
        Problem(
            path=f"{path}.{kind}.{variable}",
            message="set by the component for a group of workers",
            allowed=f"any variable but {', '.join(worker_group.VARIABLES)}",
            fix="remove it, or remove `nodes`",
        )
        for kind, names in (("environment", plain), ("secret_environment", secret))
        for variable in names
        if variable in worker_group.VARIABLES and settings.get("nodes", DEFAULT_NODES) > 1
    ]
    return [*misnamed, *twice, *taken, *of_group]


def _numbers(settings: JobSettings, path: str) -> list[Problem]:
    least = (
        ("nodes", settings.get("nodes", 1), 1),
        ("retries", settings.get("retries", 0), 0),
        ("timeout_minutes", settings.get("timeout_minutes", 1), 1),
    )
    return [too_small(f"{path}.{key}", value, at_least) for key, value, at_least in least if value < at_least]


def too_small(path: str, value: float, least: int) -> Problem:
    """The problem of a number below its minimum."""
    return Problem(path=path, message="too small", value=value, allowed=f"{least} or more", fix=f"write {least}")


def missing(specs: Mapping[str, JobSpec], images: Mapping[str, object]) -> list[Problem]:
    """Problems of jobs whose workload's image isn't built. The keys are paths of the jobs."""
    return [
        not_built(spec.workload, images, f"{path}.workload")
        for path, spec in specs.items()
        if spec.workload is not None and spec.workload not in images
    ]


def manifest(spec: JobSpec, image: pulumi.Input[str]) -> Manifest:
    """The Job, or the JobSet of a group of workers."""
    place = spec.placement
    labels = {LOGICAL_NAME: spec.name, **MANAGED_BY}
    disrupted = {"type": "DisruptionTarget", "status": "True"}  # versions before 1.34 require the status
    variables = _environment(spec)
    if spec.nodes > 1:
        variables = [*worker_group.variables(spec.name, spec.nodes), *variables]
    container: dict[str, Any] = {
        "name": spec.name,
        "image": image,
        **({"command": list(spec.command)} if spec.command else {}),
        **({"args": list(spec.args)} if spec.args else {}),
        **({"env": variables} if variables else {}),
        **({"resources": resources} if (resources := _resources(place)) else {}),
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    pod: dict[str, Any] = {
        "containers": [container],
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,  # a job doesn't use the cluster's API
        "enableServiceLinks": False,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        **({"nodeSelector": dict(place.node_selector)} if place.node_selector else {}),
        **({"tolerations": [dict(one) for one in place.tolerations]} if place.tolerations else {}),
        **({"affinity": worker_group.apart(spec.name)} if spec.nodes > 1 else {}),
        **({"hostIPC": True} if place.host_ipc else {}),
        **({"hostPID": True} if place.host_pid else {}),
        **({"imagePullSecrets": [{"name": place.pull_secret}]} if place.pull_secret else {}),
    }
    metadata = {
        "name": spec.name,
        "namespace": place.namespace,
        "labels": {**labels, **({worker_group.QUEUE_LABEL: place.queue} if place.queue else {})},
        "annotations": _waiting(spec),
    }
    if spec.nodes > 1:
        template = {"metadata": {"labels": labels}, "spec": pod}
        return worker_group.manifest(metadata, template, spec.nodes, spec.retries, spec.timeout_seconds)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "parallelism": place.parallelism,
            "completions": place.parallelism,
            "backoffLimit": spec.retries,
            **({"activeDeadlineSeconds": spec.timeout_seconds} if spec.timeout_seconds is not None else {}),
            # An evicted or drained node doesn't count as the job's failure: its pod is recreated, regardless of `retries`.
            "podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [disrupted]}]},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


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


def _resources(place: Placement) -> dict[str, Any]:
    return {
        **({"limits": dict(place.limits)} if place.limits else {}),
        **({"requests": dict(place.requests)} if place.requests else {}),
    }


def secret_manifest(spec: JobSpec, settings: JobSettings) -> Manifest:
    """The Secret with the job's secret variables."""
    given = settings.get("secret_environment", {})
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": spec.secret_name,
            "namespace": spec.placement.namespace,
            "labels": {LOGICAL_NAME: spec.name, **MANAGED_BY},
        },
        "stringData": {name: pulumi.Output.secret(given[name]) for name in spec.secret_names},
    }


def namespace_manifest(name: str, level: str) -> Manifest:
    """A namespace with this level of Kubernetes' pod security."""
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {**MANAGED_BY, "pod-security.kubernetes.io/enforce": level}},
    }


def by_path(specs: Mapping[str, JobSpec], path: str) -> dict[str, JobSpec]:
    """Jobs by their paths below `path`."""
    return {f"{path}.{name}": spec for name, spec in specs.items()}


def image_of(spec: JobSpec, images: Mapping[str, pulumi.Input[str]]) -> pulumi.Input[str]:
    """The job's image: its own, or the one that the registry built of its workload."""
    return images[spec.workload] if spec.workload is not None else spec.image


def workloads(jobs: Sequence[JobSettings]) -> set[Workload]:
    """The workloads that the registry has to build for these jobs."""
    return {Workload(job["workload"]) for job in jobs if "workload" in job}
