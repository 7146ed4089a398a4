"""Reviews a change: what it replaces, deletes, loses and costs in each stack.

    review --base main                     every affected stack, compared with the common ancestor
    review --base main --stack prod        only this stack; may be repeated
    review --base main --out report        also the report as files, see below
    review --base main --live --stack prod compared with the deployed state, with a login
    review --base main --policy-pack DIR   also violated policies of a pack, with their lines; may be repeated

The base commit's stack is deployed by its program on a separate embedded Azure, where nothing runs or costs money, and the
change, committed or not, is previewed against it. No account or secret is needed: secrets and existing resources get
placeholders, which the report lists. The base is kept for the next review.

Files of --out: review.md, the whole report; comment.md, as much of it as a comment of a pull request can have; review.json, with
every value in full; annotations.json, the findings by file and line.

Exit codes: 0 reviewed; 1 no stack could be reviewed, or with --fail-on any stack couldn't; 2 the command line is invalid; 5 the
report contains what --fail-on names.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from azure_gpu_operations.command_line import refuse
from azure_gpu_operations.exit_codes import FAILED, FOUND, OK
from azure_gpu_operations.project import name_of, project
from azure_gpu_operations.review.model import BUSY_HOURS, Outcome, Review, StackReview, as_data
from azure_gpu_operations.review.policies import Packs
from azure_gpu_operations.review.repository import Repository, RepositoryError, StackFiles, extended, stack_files, touched

_NO_ANCESTOR = (
    "the common ancestor isn't known, so newer changes of the base show as reverted; fix: fetch the whole history "
    "(`fetch-depth: 0`, `git fetch --unshallow`)"
)
DANGER, OVER_BUDGET, REJECTED, POLICY = "danger", "over-budget", "rejected", "policy"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--base", required=True, metavar="REF", help="the commit or branch to merge into")
    parser.add_argument("--stack", action="append", default=[], help="only this stack; may be repeated")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write the report there as Markdown and JSON")
    parser.add_argument("--live", action="store_true", help="compare with the deployed state; requires its login and backend")
    text = f"hours per month with all machines running, for the expected cost (default {BUSY_HOURS:g})"
    parser.add_argument("--busy-hours", type=float, default=BUSY_HOURS, metavar="N", help=text)
    text = f"exit with {FOUND} if the report contains it; may be repeated"
    parser.add_argument("--fail-on", action="append", default=[], choices=(DANGER, OVER_BUDGET, REJECTED, POLICY), help=text)
    text = "a Pulumi policy pack to check the change with, such as components/policy; may be repeated"
    parser.add_argument("--policy-pack", type=Path, action="append", default=[], metavar="DIR", help=text)
    text = "JSON with enforcement levels and settings of the policies; one per pack"
    parser.add_argument("--policy-pack-config", type=Path, action="append", default=[], metavar="FILE", help=text)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from azure_gpu_operations.review.markdown import comment
    from azure_gpu_operations.review.reviewing import reviewed_live, reviewed_on_embedded

    if not 0 <= options.busy_hours <= 730:
        return refuse(f"--busy-hours: a month has 730 hours; given: {options.busy_hours:g}")
    packs = Packs(tuple(options.policy_pack), tuple(options.policy_pack_config))
    if wrong := packs.wrong():
        return refuse(wrong)
    try:
        repository = Repository(project().files)
        head = repository.head()
        base, is_common = repository.common_ancestor(repository.commit(options.base), head.rstrip("+"))
        folder = _folder(repository)
        changed = repository.changed(base)
        known = list(_known(repository, base, folder))
        chosen = _chosen(known, options.stack, changed, folder)
    except RepositoryError as error:
        return refuse(error)
    began = time.monotonic()
    if options.live:
        stacks = reviewed_live(chosen, options.busy_hours, _say, packs)
    else:
        stacks = reviewed_on_embedded(chosen, repository, base, folder, cache(), options.busy_hours, _say, packs)
    review = Review(
        base=base,
        head=head,
        made=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        stacks=tuple(sorted(stacks, key=_place)),
        changed_files=changed,
        missing=() if is_common else (_NO_ANCESTOR,),
    )
    text = comment(review)
    if options.out is not None:
        _write(options.out, review, text)
        _say(f"{options.out}: review.md, comment.md, review.json, annotations.json; {time.monotonic() - began:.0f} s")
    else:
        print(text)
    failed = [each.outcome is Outcome.FAILED for each in review.stacks]
    if failed and (any(failed) if options.fail_on else all(failed)):  # an unreviewed stack must not pass
        return FAILED
    return FOUND if _has(review, options.fail_on) else OK


def cache() -> Path:
    """The folder of kept bases."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "azure-gpu" / "reviews"


def _folder(repository: Repository) -> str:
    """The project's folder from the root of the repository on: "", or with a slash at its end."""
    relative = project().files.resolve().relative_to(repository.root.resolve()).as_posix()
    return "" if relative == "." else f"{relative}/"


def _known(repository: Repository, base: str, folder: str) -> Iterator[StackFiles]:
    """All stack files of both commits."""
    try:
        at_base = dict(stack_files(repository.names_at(base, folder.rstrip("/"))))
    except RepositoryError:
        at_base = {}  # the folder is new
    now = dict(stack_files([each.name for each in project().files.iterdir()]))
    project_name = name_of(project().files)
    for stack, file in sorted({**at_base, **now}.items()):
        path = project().files / file
        head = path.read_text(encoding="utf-8", errors="replace") if stack in now and path.is_file() else None
        before = repository.text_at(base, f"{folder}{file}")
        base_extends, head_extends = (extended(text, project_name, folder) for text in (before, head))
        yield StackFiles(
            stack,
            f"{folder}{file}",
            before,
            head,
            base_extends,
            head_extends,
            repository.text_at(base, base_extends) if base_extends else None,
            _text_of(repository.root / head_extends) if head_extends else None,
        )


def _text_of(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _chosen(known: Sequence[StackFiles], named: Sequence[str], changed: Sequence[str], folder: str) -> list[StackFiles]:
    if not named:
        return touched(known, changed, folder)
    by_name = {each.stack: each for each in known}
    unknown = [each for each in named if each not in by_name]
    if unknown:
        allowed = ", ".join(by_name) or "none"
        raise RepositoryError(f"--stack: stack file not found; given: {', '.join(unknown)}; allowed: {allowed}")
    return [by_name[each] for each in dict.fromkeys(named)]


def _write(out: Path, review: Review, text: str) -> None:
    from azure_gpu_operations.review.annotations import annotations
    from azure_gpu_operations.review.markdown import whole

    out.mkdir(parents=True, exist_ok=True)
    (out / "comment.md").write_text(text, encoding="utf-8")
    (out / "review.md").write_text(whole(review), encoding="utf-8")
    (out / "review.json").write_text(json.dumps(as_data(review), indent=2) + "\n", encoding="utf-8")
    (out / "annotations.json").write_text(json.dumps(annotations(review), indent=2) + "\n", encoding="utf-8")


def _has(review: Review, named: Sequence[str]) -> bool:
    return any(
        (DANGER in named and any(danger.is_held for danger in each.dangers))
        or (REJECTED in named and each.outcome is Outcome.REJECTED)
        or (POLICY in named and bool(each.broken))
        or (
            OVER_BUDGET in named
            and each.costs is not None
            and each.costs.budget is not None
            and each.costs.budget.is_over is True
        )
        for each in review.stacks
    )


def _place(stack: StackReview) -> tuple[bool, bool, str]:
    """The sort key: the most important stack first."""
    return not any(each.is_held for each in stack.dangers), stack.outcome is not Outcome.REJECTED, stack.stack


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
