"""Rules of Azure Container Apps for GPUs: workload profiles of an environment, and containers of an app or a job."""

from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog import lifecycle, listed, regions, spelling
from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.problems import Code, Problem, Severity, not_listed
from azure_gpu.catalog.services.container_apps import (
    MINIMUM_SOURCE,
    NAME_MOST,
    NAME_SOURCE,
    PROFILES,
    PROFILES_PAGE,
    REGIONS_PAGE,
    SERVERLESS_PAGE,
    Kind,
    Profile,
    serverless_of,
)


class ProfileRequest(NamedTuple):
    """A workload profile of an environment, and where each value was written."""

    name: str
    type: str
    location: str
    name_path: str
    type_path: str
    location_path: str
    minimum_path: str
    maximum_path: str
    minimum_count: int | None = None
    maximum_count: int | None = None
    consumption_only: bool = False  # the environment was made without workload profiles
    added_later: bool = False  # the environment is there already


class ContainerRequest(NamedTuple):
    """What one container of a replica requests, and where each value was written. None: not set."""

    gpu_path: str
    cpu_path: str
    memory_path: str
    gpu: float | None = None
    cpu: float | None = None
    memory_gib: float | None = None


class JobRequest(NamedTuple):
    """The containers of an app or a job in their order, and the type of the profile they run on."""

    profile_type: str
    profile_path: str
    containers: tuple[ContainerRequest, ...]


def profile_problems(request: ProfileRequest, as_of: date) -> list[Problem]:
    """All reasons why an environment can't have this GPU profile on that day."""
    problems = list(_name(request))
    problems += _counts(request)
    profile = PROFILES.get(request.type)
    if profile is None:
        return [*problems, _unknown(request.type, request.type_path)]
    problems += lifecycle.check(
        profile.lifecycle, f"the workload profile {profile.type}", as_of, path=request.type_path, value=request.type
    )
    problems += _environment(request, profile)
    problems += _region(request, profile, as_of)
    return problems


def job_problems(request: JobRequest, as_of: date) -> list[Problem]:
    """All problems of these containers on this profile on that day."""
    profile = PROFILES.get(request.profile_type)
    if profile is None:
        return [_unknown(request.profile_type, request.profile_path)]
    what = f"the workload profile {profile.type}"
    problems = lifecycle.check(profile.lifecycle, what, as_of, path=request.profile_path, value=request.profile_type)
    for index, container in enumerate(request.containers):
        problems += _gpu(index, container, profile)
    problems += _share(request, profile)
    return problems


def _unknown(given: str, path: str) -> Problem:
    lower = {name.lower(): name for name in PROFILES}
    close = tuple(lower[name] for name in spelling.nearest(given.lower(), lower, 2, 0.5))
    return Problem(
        path=path,
        message="unknown GPU workload profile, so it wasn't checked",
        value=given,
        allowed=", ".join(PROFILES),
        fix=f"if it is misspelt, write {' or '.join(close or PROFILES)}",
        instead=close,
        source=str(PROFILES_PAGE),
        code=Code.UNKNOWN,
        severity=Severity.WARNING,
    )


def _name(request: ProfileRequest) -> Iterator[Problem]:
    if not 1 <= len(request.name) <= NAME_MOST:
        yield Problem(
            path=request.name_path,
            message=f"the name of a workload profile is {'too long' if request.name else 'empty'}",
            value=request.name,
            allowed=f"1 to {NAME_MOST} characters; a profile needn't be called like its type",
            fix="choose a short name, such as gpu-t4",
            source=str(NAME_SOURCE),
            code=Code.IMPOSSIBLE,
        )


def _counts(request: ProfileRequest) -> Iterator[Problem]:
    profile = PROFILES.get(request.type)
    if profile is not None and profile.kind is Kind.SERVERLESS and request.minimum_count is not None:
        yield Problem(
            path=request.minimum_path,
            message=f"{profile.type} is serverless and takes no minimum count, not even 0",
            value=request.minimum_count,
            allowed="nothing",
            fix="leave it out; the minimum number of replicas belongs to the app",
            source=str(MINIMUM_SOURCE),
            code=Code.IMPOSSIBLE,
        )
    least = request.minimum_count or 0
    if least < 0:
        yield _count(request.minimum_path, "the minimum count is below 0", least, "0 or more")
    if request.maximum_count is not None and request.maximum_count < max(least, 1):
        yield _count(request.maximum_path, "the maximum count is too low", request.maximum_count, f"{max(least, 1)} or more")


def _count(path: str, message: str, value: int, allowed: str) -> Problem:
    return Problem(path=path, message=message, value=value, allowed=allowed, fix=f"write {allowed}")


def _environment(request: ProfileRequest, profile: Profile) -> Iterator[Problem]:
    if request.consumption_only:
        yield Problem(
            path=request.type_path,
            message="an environment without workload profiles has no GPUs",
            value=request.type,
            allowed="an environment with workload profiles",
            fix="create an environment with workload profiles",
            source=str(SERVERLESS_PAGE),
            code=Code.IMPOSSIBLE,
        )
    if request.added_later and profile.kind is Kind.DEDICATED:
        serverless = serverless_of(profile.gpu)
        yield Problem(
            path=request.type_path,
            message="a dedicated GPU profile can't be added to an existing environment",
            value=request.type,
            allowed="a dedicated GPU profile from the environment's creation on",
            fix=f"create a new environment with it, or add {serverless}",
            instead=(serverless,),
            source=str(PROFILES_PAGE),
            code=Code.IMPOSSIBLE,
        )


def _region(request: ProfileRequest, profile: Profile, as_of: date) -> Iterator[Problem]:
    location = regions.normalise(request.location)
    seen = profile.regions.get(location)
    if seen is not None:
        there = Lifecycle(seen=seen)
        path, value = request.location_path, request.location
        yield from lifecycle.check(there, f"{profile.type} in {location}", as_of, path=path, value=value)
        return
    if location not in regions.known() or listed.has(listed.Azure.PROFILES, location, profile.type):
        return  # the region has a problem of its own, or Azure lists the profile there
    others = tuple(one.type for one in PROFILES.values() if location in one.regions)
    yield not_listed(
        request.location_path,
        f"the workload profile {profile.type} in {location}",
        request.location,
        listed.since(listed.Azure.PROFILES, location, profile.source if profile.kind is Kind.DEDICATED else REGIONS_PAGE),
        f"compare with `az containerapp env workload-profile list-supported --location {location}`",
        allowed=", ".join(sorted(profile.regions)),
    )._replace(instead=others)


def _gpu(index: int, container: ContainerRequest, profile: Profile) -> Iterator[Problem]:
    if not container.gpu:
        return
    if index > 0:
        yield Problem(
            path=container.gpu_path,
            message="only the first container of a replica gets its GPU",
            value=container.gpu,
            allowed="a GPU in the first container only",
            fix="put the container that needs the GPU first",
            source=str(SERVERLESS_PAGE),
            code=Code.IMPOSSIBLE,
        )
    if container.gpu not in range(1, profile.gpu_count + 1):
        most = profile.gpu_count
        yield Problem(
            path=container.gpu_path,
            message=f"a replica on {profile.type} can't have {container.gpu} GPUs",
            value=container.gpu,
            allowed="1" if most == 1 else f"an integer from 1 to {most}",
            fix="write 1" if most == 1 else f"write {most} or fewer",
            source=str(profile.source if profile.kind is Kind.DEDICATED else SERVERLESS_PAGE),
            code=Code.IMPOSSIBLE,
        )


def _share(request: JobRequest, profile: Profile) -> Iterator[Problem]:
    """CPU and memory of a replica, all its containers together, against what the profile has."""
    cpu = sum(container.cpu or 0 for container in request.containers)
    memory = sum(container.memory_gib or 0 for container in request.containers)
    last = request.containers[-1] if request.containers else None
    if last is None:
        return
    for amount, most, unit, path in (
        (cpu, profile.vcpus, "vCPU", last.cpu_path),
        (memory, profile.memory_gib, "GiB", last.memory_path),
    ):
        if amount > most:
            yield Problem(
                path=path,
                message=f"the containers of a replica request {amount} {unit} in total, and {profile.type} has {most}",
                value=amount,
                allowed=f"at most {most} {unit}",
                fix=f"request less; the service reserves a little of the {unit}",
                source=str(profile.source),
                code=Code.IMPOSSIBLE,
            )
