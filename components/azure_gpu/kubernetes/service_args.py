"""Settings of a service on a cluster, a Kubernetes Deployment and its related objects: `ClusterServiceSettings` and its defaults.

`kubernetes.services` resolves the settings and builds the manifests.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

import pulumi

from azure_gpu.catalog.services.machine_learning import deployments
from azure_gpu.formats.tags import MODEL_STORE
from azure_gpu.shared.validation import Choice, OpenInput
from azure_gpu.shared.workloads import WorkloadName

DEFAULT_PORT = deployments.PORT
DEFAULT_ROUTE = deployments.LIVENESS_ROUTE  # answers "Healthy" there
DEFAULT_REPLICAS = 1
DEFAULT_CPU_PERCENT = 70
DEFAULT_START_MINUTES = 10
DEFAULT_UNAVAILABLE = 1
DEFAULT_CONTAINER = MODEL_STORE


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
    workload: NotRequired[WorkloadName]
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
