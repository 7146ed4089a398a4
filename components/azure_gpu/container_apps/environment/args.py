"""The arguments of an environment for GPU jobs, with their defaults, and what it offers to its jobs."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Literal, NotRequired, TypedDict

import pulumi

from azure_gpu.catalog.services import container_apps
from azure_gpu.formats import azure_types
from azure_gpu.foundation.common import CommonArgs
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.part import PartArgs
from azure_gpu.shared.validation import OpenInput


class GpuModel(StrEnum):
    """The GPUs that Container Apps rents by the second. A replica has one."""

    T4 = "T4"  # 16 GB
    A100 = "A100"  # 80 GB, in fewer regions

    @property
    def profile_type(self) -> str:
        """The type of the workload profile with this GPU."""
        return container_apps.serverless_of(self.value)

    @property
    def profile_name(self) -> str:
        """What that profile is called in an environment that is created; its type's own name is too long for one."""
        return f"gpu-{self.value.lower()}"


GpuModelName = GpuModel | Literal["T4", "A100"]


class JobEnvironmentSettings(PartArgs):
    """An environment that is created, or the existing one to use, and what for."""

    location: NotRequired[OpenInput[str]]
    """The Azure region of its jobs. Default: the resource group's."""
    gpus: NotRequired[Sequence[GpuModelName]]
    """Plain: the GPUs that its jobs use. An environment that is created has a workload profile for each of them, and keeps those
    that it has: Azure refuses an environment with a GPU for which there is no quota, and takes no profile away on which a job
    runs. Default: every GPU that the region has."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.MANAGED_ENVIRONMENT)]]
    """azure-native properties of the environment, set last and judged only by Azure; null removes one. Default: none."""


class JobEnvironmentArgs(JobEnvironmentSettings, CommonArgs):
    """An environment, and where it belongs. One that is created is the default."""


class JobEnvironmentWiring(JobEnvironmentSettings, OfStack):
    """The same, wired to what it needs."""


class EnvironmentOfJob(TypedDict):
    """Where a job runs."""

    id: pulumi.Input[str]
    """Wired: ARM id of the environment."""
    profiles: dict[str, str]
    """Plain: the name of its workload profile for each GPU."""
    existing: bool
    """Plain: true where the environment isn't the stack's own; what it offers is then known by looking and not by the catalog."""


class JobSurroundings(TypedDict):
    """What an environment offers to the jobs that run in it."""

    runs_in: EnvironmentOfJob
    """The environment."""
