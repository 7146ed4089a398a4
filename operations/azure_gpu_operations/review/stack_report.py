"""Writes the review of one stack from the engine's plan and both versions of its file.

Sends no requests to the engine or Azure; the costs run the program without an engine.
"""

import contextlib
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats.dates import parse_day
from azure_gpu_operations import compare, planned
from azure_gpu_operations.compare import Difference
from azure_gpu_operations.graph import reading, recorded
from azure_gpu_operations.graph.model import Graph
from azure_gpu_operations.guard.held import held
from azure_gpu_operations.planned import UnreadableStackFileError
from azure_gpu_operations.review import dangers, findings, policies, steps
from azure_gpu_operations.review.costs import costs
from azure_gpu_operations.review.model import Finding, Lane, Outcome, Placeholder, StackReview
from azure_gpu_operations.review.parts import owners, parts, without_noise
from azure_gpu_operations.review.policies import Violation
from azure_gpu_operations.review.source_locations import SourceLocations


class Compared(NamedTuple):
    """A stack at the base and as it is now."""

    stack: str
    file: str  # from the root of the repository
    lane: Lane
    base_file: Path | None  # with what it extends; None: the base doesn't have it
    head_file: Path
    base_project: Path | None  # the project's folder at the base; None: the same as now
    program: Path
    places: SourceLocations
    deployment: Mapping[str, Any]  # that the plan begins with
    steps: Sequence[Mapping[str, Any]]
    errors: tuple[str, ...]
    placeholders: tuple[Placeholder, ...]
    missing: tuple[str, ...]
    violations: tuple[Violation, ...] = ()
    judged_at: str = ""  # the day of the base's commit, where the engine judged both at that day; "": today


def report(compared: Compared, busy_hours: float) -> StackReview:
    """Everything that is known; what isn't is in `missing`."""
    missing = list(compared.missing)
    problems_now, problems_before, monthly_usd = _problems(compared, missing)
    found_now = findings.of_problems(problems_now, compared.places, problems_before)
    if compared.errors:
        listed, rest = findings.of_errors(compared.errors, compared.places)
        rejected = _joined(listed, tuple(each for each in found_now if each.severity == "error"))
        missing += [f"engine: {line}" for line in rest]
        return StackReview(
            compared.stack,
            compared.file,
            compared.lane,
            Outcome.REJECTED if rejected else Outcome.FAILED,
            problems=rejected,
            findings=tuple(each for each in found_now if each.severity != "error"),
            placeholders=compared.placeholders,
            missing=tuple(missing),
        )
    try:
        every = steps.planned(compared.steps, compared.deployment)
    except ValueError as error:
        missing.append(f"the engine's plan couldn't be read: {error}")
        return StackReview(
            compared.stack,
            compared.file,
            compared.lane,
            Outcome.FAILED,
            placeholders=compared.placeholders,
            missing=tuple(missing),
        )
    found = without_noise(every)
    changed, unchanged = parts(found)
    about = dangers.Change(found, owners(found), held(compared.deployment), _differences(compared, missing), compared.places)
    before, after = _graphs(compared, missing)
    rejected = tuple(each for each in found_now if compared.judged_at and each.severity == "error")
    listed = tuple(each for each in found_now if each not in rejected)
    outcome = (
        Outcome.REJECTED
        if rejected
        else Outcome.NEW
        if compared.base_file is None
        else Outcome.CHANGED
        if changed
        else Outcome.UNCHANGED
    )
    return StackReview(
        compared.stack,
        compared.file,
        compared.lane,
        outcome,
        dangers=tuple(dangers.dangers(about, compared.steps)),
        parts=tuple(changed),
        unchanged=unchanged,
        costs=costs(
            before, after, busy_hours, monthly_usd, unread=(compared.base_file is not None and before is None, after is None)
        ),
        problems=rejected,
        findings=(*policies.findings(compared.violations, every, compared.places), *listed),
        placeholders=compared.placeholders,
        missing=tuple(missing),
    )


def _joined(listed: tuple[Finding, ...], known: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The program's problems, with the codes of the library's problems."""
    by_message = {each.message: each for each in known}
    return tuple(by_message.get(each.message, each) for each in listed) or known


def _problems(compared: Compared, missing: list[str]) -> tuple[tuple[Problem, ...], tuple[Problem, ...], float | None]:
    """The problems of the current file, those of the base's, and the current budget."""
    now: tuple[Problem, ...] = ()
    before: tuple[Problem, ...] = ()
    monthly_usd: float | None = None
    try:
        inventory = planned.inventory(compared.program, compared.head_file, compared.stack)
        now, monthly_usd = inventory.problems, inventory.monthly_budget
    except UnreadableStackFileError as error:
        missing.append(f"warnings: {error}")
    if compared.base_file is not None:
        with contextlib.suppress(UnreadableStackFileError):
            folder = compared.base_project or compared.program
            before = planned.inventory(folder, compared.base_file, compared.stack).problems
    return now, before, monthly_usd


def _differences(compared: Compared, missing: list[str]) -> Sequence[Difference]:
    if compared.base_file is None:
        return ()
    try:
        return list(
            compare.differences(planned.whole(compared.base_file, compared.base_project), planned.whole(compared.head_file))
        )
    except UnreadableStackFileError as error:
        missing.append(f"which key forces a replacement: {error}")
        return ()


def _graphs(compared: Compared, missing: list[str]) -> tuple[Graph | None, Graph | None]:
    """Both by the program as it is now, so that what differs is the stack and not a price list."""
    if compared.base_file is None:
        return None, _graph(compared, compared.head_file, "after", missing)
    return _graph(compared, compared.base_file, "before", missing), _graph(compared, compared.head_file, "after", missing)


def _graph(compared: Compared, file: Path, when: str, missing: list[str]) -> Graph | None:
    try:
        found = recorded.record(compared.program, file, compared.stack)
    except (UnreadableStackFileError, recorded.WrongStackError, recorded.ProgramError) as error:
        lines = str(error).strip().splitlines()
        missing.append(f"costs {when} the change: {lines[-1].strip() if lines else 'the program failed'}")
        return None
    return reading.graph_of(found, parse_day(found.as_of) or _today())


def _today() -> date:
    return datetime.now(UTC).date()
