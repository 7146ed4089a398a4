"""`JobEnvironmentSpec`: the resolved arguments of an environment for GPU jobs. An existing one is read in `existing`."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services import container_apps
from azure_gpu.catalog.services.container_apps import profile_problems
from azure_gpu.container_apps.environment.args import GpuModel, JobEnvironmentSettings
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.shared.context import Context
from azure_gpu.shared.part import PartArgs, not_changed, resolve_part

PATH = "job_environment"  # in a stack file


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnvironmentSpec:
    """The resolved arguments."""

    context: Context
    name: str
    existing: ArmId | None
    resource_group: str  # of a created one; empty where it isn't known yet
    location: str
    needed: tuple[GpuModel, ...]
    declared: tuple[GpuModel, ...]  # `needed`, or without `gpus` all in the region at the stack's date


def resolve(args: JobEnvironmentSettings, context: Context, resource_group: str = "") -> tuple[JobEnvironmentSpec, list[Problem]]:
    """Resolves and validates the arguments. Pure; `look_up` reads an existing environment. `resource_group`: of a created one,
    where it is known."""
    location = context.region(args.get("location"))
    given = PartArgs(existing=args["existing"]) if "existing" in args else PartArgs(create=context.component is not None)
    if "create" in args:
        given["create"] = args["create"]
    part, problems = resolve_part(given, azure_types.MANAGED_ENVIRONMENT, location, context, context.path(PATH))
    problems += not_changed(args, context.path(PATH))
    needed = {GpuModel(gpu) for gpu in args.get("gpus", [])}
    of_region = [gpu for gpu in GpuModel if _is_sold(gpu, location, context.chosen_at())]
    spec = JobEnvironmentSpec(
        context=context,
        name=part.name,
        existing=part.existing,
        resource_group=resource_group,
        location=location,
        needed=tuple(sorted(needed)),
        declared=tuple(sorted(needed if "gpus" in args else of_region)),
    )
    return spec, problems


def not_sold(spec: JobEnvironmentSpec, gpus: Iterable[GpuModel]) -> list[Problem]:
    """Returns problems for GPUs that a created environment can't have in its region."""
    if spec.existing is not None or not spec.location:
        return []
    path = f"{spec.context.path(PATH)}.gpus"
    day, at = spec.context.day, {"path": path, "location_path": path}
    return [each for gpu in sorted(gpus) for each in profile_problems(gpu.profile_type, spec.location, day, **at)]


def _is_sold(gpu: GpuModel, location: str, day: date) -> bool:
    seen = container_apps.PROFILES[gpu.profile_type].regions.get(location)
    return seen is not None and seen.day <= day
