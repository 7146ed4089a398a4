"""Checks that resources with GPUs have a last day: a tag on the resource or on what it lies in.

Azure deletes nothing by the tag; people and tools find overdue resources by it.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.container_apps import PROFILES
from azure_gpu.formats import azure_types
from azure_gpu.formats.dates import days_later, instant
from azure_gpu.formats.tags import EXPIRES_AT, PROPOSED_DAYS
from azure_gpu_policies.known import UNKNOWN, at, entries, text
from azure_gpu_policies.machines import CONTAINER_APP, machines_of
from azure_gpu_policies.model import DATED, PolicySettings, Setting, number, policy
from azure_gpu_policies.resources import Resource, Stack

_ON_PROFILES = (azure_types.JOB.token, CONTAINER_APP)


def _ends(stack: Stack, settings: PolicySettings) -> Iterator[tuple[Resource, Problem]]:
    tag = str(settings["tag"])
    for resource in stack.resources:
        if _has_gpus(resource, stack):
            around = tuple(stack.around(resource))
            day = settings.day(resource, *around)
            problem = _problem(resource, around, tag, day, int(settings["days"]))
            if problem is not None:
                yield resource, problem


def _problem(resource: Resource, around: tuple[Resource, ...], tag: str, day: date, most_days: int) -> Problem | None:
    """Checks the tag of the resource, else the nearest one around it."""
    tagged = next((each for each in (resource, *around) if at(each.properties, "tags", tag) is not None), None)
    last = days_later(day, PROPOSED_DAYS + 1).isoformat()
    fix = f'add the tag {tag}: "{last}T00:00:00Z" to it, or to its resource group or cluster'
    if tagged is None:
        open_ones = [each for each in (resource, *around) if at(each.properties, "tags") is UNKNOWN]
        if open_ones:
            return None
        path, allowed = resource.path(f"tags.{tag}"), "an RFC 3339 time"
        return Problem(path, "GPUs without a last day, which cost until somebody deletes them", None, allowed, fix)
    value = at(tagged.properties, "tags", tag)
    if value is UNKNOWN:
        return None
    end, path = instant(value if isinstance(value, str) else ""), tagged.path(f"tags.{tag}")
    if end is None:
        return Problem(path, "not a valid RFC 3339 time", value, f"such as {last}T00:00:00Z", fix)
    if end.date() <= day:
        allowed = f"a time after {day.isoformat()}"
        message = "the last day has passed" if end.date() < day else "the last day must be after the day of evaluation"
        return Problem(path, message, value, allowed, "delete it, or set a later day", code=Code.EXPIRED)
    if most_days and (end.date() - day).days > most_days:
        allowed = f"at most {most_days} days after {day.isoformat()}"
        return Problem(path, "the last day is further away than the organization allows", value, allowed, "set an earlier day")
    return None


def _has_gpus(resource: Resource, stack: Stack) -> bool:
    """Whether a resource has GPUs that cost; a serverless environment of Container Apps costs only by its jobs and apps."""
    if resource.type in _ON_PROFILES:
        return profile_of(resource, stack) in PROFILES
    if resource.type == azure_types.MANAGED_ENVIRONMENT.token:
        return any(each.idle for each in machines_of(resource))
    return any(each.has_gpu for each in machines_of(resource))


def profile_of(resource: Resource, stack: Stack) -> str:
    """Returns the workload profile type of a job or an app; "" where it isn't known."""
    name = text(resource.properties, "workloadProfileName")
    found: list[Mapping[str, Any]] = [
        each
        for around in stack.around(resource)
        if around.type == azure_types.MANAGED_ENVIRONMENT.token
        for _, each in entries(around.properties, "workloadProfiles")
    ]
    return next((text(each, "workloadProfileType") for each in found if name and text(each, "name") == name), "")


_TAG = Setting(
    "tag",
    {"type": "string", "description": "The tag that holds the end of the last day, as an RFC 3339 time", "default": EXPIRES_AT},
)

POLICIES = (
    policy(
        "gpu-end-date",
        of_stack=_ends,
        own_settings=(_TAG, number("days", "How many days away the last day may be; 0: no limit", 0), *DATED),
    ),
)
