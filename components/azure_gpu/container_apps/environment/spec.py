"""What can be asked of an environment for GPU jobs: its arguments, their defaults, and every reason to refuse them.

In: `JobEnvironmentArgs`. Out: a `JobEnvironmentSpec`, and problems; `look_up` adds what Azure says about an existing one.
"""

from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import TypedDict

import pulumi
from pulumi_azure_native import app

from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services import container_apps
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.foundation.spec import PartArgs, resolve_part
from azure_gpu.shared import existing
from azure_gpu.shared.context import Context, StackArgs, Surroundings

PATH = "job_environment"  # where a stack file says which one


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


class JobEnvironmentSettings(PartArgs):
    """An environment that is created, or the existing one to use, and what for."""

    location: str
    """Plain: the Azure region of its jobs."""
    gpus: list[GpuModel]
    """Plain: the GPUs that its jobs use. An environment that is created has a workload profile for every GPU that the region has:
    it costs nothing, and one that a job still runs on couldn't be taken away when the job changes to another."""


class JobEnvironmentArgs(JobEnvironmentSettings, Surroundings):
    """An environment, and what it stands on."""

    stack: StackArgs
    """What all components of the stack share."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnvironmentSpec:
    """What is declared, or used."""

    context: Context
    name: str
    existing: ArmId | None
    location: str
    needed: tuple[GpuModel, ...]
    declared: tuple[GpuModel, ...]  # the same, and the others that the region has on the stack's day


def check(args: JobEnvironmentSettings, context: Context) -> list[Problem]:
    """Everything that is wrong with the arguments, what has to be read included."""
    spec, problems = resolve(args, context)
    return [*problems, *look_up(spec)[1]]


def resolve(args: JobEnvironmentSettings, context: Context) -> tuple[JobEnvironmentSpec, list[Problem]]:
    """What is declared, and what is wrong with the arguments. Pure; what an existing environment has is for `look_up` to say."""
    location = regions.normalise(args["location"])
    given = PartArgs(existing=args["existing"]) if "existing" in args else PartArgs()
    if "create" in args:
        given["create"] = args["create"]
    part, problems = resolve_part(given, azure_types.MANAGED_ENVIRONMENT, location, context, PATH)
    needed = {GpuModel(gpu) for gpu in args["gpus"]}
    sold = {gpu for gpu in GpuModel if _is_sold(gpu, location, context.day)}
    spec = JobEnvironmentSpec(
        context=context,
        name=part.name,
        existing=part.existing,
        location=location,
        needed=tuple(sorted(needed)),
        declared=tuple(sorted(needed | sold)),
    )
    return spec, problems


def _is_sold(gpu: GpuModel, location: str, day: date) -> bool:
    seen = container_apps.PROFILES[gpu.profile_type].regions.get(location)
    return seen is not None and seen.day <= day


def look_up(spec: JobEnvironmentSpec) -> tuple[dict[str, str], list[Problem]]:
    """The name of the workload profile for each GPU, read from an existing environment, with a problem for what isn't there."""
    if spec.existing is None:
        return {gpu.value: gpu.profile_name for gpu in spec.declared}, []
    path = f"{PATH}.existing"
    found, problems = existing.read(
        lambda group, name: app.get_managed_environment(resource_group_name=group, environment_name=name),
        azure_types.MANAGED_ENVIRONMENT,
        spec.existing,
        path,
    )
    if found is None:
        return {}, problems
    names = {profile.workload_profile_type.lower(): profile.name for profile in found.workload_profiles or []}
    profiles = {gpu.value: names[gpu.profile_type.lower()] for gpu in spec.needed if gpu.profile_type.lower() in names}
    if regions.normalise(found.location) != spec.location:
        problems.append(_elsewhere(spec, spec.existing, found.location, path))
    problems += [_without(spec.existing, gpu, names, path) for gpu in spec.needed if gpu.value not in profiles]
    return profiles, problems


def _elsewhere(spec: JobEnvironmentSpec, environment: ArmId, location: str, path: str) -> Problem:
    return Problem(
        path=path,
        message=f"this environment is in {location}, and jobs are to run in {spec.location}",
        value=environment.text,
        allowed="one environment, in the region of all its jobs",
        fix=f"give the jobs location: {regions.normalise(location)}, or name an environment in {spec.location}",
    )


def _without(environment: ArmId, gpu: GpuModel, names: dict[str, str], path: str) -> Problem:
    add = "az containerapp env workload-profile add"
    where = f"--name {environment.name} --resource-group {environment.resource_group}"
    has = ", ".join(sorted(names.values())) or "none, so it was made without workload profiles and can't have GPUs"
    return Problem(
        path=path,
        message=f"this environment has no workload profile of type {gpu.profile_type}, which jobs here need",
        value=environment.text,
        allowed=f"an environment with such a profile; this one has: {has}",
        fix=f"{add} {where} --workload-profile-name {gpu.profile_name} --workload-profile-type {gpu.profile_type}"
        if names
        else "name another environment, or write create",
        code=Code.NOT_FOUND,
    )
