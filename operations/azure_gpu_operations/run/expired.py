"""Warns of runs on expired parts, which exist until they are destroyed. Pure."""

from datetime import date

from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.formats.dates import instant
from azure_gpu_operations.one_part import Kind
from azure_gpu_operations.stack_view import StackView


def problems(kind: Kind, view: StackView, name: str, day: date) -> list[Problem]:
    """`day`: the current day of the stack, which `as_of` may set."""
    end = instant(view.expires_at.get(name))
    if end is None or end.date() > day:
        return []
    return [
        Problem(
            path=f"{kind.section}.{name}.expires_after",
            message=f"the {kind.noun} expired on {end.date().isoformat()} and may be destroyed at any time",
            fix=f"set a later date and run `pulumi up --stack {view.name}`",
            severity=Severity.WARNING,
        )
    ]
