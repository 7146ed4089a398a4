"""Look-ups of environments for GPU jobs: existing ones, and the workload profiles of the stack's own."""

from __future__ import annotations

from collections.abc import Iterable

import pulumi
from pulumi_azure_native import app

from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.container_apps import serverless_of
from azure_gpu.container_apps.environment.args import EnvironmentOfJob, GpuModel, profile_name
from azure_gpu.container_apps.environment.spec import PATH, JobEnvironmentSpec
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.shared import existing
from azure_gpu.shared.context import known
from azure_gpu.shared.look_up import OF_STACK, AskedBy
from azure_gpu.shared.validation import choices


def look_up(spec: JobEnvironmentSpec, asked_by: AskedBy = OF_STACK) -> tuple[dict[str, str], list[Problem]]:
    """Returns the workload profile names by GPU, with problems for missing ones in an existing environment. A created environment
    keeps the profiles that it has: Azure can't remove one in use, and a job that changes its GPU leaves the old one later."""
    if spec.existing is None:
        has, problems = _has_already(spec, asked_by)
        return {gpu: profile_name(gpu) for gpu in sorted(choices(GpuModel)) if gpu in spec.declared or gpu in has}, problems
    path = f"{spec.context.path(PATH)}.existing"
    get, own = app.get_managed_environment, spec.context.subscription_id
    found, problems = existing.get(get, azure_types.MANAGED_ENVIRONMENT, spec.existing, path, asked_by, own)
    if found is None:
        return {}, problems
    names, profiles = _names(found), _profiles(found, spec.needed)
    if regions.normalise(found.location) != spec.location:
        own = regions.normalise(found.location)
        problems.append(refused("apps.elsewhere", path, spec.existing.text, spec=spec, found=found, own=own))
    problems += [_without(spec.existing, gpu, names, path) for gpu in spec.needed if gpu not in profiles]
    return profiles, problems


def _has_already(spec: JobEnvironmentSpec, asked_by: AskedBy) -> tuple[set[str], list[Problem]]:
    """Returns the GPUs of the stack's environment, by the names of their profiles."""
    if not spec.resource_group:
        return set(), []
    found, problems = existing.find(
        lambda opts: app.get_managed_environment(resource_group_name=spec.resource_group, environment_name=spec.name, opts=opts),
        azure_types.MANAGED_ENVIRONMENT,
        spec.name,
        spec.context.path(PATH),
        asked_by,
    )
    names = {profile.name for profile in (found.workload_profiles or [] if found is not None else [])}
    return {gpu for gpu in choices(GpuModel) if profile_name(gpu) in names}, problems


def of_id(given: pulumi.Input[str], path: str, asked_by: AskedBy, own: str) -> tuple[EnvironmentOfJob, list[Problem]]:
    """Returns the environment that a program sets by its id. With an output as the id it can't be read, and is assumed to be like
    one that this library creates."""
    text = known(given)
    if text is None:
        return EnvironmentOfJob(id=given, profiles={gpu: profile_name(gpu) for gpu in choices(GpuModel)}, existing=True), []
    problems = existing.check_id(text, azure_types.MANAGED_ENVIRONMENT, path)
    parsed = arm_ids.parse(text)
    profiles: dict[str, str] = {}
    if parsed is not None and not problems:
        get, azure_type = app.get_managed_environment, azure_types.MANAGED_ENVIRONMENT
        found, problems = existing.get(get, azure_type, parsed, path, asked_by, own)
        profiles = _profiles(found, choices(GpuModel)) if found is not None else {}
    return EnvironmentOfJob(id=text, profiles=profiles, existing=True), problems


def _names(found: app.GetManagedEnvironmentResult) -> dict[str, str]:
    """Returns the names of the workload profiles by type."""
    return {profile.workload_profile_type.lower(): profile.name for profile in found.workload_profiles or []}


def _profiles(found: app.GetManagedEnvironmentResult, needed: Iterable[str]) -> dict[str, str]:
    names = _names(found)
    types = {gpu: serverless_of(gpu).lower() for gpu in needed}
    return {gpu: names[kind] for gpu, kind in types.items() if kind in names}


def _without(environment: ArmId, gpu: str, names: dict[str, str], path: str) -> Problem:
    has = ", ".join(sorted(names.values())) or "none, so it was made without workload profiles and can't have GPUs"
    fix = None if names else "use another environment, or write create"
    of_gpu = {"profile": profile_name(gpu), "type": serverless_of(gpu)}
    return refused("apps.no_profile", path, environment.text, fix=fix, environment=environment, has=has, **of_gpu)
