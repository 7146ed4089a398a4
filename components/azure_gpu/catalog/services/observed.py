"""Applies a rule to a day before its source was written.

The problem becomes a warning if it is unknown whether the rule already applied, and disappears if the rule is known to be newer.
"""

from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.sources import Dated, Source


def at(source: Source, as_of: date, problem: Problem) -> Iterator[Problem]:
    """The problem as it stood on `as_of`, with its source; at most one.

    For rules that a service may change: what it lists, previews, versions. Rules that never change don't need it.
    """
    problem = problem._replace(source=str(source))
    if as_of >= source.day:
        yield problem
    elif source.dated is Dated.OBSERVED:
        doubt = f"first seen on {source.day.isoformat()}, whether it applied on {as_of.isoformat()} is not known"
        yield problem._replace(
            message=f"{problem.message}; {doubt}",
            code=Code.UNKNOWN,
            severity=Severity.WARNING,
        )
