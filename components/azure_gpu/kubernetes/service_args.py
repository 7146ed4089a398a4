"""Settings of a service on a cluster, a Kubernetes Deployment and its related objects: `ClusterServiceSettings` and its defaults.

`kubernetes.services` resolves the settings and builds the manifests.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Literal, NotRequired, TypedDict

import pulumi

from azure_gpu.catalog.services.machine_learning import scoring
from azure_gpu.formats.tags import MODEL_STORE
from azure_gpu.shared.validation import OpenInput
from azure_gpu.shared.workloads import WorkloadName

DEFAULT_PORT = scoring.PORT
DEFAULT_ROUTE = scoring.LIVENESS_ROUTE  # answers "Healthy" there
DEFAULT_REPLICAS = 1
DEFAULT_CPU_PERCENT = 70
DEFAULT_START_MINUTES = 10
DEFAULT_UNAVAILABLE = 1
DEFAULT_CONTAINER = MODEL_STORE


class Reach(StrEnum):
    """Who can ask the service."""

    CLUSTER = "cluster"
    NETWORK = "network"


ReachName = Reach | Literal["cluster", "network"]


class ServiceModelArgs(TypedDict):
    """A model in the stack's storage, fetched when a pod starts by the stack's identity, without a secret. All plain."""

    path: str
    """Where it lies in the container: a folder, such as digits/1. AZUREML_MODEL_DIR says where the pod has it."""
    container: NotRequired[str]
    """The container. Default: models."""


class ServiceAutoscaleArgs(TypedDict):
    """Between which numbers of pods a service grows and shrinks, by how busy their processors are. All of it is plain."""

    min: NotRequired[int]
    """How many stay while nobody asks; at least 1. Default: 1."""
    max: int
    """How many there can be at most."""
    cpu_percent: NotRequired[int]
    """How busy pods are meant to be, in percent of the `cpu` that each asks for, which has to be said. Default: 70."""


class ServiceProbeArgs(TypedDict):
    """How Kubernetes finds out whether a pod is well: by a request to its port. All of it is plain."""

    route: NotRequired[str]
    """Path of the request. Default: /."""
    period_seconds: NotRequired[int]
    """How long after one check the next is. Default: 5."""
    failures: NotRequired[int]
    """How many checks in a row have to fail before a pod gets no requests; three times as many, and it is started again.
    Default: 3."""
    start_minutes: NotRequired[int]
    """How long it may take to start, such as to load its model. Default: 10."""


class ClusterServiceSettings(TypedDict):
    """A program that answers requests: pods that are replaced one by one, one address inside the cluster, and a budget for
    drains. Plain, but for what is called wired."""

    image: NotRequired[OpenInput[str]]
    """Image to run, by tag or better by digest. Exactly one of `image` and `workload` is needed."""
    workload: NotRequired[WorkloadName]
    """Workload of this repository to run, such as scoring, built by the stack's registry."""
    command: NotRequired[Sequence[str]]
    """Program to run in place of the image's own. Default: the image's."""
    args: NotRequired[Sequence[str]]
    """Arguments of that program. Default: the image's."""
    environment: NotRequired[Mapping[str, OpenInput[str]]]
    """Environment variables that everybody may read. Default: none."""
    secret_environment: NotRequired[Mapping[str, pulumi.Input[str]]]
    """Wired: environment variables that nobody may read, kept as a Secret: encrypted in the stack file by
    `pulumi config set --secret --path`, encrypted in the state. Default: none."""
    model: NotRequired[ServiceModelArgs]
    """A model that its pods fetch. Needs storage, and an identity that the stack has made: its `serving_identity` where
    there is one. Default: none, for an image that has it."""
    port: NotRequired[int]
    """The port that its container listens on. Default: 5001."""
    gpus: NotRequired[int]
    """How many GPUs each pod gets, or shares of one where GPUs are shared; 0: none, on whatever node. Default: 1."""
    pool: NotRequired[str]
    """The GPU pool that it runs on. Default: the only one there is."""
    cpu: NotRequired[float]
    """CPU cores that each pod asks for; needed with `autoscale`. Default: it takes what is free."""
    memory_in_gib: NotRequired[float]
    """Memory that each pod asks for, and that it may use at most, in GiB. Default: it takes what is free."""
    replicas: NotRequired[int]
    """How many pods. Default: 1."""
    autoscale: NotRequired[ServiceAutoscaleArgs]
    """How the number of pods grows and shrinks. Default: it stays."""
    probes: NotRequired[ServiceProbeArgs]
    """How Kubernetes finds out whether a pod is well. Default: requests to / every 5 seconds, and 10 minutes to start."""
    max_unavailable: NotRequired[int]
    """How many pods a drained node, such as in an upgrade, may take away at a time. Default: 1."""
    reach: NotRequired[ReachName]
    """Who can ask it. cluster: what runs there alone; network: the cluster's virtual network too, by an internal load balancer.
    There is no address for everybody: a service has neither sign-on nor TLS of its own. Default: cluster."""
