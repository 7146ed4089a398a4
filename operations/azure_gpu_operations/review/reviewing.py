"""Reviews several stacks one after another, each from the engine's plan and both versions of its file.

A failure of one is reported in its review and doesn't stop the others. The costs run the program without an engine.
"""

import contextlib
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.formats.stack_file import StackFileError
from azure_gpu_operations import planned
from azure_gpu_operations.connection import connection_in, connection_of
from azure_gpu_operations.graph import reading, recorded
from azure_gpu_operations.graph.model import Graph
from azure_gpu_operations.guard.held import held
from azure_gpu_operations.guard.update_check import planned_unprotected
from azure_gpu_operations.planned import UnreadableStackFileError
from azure_gpu_operations.preflight import left_open
from azure_gpu_operations.project import name_of, project
from azure_gpu_operations.review import dangers, placeholders, policies, steps
from azure_gpu_operations.review.base import Against, Base, BaseError, EmbeddedAzureError, require_embedded_azure, running_base
from azure_gpu_operations.review.costs import costs
from azure_gpu_operations.review.model import Finding, Lane, Outcome, Placeholder, StackReview
from azure_gpu_operations.review.placeholders import InvalidStackFileError, Prepared
from azure_gpu_operations.review.policies import Packs, violations, without_own
from azure_gpu_operations.review.repository import Repository, RepositoryError, StackFiles
from azure_gpu_operations.review.source_locations import SourceLocations, of_errors, of_problems
from azure_gpu_operations.stack import EngineError, Stack

if TYPE_CHECKING:
    from azure_gpu.stack.inventory import Inventory


class Compared(NamedTuple):
    """A stack at the base and as it is now."""

    files: StackFiles
    lane: Lane
    against: Against
    base_file: Path | None  # with what it extends; None: the base doesn't have it
    base_project: Path | None  # the project's folder at the base
    head_file: Path
    placeholders: tuple[Placeholder, ...] = ()
    missing: tuple[str, ...] = ()


Record = Callable[[Path], recorded.Recorded]


def report(compared: Compared, busy_hours: float, record: Record) -> StackReview:
    """Everything that is known; what isn't is in `missing`. `record` waits for the recording of a file that has begun."""
    missing, against = list(compared.missing), compared.against
    review = StackReview(
        compared.files.stack, compared.files.file, compared.lane, Outcome.FAILED, placeholders=compared.placeholders
    )
    problems_now, problems_before, monthly_usd = _problems(compared, missing)
    places = SourceLocations(_texts(compared.files), name_of(project().files))
    found_now = of_problems(problems_now, places, problems_before)
    if against.errors:
        listed, rest = of_errors(against.errors, places)
        rejected = _joined(listed, tuple(each for each in found_now if each.severity == "error"))
        return review._replace(
            outcome=Outcome.REJECTED if rejected else Outcome.FAILED,
            problems=rejected,
            findings=tuple(each for each in found_now if each.severity != "error"),
            missing=(*missing, *(f"engine: {line}" for line in rest)),
        )
    try:
        every = steps.planned(against.steps, against.deployment)
    except ValueError as error:
        return review._replace(missing=(*missing, f"the engine's plan couldn't be read: {error}"))
    found = steps.without_noise(every)
    changed, unchanged = steps.parts(found)
    about = dangers.Change(found, steps.owners(found), held(against.deployment), _differences(compared, missing), places)
    before, after = _graphs(compared, record, missing)
    unread = (compared.base_file is not None and before is None, after is None)
    judged = against.judged_at or compared.lane is Lane.LIVE  # there the engine doesn't know what Azure's lists lack
    rejected = tuple(each for each in found_now if judged and each.severity == "error")
    listed = tuple(each for each in found_now if each not in rejected)
    return review._replace(
        outcome=_outcome(bool(rejected), compared.base_file is None, bool(changed)),
        dangers=tuple(dangers.dangers(about, against.steps)),
        parts=tuple(changed),
        unchanged=unchanged,
        costs=costs(before, after, busy_hours, monthly_usd, unread=unread),
        problems=rejected,
        findings=(*policies.findings(against.violations, every, places), *listed),
        missing=tuple(missing),
    )


def _outcome(is_rejected: bool, is_new: bool, is_changed: bool) -> Outcome:
    if is_rejected:
        return Outcome.REJECTED
    return Outcome.NEW if is_new else Outcome.CHANGED if is_changed else Outcome.UNCHANGED


def _joined(listed: tuple[Finding, ...], known: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The program's problems, with the codes of the library's problems."""
    by_message = {each.message: each for each in known}
    return tuple(by_message.get(each.message, each) for each in listed) or known


def _problems(compared: Compared, missing: list[str]) -> tuple[tuple[Problem, ...], tuple[Problem, ...], float | None]:
    """The problems of the current file, those of the base's, and the current budget."""
    now: tuple[Problem, ...] = ()
    before: tuple[Problem, ...] = ()
    monthly_usd: float | None = None
    of_base: Inventory | None = None
    if compared.base_file is not None:
        with contextlib.suppress(UnreadableStackFileError):
            folder = compared.base_project or project().program
            of_base = planned.inventory(folder, compared.base_file, compared.files.stack)
            before = of_base.problems
    try:
        inventory = planned.inventory(project().program, compared.head_file, compared.files.stack)
        now, monthly_usd = inventory.problems, inventory.monthly_budget
        if compared.lane is Lane.LIVE:
            now = _by_azure(compared, inventory, of_base, missing)
    except UnreadableStackFileError as error:
        missing.append(f"warnings: {error}")
    return now, before, monthly_usd


def _by_azure(compared: Compared, taken: "Inventory", of_base: "Inventory | None", missing: list[str]) -> tuple[Problem, ...]:
    """The problems by Azure's lists, and what it lacks for what the change adds. A quota of a stack that is up is a warning: how
    much of it the change gives back isn't known."""
    connection = connection_of(compared.against.deployment) or connection_in(compared.head_file)
    if not left_open.is_there(compared.against.deployment):
        return left_open.decided(taken, connection, taken, missing.append)
    added = None if of_base is None else replace(taken, **_beyond(taken, of_base))
    found = left_open.decided(taken, connection, added, missing.append)
    return tuple(each._replace(severity=Severity.WARNING) if each.code is Code.NO_QUOTA else each for each in found)


def _beyond(taken: "Inventory", before: "Inventory") -> dict[str, Any]:
    """What draws more from a quota than before."""
    pairs = ((name, getattr(taken, name), getattr(before, name)) for name in left_open.DRAWING)
    return {name: tuple(each for each in now if each not in then) for name, now, then in pairs}


def _differences(compared: Compared, missing: list[str]) -> Sequence[dangers.Difference]:
    if compared.base_file is None:
        return ()
    try:
        return list(
            dangers.differences(planned.whole(compared.base_file, compared.base_project), planned.whole(compared.head_file))
        )
    except UnreadableStackFileError as error:
        missing.append(f"which key forces a replacement: {error}")
        return ()


def _graphs(compared: Compared, record: Record, missing: list[str]) -> tuple[Graph | None, Graph | None]:
    """Both by the program as it is now, so that what differs is the stack and not a price list."""
    if compared.base_file is None:
        return None, _graph(record, compared.head_file, "after", missing)
    return _graph(record, compared.base_file, "before", missing), _graph(record, compared.head_file, "after", missing)


def _graph(record: Record, file: Path, when: str, missing: list[str]) -> Graph | None:
    try:
        found = record(file)
    except (UnreadableStackFileError, recorded.WrongStackError, recorded.ProgramError) as error:
        lines = str(error).strip().splitlines()
        missing.append(f"costs {when} the change: {lines[-1].strip() if lines else 'the program failed'}")
        return None
    return reading.graph_of(found, found.day)


Say = Callable[[str], None]
NO_PACKS = Packs()
# What may go wrong with one stack: its files, its base, the disk, what the engine or an earlier review has written.
_EXPECTED = (BaseError, EmbeddedAzureError, StackFileError, UnreadableStackFileError, OSError, ValueError, KeyError)


def reviewed_on_embedded(
    chosen: Sequence[StackFiles],
    repository: Repository,
    base: str,
    folder: str,
    cache: Path,
    busy_hours: float,
    say: Say,
    packs: Packs = NO_PACKS,
) -> list[StackReview]:
    """Against the base commit on an embedded Azure. `folder`: the project's, from the root of the repository on. `cache`: where
    bases stay."""
    found = [StackReview(each.stack, each.file, Lane.EMBEDDED, Outcome.DELETED) for each in chosen if each.head is None]
    there = [each for each in chosen if each.head is not None]
    if not there:
        return found
    with ExitStack() as stack:
        try:
            require_embedded_azure()
            say(f"base {base[:12]}: starting the embedded Azure")
            base_of_commit = stack.enter_context(running_base(repository, base, folder, cache))
        except (*_EXPECTED, RepositoryError, tarfile.TarError) as error:
            return [*found, *(_failed(each, Lane.EMBEDDED, str(error)) for each in there)]
        for each in there:
            say(f"{each.stack}: deploying the base, then previewing the change")
            found.append(_tried(each, Lane.EMBEDDED, lambda each=each: _on_embedded(each, base_of_commit, busy_hours, packs)))
    return found


def reviewed_live(chosen: Sequence[StackFiles], busy_hours: float, say: Say, packs: Packs = NO_PACKS) -> list[StackReview]:
    """Against the deployed state, by the login and the backend of this process."""
    found = [StackReview(each.stack, each.file, Lane.LIVE, Outcome.DELETED) for each in chosen if each.head is None]
    for each in chosen:
        if each.head is not None:
            say(f"{each.stack}: previewing the change against the deployed state")
            found.append(_tried(each, Lane.LIVE, lambda each=each: _live(each, busy_hours, packs)))
    return found


def _tried(each: StackFiles, lane: Lane, review: Callable[[], StackReview]) -> StackReview:
    """The review, or why there is none; and how long it took."""
    began = time.monotonic()
    try:
        found = review()
    except InvalidStackFileError as error:
        found = _failed(each, lane, f"{each.file}: {error}")
    except EngineError as error:
        found = _failed(each, lane, f"preview failed: {error}")
    except _EXPECTED as error:
        found = _failed(each, lane, str(error))
    return found._replace(seconds=round(time.monotonic() - began, 1))


def _failed(each: StackFiles, lane: Lane, why: str) -> StackReview:
    return StackReview(each.stack, each.file, lane, Outcome.FAILED, missing=(why,))


def _on_embedded(each: StackFiles, base: Base, busy_hours: float, packs: Packs) -> StackReview:
    project_name = name_of(project().files)
    missing: list[str] = []
    head_text = placeholders.with_common(each.head or "", each.head_common, project_name)
    head = placeholders.prepared(head_text, project_name)
    base_text = None if each.base is None else placeholders.with_common(each.base, each.base_common, project_name)
    before = _before(each, base_text, project_name, missing)
    texts = {"base": base_text if before is not None else None, "head": head_text}
    offline = {
        commit: base.offline(each.stack, commit, placeholders.without_kubeconfig_files(text, project_name))
        for commit, text in texts.items()
        if text is not None
    }
    with recorded.begun(project().program, [*offline.values()], each.stack) as record:  # beside the engine
        against = base.preview(each.stack, before, head, project().program, packs)
        if against.judged_at:
            missing.append(f"the base is invalid today, so both are previewed as of {against.judged_at}, the date of its commit")
        missing += [f"{id_} couldn't be created: {why}" for id_, why in against.left_out.items()]
        compared = Compared(
            each, Lane.EMBEDDED, against, offline.get("base"), base.project, offline["head"], head.placeholders, (*missing,)
        )
        return report(compared, busy_hours, record)


def _before(each: StackFiles, text: str | None, project_name: str, missing: list[str]) -> Prepared | None:
    if text is None:
        return None
    try:
        return placeholders.prepared(text, project_name)
    except InvalidStackFileError as error:
        missing.append(f"the base's {each.file} couldn't be read, so everything is shown as new: {error}")
        return None


def _live(each: StackFiles, busy_hours: float, packs: Packs) -> StackReview:
    stack = Stack(project().program, each.stack)
    deployment = stack.deployment()
    with tempfile.TemporaryDirectory() as folder:
        events = Path(folder) / "events.jsonl"
        plan = stack.planned(more=packs.words(events))
        broken = violations(events)
        errors = without_own(plan.errors, broken)
        if errors:
            plan = planned_unprotected(stack, deployment) or plan
            errors = plan.errors
        against = Against(deployment, plan.steps, errors, violations=broken)
        base_file = None
        if each.base is not None:
            base_file = Path(folder) / Path(each.file).name
            text = placeholders.with_common(each.base, each.base_common, name_of(project().files))
            base_file.write_text(text, encoding="utf-8")
        head_file = project().files / Path(each.file).name
        compared = Compared(each, Lane.LIVE, against, base_file, project().files, head_file)
        files = [file for file in (base_file, head_file) if file is not None]
        with recorded.begun(project().program, files, each.stack) as record:
            return report(compared, busy_hours, record)


def _texts(each: StackFiles) -> dict[str, str]:
    """The stack's own file, and the one that it extends."""
    return {each.file: each.head or "", **({each.head_extends: each.head_common} if each.head_common is not None else {})}
