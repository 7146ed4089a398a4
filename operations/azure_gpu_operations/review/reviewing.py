"""Reviews several stacks one after another. A failure of one is reported in its review and doesn't stop the others."""

import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from azure_gpu.formats.stack_file import StackFileError
from azure_gpu_operations.guard.update_check import planned_unprotected
from azure_gpu_operations.planned import UnreadableStackFileError
from azure_gpu_operations.project import name_of, project
from azure_gpu_operations.review import placeholders
from azure_gpu_operations.review.base import Against, Base, BaseError, running_base
from azure_gpu_operations.review.embedded import EmbeddedAzureError, require_embedded_azure
from azure_gpu_operations.review.model import Lane, Outcome, StackReview
from azure_gpu_operations.review.placeholders import InvalidStackFileError, Prepared
from azure_gpu_operations.review.policies import Packs, violations, without_own
from azure_gpu_operations.review.repository import Repository, RepositoryError
from azure_gpu_operations.review.source_locations import SourceLocations, Text
from azure_gpu_operations.review.stack_report import Compared, report
from azure_gpu_operations.review.touched import StackFiles
from azure_gpu_operations.stack import EngineError, Stack

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
    found = [_deleted(each, Lane.EMBEDDED) for each in chosen if each.head is None]
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
            found.append(_timed(lambda each=each: _on_embedded(each, base_of_commit, busy_hours, packs)))
    return found


def reviewed_live(chosen: Sequence[StackFiles], busy_hours: float, say: Say, packs: Packs = NO_PACKS) -> list[StackReview]:
    """Against the deployed state, by the login and the backend of this process."""
    found = [_deleted(each, Lane.LIVE) for each in chosen if each.head is None]
    for each in chosen:
        if each.head is not None:
            say(f"{each.stack}: previewing the change against the deployed state")
            found.append(_timed(lambda each=each: _live(each, busy_hours, packs)))
    return found


def _on_embedded(each: StackFiles, base: Base, busy_hours: float, packs: Packs) -> StackReview:
    project_name = name_of(project().files)
    missing: list[str] = []
    try:
        head_text = placeholders.with_common(each.head or "", each.head_common, project_name)
        head = placeholders.prepared(head_text, project_name)
        base_text = None if each.base is None else placeholders.with_common(each.base, each.base_common, project_name)
        before = _before(each, base_text, project_name, missing)
        against = base.preview(each.stack, before, head, project().program, packs)
        if against.judged_at:
            missing.append(f"the base is invalid today, so both are previewed as of {against.judged_at}, the date of its commit")
        missing += [f"{id_} couldn't be created: {why}" for id_, why in against.left_out.items()]
        texts = {"head": head_text, "base": base_text if before is not None else None}
        offline = {
            commit: base.offline(each.stack, commit, placeholders.without_kubeconfig_files(text, project_name))
            for commit, text in texts.items()
            if text is not None
        }
        compared = _compared(each, Lane.EMBEDDED, against, offline.get("base"), base.project, head, missing)
        return report(compared._replace(head_file=offline["head"]), busy_hours)
    except InvalidStackFileError as error:
        return _failed(each, Lane.EMBEDDED, f"{each.file}: {error}")
    except _EXPECTED as error:
        return _failed(each, Lane.EMBEDDED, str(error))


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
    try:
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
            if each.base is None:
                return report(_compared(each, Lane.LIVE, against, None, None, None, []), busy_hours)
            base_file = Path(folder) / Path(each.file).name
            base_file.write_text(
                placeholders.with_common(each.base, each.base_common, name_of(project().files)), encoding="utf-8"
            )
            return report(_compared(each, Lane.LIVE, against, base_file, project().files, None, []), busy_hours)
    except EngineError as error:
        return _failed(each, Lane.LIVE, f"preview failed: {error}")
    except _EXPECTED as error:
        return _failed(each, Lane.LIVE, str(error))


def _compared(
    each: StackFiles,
    lane: Lane,
    against: Against,
    base_file: Path | None,
    base_project: Path | None,
    head: Prepared | None,
    missing: Sequence[str],
) -> Compared:
    return Compared(
        stack=each.stack,
        file=each.file,
        lane=lane,
        base_file=base_file,
        head_file=project().files / Path(each.file).name,
        base_project=base_project if base_file is not None else None,
        program=project().program,
        places=SourceLocations(_texts(each), name_of(project().files)),
        deployment=against.deployment,
        steps=against.steps,
        errors=against.errors,
        violations=against.violations,
        placeholders=head.placeholders if head is not None else (),
        missing=tuple(missing),
        judged_at=against.judged_at,
    )


def _texts(each: StackFiles) -> list[Text]:
    """The stack's own file, and the one that it extends."""
    own = Text(each.file, each.head or "")
    return [own, Text(each.head_extends, each.head_common)] if each.head_common is not None else [own]


def _deleted(each: StackFiles, lane: Lane) -> StackReview:
    return StackReview(each.stack, each.file, lane, Outcome.DELETED)


def _failed(each: StackFiles, lane: Lane, why: str) -> StackReview:
    return StackReview(each.stack, each.file, lane, Outcome.FAILED, missing=(why,))


def _timed(review: Callable[[], StackReview]) -> StackReview:
    began = time.monotonic()
    return review()._replace(seconds=round(time.monotonic() - began, 1))
