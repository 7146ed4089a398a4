"""What a rule says on a day before its source was written.

In: the problem that a rule found, the rule's source and the day at which it is asked. Out: that problem, a warning in its place
where nobody knows whether the rule held yet, or nothing where the rule is known to have begun later.
"""

from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.sources import Dated, Source


def at(source: Source, as_of: date, problem: Problem) -> Iterator[Problem]:
    """The problem as it stood on `as_of`, with its source; at most one.

    For rules that a service may change: what it lists, previews, versions. What it never takes needs no such care.
    """
    problem = problem._replace(source=str(source))
    if as_of >= source.day:
        yield problem
    elif source.dated is Dated.OBSERVED:
        doubt = f"first seen on {source.day.isoformat()}, whether it was so on {as_of.isoformat()} is not known"
        yield problem._replace(
            message=f"{problem.message}; {doubt}",
            code=Code.UNKNOWN,
            severity=Severity.WARNING,
        )
