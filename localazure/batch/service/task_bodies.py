"""Rules for tasks beyond their shape, and what of tasks the embedded Batch doesn't implement.

Limits: the documentation of azure-batch 15.1's models BatchTaskCreateOptions, MultiInstanceSettings and BatchTaskDependencies.
"""

from localazure.arm.store import Body
from localazure.batch.errors import BatchError, invalid_value, not_imitated
from localazure.batch.service import identifiers

_MOST_DEPENDENCY_LETTERS = 64_000


def check(body: Body) -> None:
    """BatchError for the first thing that is wrong."""
    identifiers.check_id("id", body["id"])
    check_command(body)
    identifiers.check_range("requiredSlots", body.get("requiredSlots"), 1, identifiers.MOST_SLOTS)
    multi = body.get("multiInstanceSettings")
    if multi:
        identifiers.check_range("multiInstanceSettings.numberOfInstances", multi.get("numberOfInstances"), 1)
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
    identifiers.check_constraints(constraints, f"{where}constraints")
    names = [each["name"] for each in body.get("environmentSettings") or []]
    for name in names:
        if not name or "=" in name or "\0" in name:
            raise invalid_value(
                f"{where}environmentSettings.name", name[:100], "It isn't a valid name of an environment variable"
            )
    if body.get("authenticationTokenSettings"):
        raise not_imitated(f"'{where}authenticationTokenSettings' (tokens for tasks)")


def _check_dependencies(requested: Body) -> None:
    if sum(len(each) for each in requested.get("taskIds") or []) > _MOST_DEPENDENCY_LETTERS:
        raise BatchError("TaskDependencyListTooLong")
    for each in requested.get("taskIds") or []:
        identifiers.check_id("dependsOn.taskIds", each)
    for each in requested.get("taskIdRanges") or []:
        identifiers.check_range("dependsOn.taskIdRanges.start", each["start"], 0)
        identifiers.check_range("dependsOn.taskIdRanges.end", each["end"], each["start"])
