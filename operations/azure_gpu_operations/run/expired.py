"""Whether a run goes to a part whose end date has passed. A warning: the part is there until somebody takes it down. Pure."""

from datetime import date

from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.formats.dates import instant
from azure_gpu_operations.one_part import Kind
from azure_gpu_operations.stack_view import StackView


def problems(kind: Kind, view: StackView, name: str, day: date) -> list[Problem]:
    """`day`: at which the stack is judged."""
    end = instant(view.expires_at.get(name))
    if end is None or end.date() > day:
        return []
    return [
        Problem(
            path=f"{kind.section}.{name}.expires_after",
            message=f"the {kind.noun}'s end date has passed ({end.date().isoformat()}): somebody may take it down at any time",
            fix=f"give it a later one and run `pulumi up --stack {view.name}`",
            severity=Severity.WARNING,
        )
    ]
