"""Whether what has GPUs has a last day: the tag that tools find it by, on itself or on what it lies in.

In: the stack. Out: problems. Azure deletes nothing by a tag; somebody who looks for what is overdue finds it.
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
from azure_gpu_policies.model import DATED, Given, Level, Policy, Setting, Severity, number
from azure_gpu_policies.resources import Resource, Stack

_ON_PROFILES = (azure_types.JOB.token, CONTAINER_APP)


def _ends(stack: Stack, given: Given) -> Iterator[tuple[Resource, Problem]]:
    tag = str(given["tag"])
    for resource in stack.resources:
        if _has_gpus(resource, stack):
            around = tuple(stack.around(resource))
            day = given.day(resource, *around)
            problem = _problem(resource, around, tag, day, int(given["days"]))
            if problem is not None:
                yield resource, problem


def _problem(resource: Resource, around: tuple[Resource, ...], tag: str, day: date, most_days: int) -> Problem | None:
    """Its own tag counts before those of what it lies in."""
    tagged = next((each for each in (resource, *around) if at(each.properties, "tags", tag) is not None), None)
    last = days_later(day, PROPOSED_DAYS + 1).isoformat()
    fix = f'add the tag {tag}: "{last}T00:00:00Z" to it, or to the resource group or cluster that it lies in'
    if tagged is None:
        open_ones = [each for each in (resource, *around) if at(each.properties, "tags") is UNKNOWN]
        if open_ones:
            return None
        path, allowed = resource.path(f"tags.{tag}"), "an instant as RFC 3339 writes it"
        return Problem(path, "what has GPUs has no last day, and costs until somebody thinks of it", None, allowed, fix)
    value = at(tagged.properties, "tags", tag)
    if value is UNKNOWN:
        return None
    end, path = instant(value if isinstance(value, str) else ""), tagged.path(f"tags.{tag}")
    if end is None:
        return Problem(path, "not a valid RFC 3339 time", value, f"such as {last}T00:00:00Z", fix)
    if end.date() <= day:
        allowed = f"an instant after {day.isoformat()}"
        message = "the last day has passed" if end.date() < day else "the last day is the one that it is judged at"
        return Problem(path, message, value, allowed, "delete it, or give it a later day", code=Code.EXPIRED)
    if most_days and (end.date() - day).days > most_days:
        allowed = f"at most {most_days} days after {day.isoformat()}"
        return Problem(
            path, "the last day is further away than the organization allows", value, allowed, "give it an earlier day"
        )
    return None


def _has_gpus(resource: Resource, stack: Stack) -> bool:
    """An environment of Container Apps costs by what runs on it, if its profile is serverless."""
    if resource.type in _ON_PROFILES:
        return profile_of(resource, stack) in PROFILES
    if resource.type == azure_types.MANAGED_ENVIRONMENT.token:
        return any(each.idle for each in machines_of(resource))
    return any(each.has_gpu for each in machines_of(resource))


def profile_of(resource: Resource, stack: Stack) -> str:
    """The type of the workload profile that a job or an app names; "" where it isn't known."""
    name = text(resource.properties, "workloadProfileName")
    found: list[Mapping[str, Any]] = [
        each
        for around in stack.around(resource)
        if around.type == azure_types.MANAGED_ENVIRONMENT.token
        for _, each in entries(around.properties, "workloadProfiles")
    ]
    return next((text(each, "workloadProfileType") for each in found if name and text(each, "name") == name), "")


_TAG = Setting("tag", {"type": "string", "description": "The tag that holds the last day, as an instant", "default": EXPIRES_AT})

POLICIES = (
    Policy(
        name="gpu-end-date",
        title="A last day for each GPU",
        description="What has GPUs has a last day in a tag, on itself or on what it lies in.",
        level=Level.MANDATORY,
        severity=Severity.MEDIUM,
        fix=f"Add the tag `{EXPIRES_AT}` with an instant.",
        of_stack=_ends,
        own_settings=(_TAG, number("days", "How far away the last day may be; 0: as far as you like", 0), *DATED),
    ),
)
