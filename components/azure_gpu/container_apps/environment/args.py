"""The arguments of an environment for GPU jobs, with their defaults, and its data for jobs."""

from collections.abc import Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

import pulumi

from azure_gpu.formats import azure_types
from azure_gpu.foundation.common import CommonArgs
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.part import PartArgs
from azure_gpu.shared.validation import Choice, OpenInput

GpuModel = Annotated[
    Literal["T4", "A100"], Choice("JobGpuModel", "The GPUs of Container Apps, billed by the second. A replica has one.")
]


def profile_name(gpu: str) -> str:
    """The name of the workload profile with this GPU in a created environment; the type's name is too long."""
    return f"gpu-{gpu.lower()}"


class JobEnvironmentSettings(PartArgs):
    """Settings of a created or existing environment."""

    location: NotRequired[OpenInput[str]]
    """The Azure region of its jobs. Default: the resource group's."""
    gpus: NotRequired[Sequence[GpuModel]]
    """Plain: the GPUs of its jobs. A created environment has a workload profile for each of them, and keeps those that it has:
    Azure rejects an environment with a GPU without quota, and can't remove a profile in use. Default: every GPU in the region."""
    subnet_id: NotRequired[OpenInput[str]]
    """Wired: ARM id of a subnet for its jobs alone, /27 or larger and delegated to Microsoft.App/environments; the environment is
    then internal, without a public address. Default: a network of Azure's."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.MANAGED_ENVIRONMENT)]]
    """azure-native properties of the environment, set last and validated only by Azure; null removes one. Default: none."""


class JobEnvironmentArgs(JobEnvironmentSettings, CommonArgs):
    """Arguments of JobEnvironment. By default it is created."""


class JobEnvironmentWiring(JobEnvironmentSettings, OfStack):
    """Arguments of JobEnvironment, including the foundation's outputs."""


class EnvironmentOfJob(TypedDict):
    """The environment of a job."""

    id: pulumi.Input[str]
    """Wired: ARM id of the environment."""
    profiles: dict[str, str]
    """Plain: the name of its workload profile for each GPU."""
    existing: bool
    """Plain: true for an existing environment, whose GPUs are looked up instead of taken from the catalog."""


class JobDependencies(TypedDict):
    """Data of an environment for its jobs."""

    runs_in: EnvironmentOfJob
    """The environment."""
