"""The arguments of a GPU job on Container Apps, with their defaults.

They are resolved and validated in `container_apps.job.spec`.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, NotRequired, TypedDict

import pulumi

from azure_gpu.container_apps.environment.args import GpuModel, JobDependencies
from azure_gpu.container_apps.environment.environment import JobEnvironment
from azure_gpu.formats import azure_types
from azure_gpu.foundation.common import CommonArgs
from azure_gpu.shared.context import OfStack, WorkloadChoice
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.validation import OpenInput

PLACEHOLDER = "mcr.microsoft.com/k8se/quickstart-jobs:latest"  # Microsoft's own sample: it prints a line and ends
DEFAULT_GPU: GpuModel = "T4"
DEFAULT_NUMBERS = {"retries": 0, "timeout_minutes": 60, "parallelism": 1}
DEFAULT_POLLING_SECONDS = 30  # the service's default, made explicit
DEFAULT_FEWEST_EXECUTIONS = 0
DEFAULT_MOST_EXECUTIONS = 1  # the service's default is 100, each with a GPU


class EventRuleArgs(TypedDict):
    """One event source, as a KEDA scaler. Plain, except where marked as wired."""

    type: str
    """The scaler, such as azure-queue or azure-servicebus."""
    metadata: NotRequired[Mapping[str, str]]
    """The scaler's parameters as strings: the queue's name, the number of messages per execution. Default: none."""
    use_identity: NotRequired[bool]
    """Whether the scaler reads its source as the stack's identity, without a key. Default: false."""
    secrets: NotRequired[Mapping[str, pulumi.Input[str]]]
    """Wired: credentials of the scaler by parameter name, such as `connection`; set them with
    `pulumi config set --secret --path`. Default: none."""


class EventArgs(TypedDict):
    """Events that start executions. All of it is plain."""

    rules: Mapping[str, EventRuleArgs]
    """The event sources by name."""
    polling_interval_seconds: NotRequired[int]
    """Seconds between polls of the sources. Default: 30."""
    min_executions: NotRequired[int]
    """Minimum number of executions per poll, each with a GPU. Default: 0."""
    max_executions: NotRequired[int]
    """Maximum number of executions per poll, each with a GPU. Default: 1."""


class ServerlessGpuJobSettings(TypedDict):
    """Settings of a GPU job. Plain, except where marked as wired."""

    gpu: NotRequired[GpuModel]
    """The GPU of each replica, which has one. Default: T4."""
    image: NotRequired[OpenInput[str]]
    """Image to run, by tag or preferably by digest; at most one of `image` and `workload`. Default: Microsoft's sample, which
    prints a line and ends, for a job that gets its image when it is started."""
    workload: NotRequired[WorkloadChoice]
    """Workload of this repository to run, built by the stack's registry. Default: none."""
    command: NotRequired[Sequence[str]]
    """Program to run in place of the image's own. Default: the image's."""
    args: NotRequired[Sequence[str]]
    """Arguments of that program. Default: the image's."""
    environment: NotRequired[Mapping[str, OpenInput[str]]]
    """Environment variables in plain text. Default: none."""
    secret_environment: NotRequired[Mapping[str, pulumi.Input[str]]]
    """Wired: environment variables that are stored as secrets of the job: encrypted in the stack file by
    `pulumi config set --secret --path`, encrypted in the state, never shown by Azure. Default: none."""
    cpu: NotRequired[float]
    """CPU cores of a replica, billed in addition to the GPU. Default: all of the GPU's machine, 8 with a T4 and 24 with an
    A100."""
    memory_in_gib: NotRequired[float]
    """Memory of a replica in GiB, billed in addition to the GPU. Default: all of the GPU's machine, 56 with a T4 and 220 with an
    A100."""
    schedule: NotRequired[str]
    """Schedule of the job: five cron fields in UTC, such as 0 2 * * 1-5; at most one of `schedule` and `event`. Default: none;
    the job is started manually."""
    event: NotRequired[EventArgs]
    """Starts the job by events, such as messages in a queue. Default: none."""
    retries: NotRequired[int]
    """Retries of a failed replica; each one is billed. Default: 0."""
    timeout_minutes: NotRequired[int]
    """Minutes after which a running replica is stopped. Default: 60."""
    parallelism: NotRequired[int]
    """Parallel replicas of an execution, each with a GPU. Default: 1."""
    completions: NotRequired[int]
    """Number of replicas that must succeed for the execution to succeed. Default: `parallelism`."""
    job_name: NotRequired[OpenInput[str]]
    """Name of the job in Azure. Default: built from project, team, stack and the job's name here."""
    container_name: NotRequired[str]
    """Name of its container. Default: the job's name here."""
    location: NotRequired[OpenInput[str]]
    """Azure region; the jobs of a region share an environment. Default: the stack's."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Additional tags, which override the stack's. Default: none."""
    as_of: NotRequired[str]
    """The date at which the job is evaluated, YYYY-MM-DD, and its tag `as-of`. Default: the stack's."""
    expires_after: NotRequired[str]
    """The last day of the job, YYYY-MM-DD; the tag `expires-at` holds the end of that day in UTC. It is for people and tools:
    Azure deletes nothing by it. Default: none; required."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.JOB)]]
    """azure-native properties of the job, set last and validated only by Azure; null removes one. Default: none."""


class ServerlessGpuJobArgs(ServerlessGpuJobSettings, CommonArgs):
    """Arguments of ServerlessGpuJob."""

    job_environment: JobEnvironment | OpenInput[str]
    """The environment of the job: the component, or its ARM id. Identity and registry default to the component's. With an output
    as the id, the workload profiles can't be read: they must have the names that `JobEnvironment` uses, gpu-t4 and gpu-a100."""


class ServerlessGpuJobWiring(ServerlessGpuJobSettings, OfStack, JobDependencies):
    """Arguments of ServerlessGpuJob, including the outputs of environment and foundation."""
