"""What is decided of an environment for GPU jobs, and how: `JobEnvironmentSpec` and `resolve`.

An existing one is read in `existing`.
"""

from dataclasses import dataclass
from datetime import date

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services import container_apps
from azure_gpu.container_apps.environment.args import GpuModel, JobEnvironmentSettings
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.shared.context import Context
from azure_gpu.shared.part import PartArgs, not_changed, resolve_part

PATH = "job_environment"  # where a stack file says which one


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnvironmentSpec:
    """What is declared, or used."""

    context: Context
    name: str
    existing: ArmId | None
    location: str
    needed: tuple[GpuModel, ...]
    declared: tuple[GpuModel, ...]  # the same, and the others that the region has on the stack's day


def resolve(args: JobEnvironmentSettings, context: Context) -> tuple[JobEnvironmentSpec, list[Problem]]:
    """What is declared, and what is wrong with the arguments. Pure; what an existing environment has is for `look_up` to say."""
    location = context.region(args.get("location"))
    given = PartArgs(existing=args["existing"]) if "existing" in args else PartArgs(create=context.component is not None)
    if "create" in args:
        given["create"] = args["create"]
    part, problems = resolve_part(given, azure_types.MANAGED_ENVIRONMENT, location, context, context.path(PATH))
    problems += not_changed(args, context.path(PATH))
    needed = {GpuModel(gpu) for gpu in args.get("gpus", [])}
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
