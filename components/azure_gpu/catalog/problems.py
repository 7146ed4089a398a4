"""A problem: one thing that is wrong with a user's input, in the form in which every package reports it.

`render` formats a list of problems as one message for the user, `as_data` a problem as JSON.
"""

from collections.abc import Iterable
from datetime import date
from enum import StrEnum
from typing import Any, NamedTuple

from azure_gpu.catalog.sources import Source


class Code(StrEnum):
    """Why something was refused. Tools may rely on the code; the message is for people."""

    INVALID = "INVALID"  # the value itself: a wrong type, an unknown key, a bad name
    UNKNOWN = "UNKNOWN"  # nothing is known about the value; always a warning
    NOT_LISTED = "NOT_LISTED"  # a list that may have grown since doesn't have it; always a warning
    IMPOSSIBLE = "IMPOSSIBLE"  # the service never takes this value or this combination
    NOT_OFFERED = "NOT_OFFERED"  # the service exists, but doesn't sell this at that date
    NOT_IN_REGION = "NOT_IN_REGION"  # sold, but not there
    NO_QUOTA = "NO_QUOTA"  # sold there, but this subscription or account may not use that much
    WRONG_DRIVER = "WRONG_DRIVER"  # the software needs a driver that the machine can't have
    RETIRED = "RETIRED"  # it was sold until a date that has passed
    RETIRING = "RETIRING"  # still sold; the end date is known and near
    NOT_FOUND = "NOT_FOUND"  # refers to something that isn't there
    EXPIRED = "EXPIRED"  # the last day that was given for it has passed


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


class End(NamedTuple):
    """The retirement that a problem reports."""

    what: str  # ends, in the user's words: `the node agent batch.node.ubuntu 20.04`
    day: date  # the last on which it is available


class Problem(NamedTuple):
    """One problem. `path` is where the user wrote the value, such as `container_groups.train.gpu.count`."""

    path: str
    message: str  # what is wrong, in the user's words; no full stop at the end
    value: object = None  # what was given; None where nothing was
    allowed: str = ""  # the values that are allowed, or the limit
    fix: str = ""  # the likely fix, as an instruction
    instead: tuple[str, ...] = ()  # what would work, best first: names of sizes, profiles, images or versions
    source: str = ""  # where the rule was read, with its date
    code: Code = Code.INVALID
    severity: Severity = Severity.ERROR
    end: End | None = None  # if the problem is a retirement

    def __str__(self) -> str:
        parts = [f"{self.path}: {self.message}"]
        if self.value is not None:
            parts.append(f"given: {self.value!r}")
        if self.allowed:
            parts.append(f"allowed: {self.allowed}")
        if self.fix:
            parts.append(f"fix: {self.fix}")
        if self.source:
            parts.append(f"source: {self.source}")
        return "; ".join(parts)


def not_listed(path: str, what: str, value: object, source: Source, fix: str, *, allowed: str = "") -> Problem:
    """A problem of what a list doesn't have. Services take up more than they drop: absence proves nothing, so nothing is refused,
    and nothing is proposed in its place.

    Args:
        what: the subject of "isn't on the list".
        source: the list, with its day.
        fix: how to ask Azure.
    """
    message = f"{what} isn't on the list of {source.day.isoformat()}; it may have been added since"
    return Problem(path, message, value, allowed, fix, source=str(source), code=Code.NOT_LISTED, severity=Severity.WARNING)


def errors(problems: Iterable[Problem]) -> list[Problem]:
    """The problems that are errors."""
    return [problem for problem in problems if problem.severity is Severity.ERROR]


def render(problems: Iterable[Problem], where: str) -> str:
    """All problems as one text: a heading with their number and `where` they are, then one line each."""
    lines = [f"  - {problem}" for problem in problems]
    heading = "1 problem" if len(lines) == 1 else f"{len(lines)} problems"
    return "\n".join([f"{heading} {where}:", *lines])


def as_data(problem: Problem) -> dict[str, Any]:
    """A problem as JSON takes it. A missing part is None; the value is text."""
    return {
        "path": problem.path,
        "code": problem.code.value,
        "severity": problem.severity.value,
        "message": problem.message,
        "value": None if problem.value is None else str(problem.value),
        "allowed": problem.allowed or None,
        "fix": problem.fix or None,
        "instead": list(problem.instead),
        "source": problem.source or None,
    }
