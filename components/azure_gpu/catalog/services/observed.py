"""Applies a rule to another day than that of its source.

Before that day the problem becomes a warning if it is unknown whether the rule already applied, and disappears if the rule is
known to be newer. Past the shelf life of a list, what it lacks is only "not listed".
"""

from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog import shelf_life
from azure_gpu.catalog.problems import Code, Problem, Severity, not_listed
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


def on_list(read: Source, as_of: date, what: str, problem: Problem, fix: str, source: Source | None = None) -> Iterator[Problem]:
    """The refusal of what a list lacks, as it stood on `as_of`; past the list's shelf life, that it isn't listed.

    Args:
        read: the list, with the day on which it was last read.
        what: the subject of "isn't on the list".
        fix: how to find out, or what to do meanwhile.
        source: the list by which it was refused on that day, if it is an earlier one.
    """
    if shelf_life.holds("lists", read.day, as_of):
        yield from at(source or read, as_of, problem)
    else:
        yield not_listed(problem.path, what, problem.value, read, fix, allowed=problem.allowed)
