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
    """A Job: one container that runs to its end. It runs when it is declared, and again when something below changes, since
    Kubernetes never changes what a Job runs. Plain, but for what is called wired."""

    image: NotRequired[OpenInput[str]]
    """Image to run, by tag or better by digest. Exactly one of `image` and `workload` is needed."""
    workload: NotRequired[WorkloadName]
    """Workload of this repository to run, built by the stack's registry."""
    command: NotRequired[Sequence[str]]
    """Program to run in place of the image's own. Default: the image's."""
    args: NotRequired[Sequence[str]]
    """Arguments of that program. Default: the image's."""
    environment: NotRequired[Mapping[str, OpenInput[str]]]
    """Environment variables that everybody may read. Default: none."""
    secret_environment: NotRequired[Mapping[str, pulumi.Input[str]]]
    """Wired: environment variables that nobody may read, kept as a Secret beside the Job: encrypted in the stack file by
    `pulumi config set --secret --path`, encrypted in the state. Default: none."""
    active_thread_percentage: NotRequired[float]
    """The share of its GPU's threads that the job gets, where GPUs are shared by mps. Default: the sharing's."""
    pinned_memory_limit: NotRequired[str]
    """The memory of its GPU that the job gets, such as 4G, where GPUs are shared by mps. Default: the sharing's."""
    nodes: NotRequired[int]
    """Workers of the job, a pod each, on nodes of their own where there are that many; they start together, find each other by
    TF_CONFIG, and start again together where one is lost. More than 1 need JobSet on the cluster. Default: 1."""
    retries: NotRequired[int]
    """How often a pod that fails is started again, or all workers together; each try costs. A node that is drained is no failure,
    nor is one that vanishes, unless the other workers of a group fail before Kubernetes notices it. Default: 0."""
    timeout_minutes: NotRequired[int]
    """After how many minutes a job that still runs is stopped, those that it waited for a node included; of several workers,
    since they last started together. Default: never."""
    wait: NotRequired[bool]
    """True: an update ends when the job has succeeded, and fails when it fails or hasn't ended after `timeout_minutes` or a day.
    Default: false, the job goes on by itself."""
