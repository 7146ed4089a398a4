"""Settings of the objects on a cluster with GPU pools, `ClusterObjectsSettings`, with the defaults of its keys: device plugin,
labels, metrics, namespace, jobs and services.

They are resolved in `kubernetes.gpu_objects.resolve`.
"""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from azure_gpu.kubernetes.args import ClusterServiceSettings, JobSettings
from azure_gpu.shared.validation import OpenInput

DEFAULT_NAMESPACE = "gpu-jobs"
DEFAULT_GPUS = 1
DEFAULT_PARALLELISM = 1


class NamespaceArgs(TypedDict):
    """The namespace that jobs run in. All of it is plain."""

    name: NotRequired[str]
    """Its name. Default: gpu-jobs."""
    max_gpus: NotRequired[int]
    """Number of GPUs that its pods may request in total, where a share counts like a GPU. Default: no limit."""


class DevicePluginArgs(TypedDict):
    """NVIDIA's device plugin, which makes GPUs visible to Kubernetes; `true` and `false` stand for `enabled`."""

    enabled: NotRequired[bool]
    """False: the plugin isn't declared, because the cluster gets it in another way. Default: true."""
    image: NotRequired[OpenInput[str]]
    """Its image. Default: nvcr.io/nvidia/k8s-device-plugin:v0.18.0, which Microsoft's page deploys, by its digest."""


class MetricsArgs(TypedDict):
    """NVIDIA's DCGM exporter, one pod on each node with GPUs; `true` and `false` stand for `enabled`."""

    enabled: NotRequired[bool]
    """False: no metrics. Default: true."""
    counters: NotRequired[Sequence[str]]
    """Counters to export, of its default set. Those of profiling (DCGM_FI_PROF_…) need the capability SYS_ADMIN. Default: use
    of GPU and memory, power, temperature, clock and errors; with a pool that is divided by MIG also those of profiling."""
    image: NotRequired[OpenInput[str]]
    """Its image. Default: nvcr.io/nvidia/k8s/dcgm-exporter:4.5.3-4.8.2-distroless, by its digest."""


class QueueArgs(TypedDict):
    """A team's quota of a pool's GPUs; jobs beyond it wait in order. All of it is plain."""

    gpus: int
    """The team's quota: number of GPUs, or of shares if they are shared."""
    pool: NotRequired[str]
    """The GPU pool of the quota. Default: the only one there is."""
    borrow: NotRequired[int]
    """How many more GPUs it may use while other teams of the pool don't need theirs. Default: all of them."""
    reclaim: NotRequired[bool]
    """Whether a job of the team evicts jobs of others that have borrowed its GPUs, which restart later. Default: true."""


class ClusterJobSettings(JobSettings):
    """A Job on the cluster's GPU nodes. Plain, except for keys marked as wired."""

    queue: NotRequired[str]
    """The queue of its team, which admits all of its pods or none. Default: none; it takes any free GPUs."""

    gpus: NotRequired[int]
    """Number of GPUs per pod, or of shares if GPUs are shared. Default: 1."""
    pool: NotRequired[str]
    """The GPU pool that it runs on. Default: the only one there is."""
    parallelism: NotRequired[int]
    """Number of pods that run in parallel, each with separate GPUs; all have to succeed. Default: 1."""
    cpu: NotRequired[float]
    """CPU cores that each pod requests. Default: no request."""
    memory_in_gib: NotRequired[float]
    """Memory that each pod requests and is limited to, in GiB. Default: no request and no limit."""


class ClusterObjectsSettings(TypedDict):
    """The objects on the cluster."""

    mirror: NotRequired[str]
    """A registry, also with a path, that has the default images of nvcr.io and registry.k8s.io under the same repositories, by
    `az acr import` or cache rules: acme.azurecr.io/mirror. For nodes that reach nothing else. Helm reads the charts of JobSet
    and Kueue there, too. Default: none."""
    namespace: NotRequired[NamespaceArgs]
    """The namespace that jobs run in. Default: gpu-jobs, without a quota."""
    device_plugin: NotRequired[DevicePluginArgs | bool]
    """NVIDIA's device plugin on the GPU pools, with the sharing of each. Default: it is declared."""
    feature_labels: NotRequired[bool]
    """Node labels for the GPUs, by NVIDIA's GPU feature discovery, with Node Feature Discovery, which writes them. False if the
    cluster has it already. Default: true."""
    metrics: NotRequired[MetricsArgs | bool]
    """Metrics of the GPUs, for Prometheus. Default: they are exported."""
    groups: NotRequired[bool]
    """JobSet, which starts and ends the workers of a job on several nodes together; Helm installs it. False if the cluster has it
    already. Default: whether a job has `nodes`."""
    queues: NotRequired[Mapping[str, QueueArgs]]
    """Queues by the name of their team, by Kueue; teams of one pool lend each other unused GPUs. Default: none."""
    queue_controller: NotRequired[bool]
    """Kueue, which Helm installs. False if the cluster has it already, such as by AKS's managed extension. Default: whether there
    are queues."""
    jobs: NotRequired[Mapping[str, ClusterJobSettings]]
    """Jobs by name. Default: none."""
    services: NotRequired[Mapping[str, ClusterServiceSettings]]
    """Programs that answer requests, by name, such as the workload scoring with a model. Default: none."""
