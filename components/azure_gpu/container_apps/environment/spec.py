"""`JobEnvironmentSpec`: the resolved arguments of an environment for GPU jobs. An existing one is read in `existing`."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.container_apps import PROFILES, profile_problems, serverless_of
from azure_gpu.container_apps.environment.args import GpuModel, JobEnvironmentSettings
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.shared.context import Context
from azure_gpu.shared.part import PartArgs, not_changed, resolve_part
from azure_gpu.shared.validation import choices

PATH = "job_environment"  # in a stack file


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnvironmentSpec:
    """The resolved arguments."""

    context: Context
    name: str
    existing: ArmId | None
    resource_group: str  # of a created one; empty where it isn't known yet
    location: str
    needed: tuple[str, ...]
    declared: tuple[str, ...]  # `needed`, or without `gpus` all in the region at the stack's date


def resolve(args: JobEnvironmentSettings, context: Context, resource_group: str = "") -> tuple[JobEnvironmentSpec, list[Problem]]:
    """Resolves and validates the arguments. Pure; `look_up` reads an existing environment. `resource_group`: of a created one,
    where it is known."""
    location = context.region(args.get("location"))
    given = PartArgs(existing=args["existing"]) if "existing" in args else PartArgs(create=context.component is not None)
    if "create" in args:
        given["create"] = args["create"]
    part, problems = resolve_part(given, azure_types.MANAGED_ENVIRONMENT, location, context, context.path(PATH))
    problems += not_changed(args, context.path(PATH))
    needed = set(args.get("gpus", []))
    of_region = [gpu for gpu in choices(GpuModel) if _is_sold(gpu, location, context.chosen_at())]
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


def not_sold(spec: JobEnvironmentSpec, gpus: Iterable[str]) -> list[Problem]:
    """Returns problems for GPUs that a created environment can't have in its region."""
    if spec.existing is not None or not spec.location:
        return []
    path = f"{spec.context.path(PATH)}.gpus"
    day, at = spec.context.day, {"path": path, "location_path": path}
    return [each for gpu in sorted(gpus) for each in profile_problems(serverless_of(gpu), spec.location, day, **at)]


def _is_sold(gpu: str, location: str, day: date) -> bool:
    seen = PROFILES[serverless_of(gpu)].regions.get(location)
    return seen is not None and seen.day <= day
