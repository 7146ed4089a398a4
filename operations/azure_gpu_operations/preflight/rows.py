"""One row of a preflight: subject, check and answer."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from azure_gpu.catalog.problems import Code, Problem, Severity


class Answer(StrEnum):
    OK = "ok"
    RETIRED = "retired"
    RETIRING = "retiring"
    NOT_OFFERED = "not offered"
    NO_QUOTA = "no quota"
    NO_CAPACITY_KNOWN = "no capacity known"  # sold and allowed; whether a machine is free shows when one starts
    NOT_REGISTERED = "not registered"
    NO_RIGHT = "no right"
    NAME_TAKEN = "name not available"
    NOT_ACTIVE = "not active"  # an application package that nodes can't get yet
    REFUSED = "refused"  # the service never takes it, or the software doesn't fit the machine
    NOT_LISTED = "not listed"  # by a list that may have grown since: nothing to do
    UNKNOWN = "unknown"


FAILING = frozenset(Answer) - {Answer.OK, Answer.RETIRING, Answer.NO_CAPACITY_KNOWN, Answer.NOT_LISTED, Answer.UNKNOWN}
_ANSWERS = {
    Code.RETIRED: Answer.RETIRED,
    Code.RETIRING: Answer.RETIRING,
    Code.NOT_OFFERED: Answer.NOT_OFFERED,
    Code.NOT_IN_REGION: Answer.NOT_OFFERED,
    Code.NO_QUOTA: Answer.NO_QUOTA,
    Code.NOT_LISTED: Answer.NOT_LISTED,
    Code.UNKNOWN: Answer.UNKNOWN,
}


class Row(NamedTuple):
    """The answer to one check, and the fix where it failed."""

    subject: str  # what the user wrote, or what a stack needs
    check: str  # what was looked at
    answer: Answer
    message: str
    fix: str = ""
    instead: tuple[str, ...] = ()
    source: str = ""


def unread(subject: str, check: str, what: object) -> Row:
    """A row whose answer is unknown, because a list is missing."""
    return Row(subject, check, Answer.UNKNOWN, f"couldn't be read: {what}")


def of_problem(problem: Problem, check: str) -> Row:
    """A problem as a row. A warning never fails: it tells of an end, or of what isn't known."""
    answer = _ANSWERS.get(problem.code, Answer.REFUSED)
    if problem.severity is Severity.WARNING and answer in FAILING:
        answer = Answer.UNKNOWN
    return Row(problem.path, check, answer, problem.message, problem.fix, problem.instead, problem.source)


def of_problems(problems: Iterable[Problem], check: str) -> list[Row]:
    return [of_problem(problem, check) for problem in problems]
