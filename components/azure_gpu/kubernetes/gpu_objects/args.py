"""Settings of the objects on a cluster with GPU pools, `ClusterObjectsSettings`, with the defaults of its keys: device plugin,
labels, metrics, namespace, jobs and services.

They are resolved in `kubernetes.gpu_objects.resolve`.
"""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from azure_gpu.catalog.services.aks import dcgm, device_plugin
from azure_gpu.kubernetes.job_args import JobSettings
from azure_gpu.kubernetes.service_args import ClusterServiceSettings
from azure_gpu.shared.validation import OpenInput

DEFAULT_NAMESPACE = "gpu-jobs"
DEFAULT_PLUGIN_IMAGE = device_plugin.PINNED_IMAGE
DEFAULT_EXPORTER_IMAGE = dcgm.PINNED_IMAGE
DEFAULT_GPUS = 1
DEFAULT_PARALLELISM = 1
DEFAULT_RECLAIM = True


class NamespaceArgs(TypedDict):
    """The namespace that jobs run in. All of it is plain."""

    name: NotRequired[str]
    """Its name. Default: gpu-jobs."""
    max_gpus: NotRequired[int]
    """How many GPUs its pods may ask for together, shares of GPUs counted like GPUs. Default: as many as there are."""


class DevicePluginArgs(TypedDict):
    """NVIDIA's device plugin, without which Kubernetes sees no GPU; `true` and `false` stand for `enabled`."""

    enabled: NotRequired[bool]
    """False: the plugin isn't declared here, because something else brings one. Default: true."""
    image: NotRequired[OpenInput[str]]
    """Its image. Default: nvcr.io/nvidia/k8s-device-plugin:v0.18.0, which Microsoft's page deploys, by its digest."""


class MetricsArgs(TypedDict):
    """NVIDIA's DCGM exporter, one pod on each node with GPUs; `true` and `false` stand for `enabled`."""

    enabled: NotRequired[bool]
    """False: no metrics. Default: true."""
    counters: NotRequired[Sequence[str]]
    """What it measures, of its default set. Default: use of GPU and memory, power, temperature, clock and errors."""
    image: NotRequired[OpenInput[str]]
    """Its image. Default: nvcr.io/nvidia/k8s/dcgm-exporter:4.5.3-4.8.2-distroless, by its digest."""


class QueueArgs(TypedDict):
    """What jobs of one team may have of a pool's GPUs at once; more jobs wait in their order. All of it is plain."""

    gpus: int
    """How many GPUs are the team's own, or shares of GPUs, where they are shared."""
    pool: NotRequired[str]
    """The GPU pool that they are of. Default: the only one there is."""
    borrow: NotRequired[int]
    """How many GPUs more it may have while other teams of the pool don't use theirs. Default: all of them."""
    reclaim: NotRequired[bool]
    """Whether a job of the team ends jobs of others that have borrowed its GPUs, which start again later. Default: true."""


class ClusterJobSettings(JobSettings):
    """A Job on the cluster's GPU nodes. Plain, but for what is called wired."""

    queue: NotRequired[str]
    """The queue of its team, which admits all of it or nothing. Default: none; it takes what is free, whosever it is."""

    gpus: NotRequired[int]
    """How many GPUs each of its pods gets, or shares of one, where GPUs are shared. Default: 1."""
    pool: NotRequired[str]
    """The GPU pool that it runs on. Default: the only one there is."""
    parallelism: NotRequired[int]
    """Pods of the job that run side by side, each with GPUs of its own; all have to succeed. Default: 1."""
    cpu: NotRequired[float]
    """CPU cores that each pod asks for. Default: it takes what is free."""
    memory_in_gib: NotRequired[float]
    """Memory that each pod asks for, and that it may use at most, in GiB. Default: it takes what is free."""


class ClusterObjectsSettings(TypedDict):
    """What is on the cluster."""

    namespace: NotRequired[NamespaceArgs]
    """The namespace that jobs run in. Default: gpu-jobs, without a quota."""
    device_plugin: NotRequired[DevicePluginArgs | bool]
    """NVIDIA's device plugin on the GPU pools, with the sharing of each. Default: it is declared."""
    feature_labels: NotRequired[bool]
    """Labels on the nodes that say which GPUs they have, by NVIDIA's GPU feature discovery; Node Feature Discovery, which writes
    them, comes with it. False where the cluster has it already. Default: true."""
    metrics: NotRequired[MetricsArgs | bool]
    """Metrics of the GPUs, for Prometheus. Default: they are exported."""
    groups: NotRequired[bool]
    """JobSet, by which the workers of a job on several nodes start and end together; Helm installs it. False where the cluster
    has it already. Default: whether a job has `nodes`."""
    queues: NotRequired[Mapping[str, QueueArgs]]
    """Queues by the name of their team, by Kueue; teams of one pool lend each other what they don't use. Default: none."""
    queue_controller: NotRequired[bool]
    """Kueue, which Helm installs. False where the cluster has it already, such as by AKS's managed extension. Default: whether
    there are queues."""
    jobs: NotRequired[Mapping[str, ClusterJobSettings]]
    """Jobs by name. Default: none."""
    services: NotRequired[Mapping[str, ClusterServiceSettings]]
    """Programs that answer requests, by name, such as the workload scoring with a model. Default: none."""
