"""Rules for tasks beyond their shape, and what of tasks the embedded Batch doesn't implement.

Limits: the documentation of azure-batch 15.1's models BatchTaskCreateOptions, MultiInstanceSettings and BatchTaskDependencies.
Ids and numbers: id, priority, maxParallelTasks, BatchTaskConstraints and requiredSlots of the same models.
"""

import re

from azure_gpu.catalog import durations
from localazure.arm.store import Body
from localazure.batch.errors import BatchError, invalid_value, not_imitated

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
PRIORITIES = (-1000, 1000)
MOST_SLOTS = 256
MOST_INT = 2**31 - 1


def check_id(name: str, value: str) -> None:
    if not _ID.fullmatch(value):
        reason = "It takes 1 to 64 letters, digits, hyphens and underscores"
        raise invalid_value(name, value[:100], reason)


def check_range(name: str, value: int | None, least: int, most: int = MOST_INT) -> None:
    if value is not None and not least <= value <= most:
        raise invalid_value(name, value, f"It takes {least} to {most}")


def check_constraints(constraints: Body | None, path: str) -> None:
    for name in ("maxWallClockTime", "retentionTime"):
        check_duration((constraints or {}).get(name), f"{path}.{name}")
    check_range(f"{path}.maxTaskRetryCount", (constraints or {}).get("maxTaskRetryCount"), -1)


def check_duration(text: str | None, path: str) -> None:
    if text is not None and durations.length(text) is None:
        raise invalid_value(path, text[:100], "It takes an ISO 8601 duration, such as PT30M")


_MOST_DEPENDENCY_LETTERS = 64_000
_NOT_IMITATED = {"authenticationTokenSettings": "tokens for tasks", "applicationPackageReferences": "packages of a task"}


def check(body: Body) -> None:
    """BatchError for the first thing that is wrong."""
    check_id("id", body["id"])
    check_command(body)
    check_range("requiredSlots", body.get("requiredSlots"), 1, MOST_SLOTS)
    multi = body.get("multiInstanceSettings")
    if multi:
        check_range("multiInstanceSettings.numberOfInstances", multi.get("numberOfInstances"), 1)
        if (body.get("requiredSlots") or 1) > 1:
            raise invalid_value("requiredSlots", body["requiredSlots"], "It has to be 1 for a multi-instance task")
    _check_dependencies(body.get("dependsOn") or {})


def check_command(body: Body, path: str = "") -> None:
    """What tasks of every sort have in common."""
    where = f"{path}." if path else ""
    if not body.get("commandLine", "").strip() and not body.get("containerSettings"):
        raise invalid_value(f"{where}commandLine", "", "It can't be empty outside of a container")
    if "\0" in body.get("commandLine", ""):
        raise invalid_value(f"{where}commandLine", "", "It contains a character that isn't allowed in a command line")
    constraints = body.get("constraints") or {name: body[name] for name in ("maxWallClockTime", "retentionTime") if name in body}
    check_constraints(constraints, f"{where}constraints")
    names = [each["name"] for each in body.get("environmentSettings") or []]
    for name in names:
        if not name or "=" in name or "\0" in name:
            raise invalid_value(
                f"{where}environmentSettings.name", name[:100], "It isn't a valid name of an environment variable"
            )
    for name, what in _NOT_IMITATED.items():
        if body.get(name):
            raise not_imitated(f"'{where}{name}' ({what})")


def _check_dependencies(requested: Body) -> None:
    if sum(len(each) for each in requested.get("taskIds") or []) > _MOST_DEPENDENCY_LETTERS:
        raise BatchError("TaskDependencyListTooLong")
    for each in requested.get("taskIds") or []:
        check_id("dependsOn.taskIds", each)
    if requested.get("taskIdRanges"):
        raise not_imitated("'dependsOn.taskIdRanges'")
