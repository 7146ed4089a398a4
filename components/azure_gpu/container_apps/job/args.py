"""What a stack file can say about a GPU job on Container Apps, with the defaults of its keys.

`ServerlessGpuJobSettings`. What becomes of it is in `container_apps.job.resolve`, what is refused in
`container_apps.job.rules`.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, NotRequired, TypedDict

import pulumi

from azure_gpu.container_apps.environment.args import GpuModel, GpuModelName, JobSurroundings
from azure_gpu.container_apps.environment.environment import JobEnvironment
from azure_gpu.formats import azure_types
from azure_gpu.foundation.common import CommonArgs
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.validation import OpenInput
from azure_gpu.shared.workloads import WorkloadName

PLACEHOLDER = "mcr.microsoft.com/k8se/quickstart-jobs:latest"  # Microsoft's own sample: it prints a line and ends
DEFAULT_GPU = GpuModel.T4
DEFAULT_RETRIES = 0
DEFAULT_TIMEOUT_MINUTES = 60
DEFAULT_PARALLELISM = 1
DEFAULT_POLLING_SECONDS = 30  # the service's own, said so that nobody has to look it up
DEFAULT_FEWEST_EXECUTIONS = 0
DEFAULT_MOST_EXECUTIONS = 1  # the service's own is 100, each with a GPU


class EventRuleArgs(TypedDict):
    """One source of events, as a scaler of KEDA describes it. Plain, but for what is called wired."""

    type: str
    """The scaler, such as azure-queue or azure-servicebus."""
    metadata: NotRequired[Mapping[str, str]]
    """What the scaler is told, all of it text: the queue's name, how many messages make one execution. Default: none."""
    use_identity: NotRequired[bool]
    """True: the scaler reads its source as the stack's identity, without a key. Default: false."""
    secrets: NotRequired[Mapping[str, pulumi.Input[str]]]
    """Wired: what the scaler authenticates with, by its own parameter's name, such as `connection`; written by
    `pulumi config set --secret --path`. Default: none."""


class EventArgs(TypedDict):
    """Events that start executions. All of it is plain."""

    rules: Mapping[str, EventRuleArgs]
    """The sources of events by name."""
    polling_interval_seconds: NotRequired[int]
    """After how many seconds the sources are asked again. Default: 30."""
    min_executions: NotRequired[int]
    """How many executions a poll starts at least, each with a GPU. Default: 0."""
    max_executions: NotRequired[int]
    """How many executions a poll starts at most, each with a GPU. Default: 1."""


class ServerlessGpuJobSettings(TypedDict):
    """A GPU job, as a stack file says it. Plain, but for what is called wired."""

    gpu: NotRequired[GpuModelName]
    """The GPU of each replica, which has one. Default: T4."""
    image: NotRequired[OpenInput[str]]
    """Image to run, by tag or better by digest; at most one of `image` and `workload`. Default: Microsoft's sample, which prints
    a line and ends, for a job that gets its image when it is started."""
    workload: NotRequired[WorkloadName]
    """Workload of this repository to run, built by the stack's registry. Default: none."""
    command: NotRequired[Sequence[str]]
    """Program to run in place of the image's own. Default: the image's."""
    args: NotRequired[Sequence[str]]
    """Arguments of that program. Default: the image's."""
    environment: NotRequired[Mapping[str, OpenInput[str]]]
    """Environment variables that everybody may read. Default: none."""
    secret_environment: NotRequired[Mapping[str, pulumi.Input[str]]]
    """Wired: environment variables that nobody may read, kept as secrets of the job: encrypted in the stack file by
    `pulumi config set --secret --path`, encrypted in the state, never shown by Azure. Default: none."""
    cpu: NotRequired[float]
    """CPU cores of a replica, billed beside the GPU. Default: all that the GPU's machine has, 8 with a T4 and 24 with an A100."""
    memory_in_gib: NotRequired[float]
    """Memory of a replica in GiB, billed beside the GPU. Default: all that the GPU's machine has, 56 with a T4 and 220 with an
    A100."""
    schedule: NotRequired[str]
    """Starts the job by itself: five fields of cron in UTC, such as 0 2 * * 1-5; at most one of `schedule` and `event`. Default:
    the job starts when somebody starts it."""
    event: NotRequired[EventArgs]
    """Starts the job when there is something to do: messages in a queue, for example. Default: none."""
    retries: NotRequired[int]
    """How often a replica that fails is started again; each try costs. Default: 0."""
    timeout_minutes: NotRequired[int]
    """After how many minutes a replica that still runs is stopped. Default: 60."""
    parallelism: NotRequired[int]
    """Replicas of an execution that run side by side, each with a GPU. Default: 1."""
    completions: NotRequired[int]
    """How many of them have to succeed for the execution to succeed. Default: all of `parallelism`."""
    job_name: NotRequired[OpenInput[str]]
    """Name of the job in Azure. Default: made of project, team, stack and the job's name here."""
    container_name: NotRequired[str]
    """Name of its container. Default: the job's name here."""
    location: NotRequired[OpenInput[str]]
    """Azure region; the jobs of a region share an environment. Default: the stack's."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Tags beside the stack's, over which they win. Default: none."""
    as_of: NotRequired[str]
    """The day at which the job is judged, YYYY-MM-DD, and its tag `as-of`. Default: the stack's."""
    expires_after: NotRequired[str]
    """The last day of the job, YYYY-MM-DD; the tag `expires-at` holds the instant at which that day ends in UTC. Tools and people
    keep it: Azure itself deletes nothing by it. Every job needs one. Default: none."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.JOB)]]
    """azure-native properties of the job, set last and judged only by Azure; null removes one. Default: none."""


class ServerlessGpuJobArgs(ServerlessGpuJobSettings, CommonArgs):
    """A GPU job, and where it belongs."""

    job_environment: JobEnvironment | OpenInput[str]
    """The environment that it runs in: the component, or its ARM id. Identity and registry are the component's where none are
    given here. Of an output the workload profiles can't be read before it is there: they have to be called as `JobEnvironment`
    calls them, gpu-t4 and gpu-a100."""


class ServerlessGpuJobWiring(ServerlessGpuJobSettings, OfStack, JobSurroundings):
    """The same, wired to what it needs."""
