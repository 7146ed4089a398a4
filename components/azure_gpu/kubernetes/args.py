"""Arguments of what runs on a Kubernetes cluster with GPUs: sharing, jobs and services."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

import pulumi

from azure_gpu.catalog.services.aks.mig import SINGLE
from azure_gpu.catalog.services.gpu_sharing import SharingRequest, Strategy
from azure_gpu.shared.context import WorkloadChoice
from azure_gpu.shared.validation import Choice, OpenInput

StrategyChoice = Annotated[Strategy, Choice("Strategy", "")]


class SharingArgs(TypedDict):
    """How programs share a GPU. All of it is plain."""

    strategy: NotRequired[StrategyChoice]
    """none gives every program a whole GPU; time-slicing lets them take turns, without isolation; mps runs them at once and can
    limit threads and memory; mig divides the GPU into instances that the hardware isolates. Default: none."""
    replicas: NotRequired[int]
    """Number of programs that share one GPU, or one MIG instance; with time-slicing and mps. Default: none."""
    profile: NotRequired[str]
    """MIG profile into which a GPU is divided, such as MIG1g; with mig, and with time-slicing of the instances. Default: none."""
    mig_strategy: NotRequired[str]
    """Resource name of the instances in Kubernetes: single, nvidia.com/gpu; mixed, by their profile. Default: single."""
    rename: NotRequired[bool]
    """True: the shared resource is named nvidia.com/gpu.shared, to distinguish it from a whole GPU. Default: false."""
    active_thread_percentage: NotRequired[float]
    """Percentage of a GPU's threads that each program gets, unless it sets another; with mps. Default: no limit."""
    pinned_memory_limit: NotRequired[str]
    """GPU memory that each program gets, such as 4G, unless it sets another; with mps. Default: no limit."""


def sharing_request(settings: SharingArgs, path: str) -> SharingRequest:
    """Converts the settings for the catalog's rules. `path` is the settings' path."""
    return SharingRequest(
        path=path,
        strategy=str(settings.get("strategy", "none")),
        replicas=settings.get("replicas"),
        profile=settings.get("profile", ""),
        mig_strategy=settings.get("mig_strategy", SINGLE),
        rename=settings.get("rename", False),
        active_thread_percentage=settings.get("active_thread_percentage"),
        pinned_memory_limit=settings.get("pinned_memory_limit", ""),
    )


class JobSettings(TypedDict):
    """A Job: one container that runs to completion. It runs when it is created, and again when something below changes, since
    Kubernetes never changes an existing Job. Plain, except for keys marked as wired."""

    image: NotRequired[OpenInput[str]]
    """Image to run, by tag or better by digest. Exactly one of `image` and `workload` is required."""
    workload: NotRequired[WorkloadChoice]
    """Workload of this repository to run, built by the stack's registry."""
    command: NotRequired[Sequence[str]]
    """Program to run instead of the image's entrypoint. Default: the image's."""
    args: NotRequired[Sequence[str]]
    """Arguments of that program. Default: the image's."""
    environment: NotRequired[Mapping[str, OpenInput[str]]]
    """Environment variables, not secret. Default: none."""
    secret_environment: NotRequired[Mapping[str, pulumi.Input[str]]]
    """Wired: secret environment variables, kept as a Secret beside the Job: encrypted in the stack file by `pulumi config set
    --secret --path`, encrypted in the state. Default: none."""
    active_thread_percentage: NotRequired[float]
    """Percentage of its GPU's threads that the job gets, with mps. Default: the sharing's."""
    pinned_memory_limit: NotRequired[str]
    """GPU memory that the job gets, such as 4G, with mps. Default: the sharing's."""
    nodes: NotRequired[int]
    """Number of workers, one pod each, on different nodes if there are enough; they start together, find each other by TF_CONFIG,
    and restart together if one is lost. More than 1 requires JobSet on the cluster. Default: 1."""
    retries: NotRequired[int]
    """How often a failed pod is restarted, or all workers together; each retry costs. A drained node doesn't count as a failure,
    nor does one that vanishes, unless the other workers of a group fail before Kubernetes notices it. Default: 0."""
    timeout_minutes: NotRequired[int]
    """Minutes after which a running job is stopped, including its wait for a node; with several workers, since they last started
    together. Default: never."""
    wait: NotRequired[bool]
    """True: an update ends when the job has succeeded, and fails when it fails or hasn't ended after `timeout_minutes` or a day.
    Default: false, the update doesn't wait."""


Reach = Annotated[Literal["cluster", "network"], Choice("Reach", "From where the service is reachable.")]


class ServiceModelArgs(TypedDict):
    """A model in the stack's storage, downloaded when a pod starts with the stack's identity, without a secret. All plain."""

    path: str
    """Path of its folder in the container, such as digits/1. AZUREML_MODEL_DIR is its path in the pod."""
    container: NotRequired[str]
    """The blob container. Default: models."""


class ServiceAutoscaleArgs(TypedDict):
    """Limits for the number of a service's pods, which is scaled by CPU utilization. All of it is plain."""

    min: NotRequired[int]
    """Minimum number of pods, at least 1. Default: 1."""
    max: int
    """Maximum number of pods."""
    cpu_percent: NotRequired[int]
    """Target CPU utilization, in percent of each pod's `cpu`, which is required. Default: 70."""


class ServiceProbeArgs(TypedDict):
    """How Kubernetes checks the health of a pod: by a request to its port. All of it is plain."""

    route: NotRequired[str]
    """Path of the request. Default: /."""
    period_seconds: NotRequired[int]
    """Seconds between checks. Default: 5."""
    failures: NotRequired[int]
    """Consecutive failures after which a pod gets no requests; after three times as many it is restarted. Default: 3."""
    start_minutes: NotRequired[int]
    """Maximum time to start, for instance to load its model. Default: 10."""


class ClusterServiceSettings(TypedDict):
    """A program that answers requests: pods with rolling updates, one address inside the cluster, and a disruption budget. Plain,
    except for keys marked as wired."""

    image: NotRequired[OpenInput[str]]
    """Image to run, by tag or better by digest. Exactly one of `image` and `workload` is required."""
    workload: NotRequired[WorkloadChoice]
    """Workload of this repository to run, such as scoring, built by the stack's registry."""
    command: NotRequired[Sequence[str]]
    """Program to run instead of the image's entrypoint. Default: the image's."""
    args: NotRequired[Sequence[str]]
    """Arguments of that program. Default: the image's."""
    environment: NotRequired[Mapping[str, OpenInput[str]]]
    """Environment variables, not secret. Default: none."""
    secret_environment: NotRequired[Mapping[str, pulumi.Input[str]]]
    """Wired: secret environment variables, kept as a Secret: encrypted in the stack file by `pulumi config set --secret --path`,
    encrypted in the state. Default: none."""
    model: NotRequired[ServiceModelArgs]
    """A model that its pods download. Requires storage, and an identity that the stack has created: its `serving_identity` if
    there is one. Default: none, for an image that includes its model."""
    port: NotRequired[int]
    """The port that its container listens on. Default: 5001."""
    gpus: NotRequired[int]
    """Number of GPUs per pod, or of shares if GPUs are shared; 0: none, on any node. Default: 1."""
    pool: NotRequired[str]
    """The GPU pool that it runs on. Default: the only one there is."""
    cpu: NotRequired[float]
    """CPU cores that each pod requests; required with `autoscale`. Default: no request."""
    memory_in_gib: NotRequired[float]
    """Memory that each pod requests and is limited to, in GiB. Default: no request and no limit."""
    replicas: NotRequired[int]
    """Number of pods. Default: 1."""
    autoscale: NotRequired[ServiceAutoscaleArgs]
    """Scaling of the number of pods. Default: a fixed number."""
    probes: NotRequired[ServiceProbeArgs]
    """How Kubernetes checks the health of a pod. Default: requests to / every 5 seconds, and 10 minutes to start."""
    max_unavailable: NotRequired[int]
    """Maximum number of pods that node drains, such as in an upgrade, may take away at a time. Default: 1."""
    reach: NotRequired[Reach]
    """From where it is reachable. cluster: only from the cluster; network: also from the cluster's virtual network, by an
    internal load balancer. A public address isn't supported: a service has neither authentication nor TLS. Default: cluster."""
