"""`ServerlessGpuJobSpec`: the resolved arguments of a GPU job on Container Apps."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from azure_gpu.container_apps.environment.args import GpuModel
from azure_gpu.shared.context import Tags
from azure_gpu.shared.workloads import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerlessGpuJobSpec:
    """The resolved arguments. Outputs, secrets and events stay in the arguments."""

    job_name: str
    container_name: str
    gpu: GpuModel
    image: str | None  # as written; None where a workload is run
    workload: Workload | None
    command: tuple[str, ...]  # empty: the image's
    args: tuple[str, ...]
    environment: Mapping[str, pulumi.Input[str]]
    cpu: float
    memory_in_gib: float
    schedule: str | None  # neither a schedule nor the event of the arguments: the job is started by hand
    retries: int
    timeout_seconds: int
    parallelism: int
    completions: int
    location: str
    tags: Tags
    expires_at: str | None  # instant in UTC, RFC 3339
    hourly_cost: float | None  # in USD, while an execution runs; None: not known
