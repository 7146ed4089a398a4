"""Settings of a Kubernetes Job on AKS or any other cluster: `JobSettings` and its defaults.

Each kind of cluster adds keys for how a job gets its GPU. `kubernetes.jobs` resolves the settings and builds the manifest.
"""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import pulumi

from azure_gpu.shared.validation import OpenInput
from azure_gpu.shared.workloads import WorkloadName

DEFAULT_RETRIES = 0
DEFAULT_NODES = 1


class JobSettings(TypedDict):
    """A Job: one container that runs to completion. It runs when it is created, and again when something below changes, since
    Kubernetes never changes an existing Job. Plain, except for keys marked as wired."""

    image: NotRequired[OpenInput[str]]
    """Image to run, by tag or better by digest. Exactly one of `image` and `workload` is required."""
    workload: NotRequired[WorkloadName]
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
