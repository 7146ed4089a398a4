"""Reads an existing environment for GPU jobs."""

from pulumi_azure_native import app

from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.container_apps.environment.args import GpuModel
from azure_gpu.container_apps.environment.spec import PATH, JobEnvironmentSpec
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.shared import existing


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
