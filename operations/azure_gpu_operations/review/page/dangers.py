"""Writes what is replaced, deleted or interrupted: what is lost, the argument that forces it, and the milder way.

What one argument forces in a stack stands together, so that a changed team reads as one change and not as twenty.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from azure_gpu_operations.review.causes import DONE, by_cause
from azure_gpu_operations.review.model import Danger, Operation, Review, StackReview
from azure_gpu_operations.review.page.markup import badge, listed, optional, place, with_code
from azure_gpu_operations.review.page.texts import code, html, name
from azure_gpu_operations.review.page.whose import part_of

_OPEN_GROUPS = 8  # of the first lines; more of them are folded
_OPEN_TOGETHER = 10  # of what one argument forces


def of_review(review: Review) -> Iterator[str]:
    """All dangers, in the review's order."""
    groups = [_group(each, stack) for stack in review.stacks for each in by_cause(stack.dangers)]
    yield from _list(groups[:_OPEN_GROUPS])
    if rest := groups[_OPEN_GROUPS:]:
        yield f"<details><summary>{len(rest):,} more changes that replace, delete or interrupt</summary>"
        yield from _list(rest)
        yield "</details>"


def _list(items: Sequence[str]) -> Iterator[str]:
    if items:
        yield '<ul class="dangers">'
        yield from items
        yield "</ul>"


def _group(those: Sequence[Danger], stack: StackReview) -> str:
    worst = max((each.operation for each in those), key=list(Operation).index)
    kind = f"danger {worst}{' held' if any(each.is_held for each in those) else ''}"
    where = f" in stack {name(stack.stack)}"
    common = list(_common(those))
    if len(those) == 1:
        rows = [*common, *_own(those[0], those)]
        return f'<li class="{kind}" {_item(those[0], stack)}><p class="what">{_title(those[0])}{where}</p>{_described(rows)}</li>'
    counted = Counter(DONE[one.operation] for one in those)
    lines = [f"<li {_item(each, stack)}>{_title(each)}{_tail(each, those)}</li>" for each in those]
    shown = f"<ul>{''.join(lines[:_OPEN_TOGETHER])}</ul>"
    if rest := lines[_OPEN_TOGETHER:]:
        shown += f"<details><summary>{len(rest):,} more</summary><ul>{''.join(rest)}</ul></details>"
    heading = f'<p class="what"><strong>{listed((number, done) for done, number in counted.items())}</strong>{where}</p>'
    return f'<li class="{kind} together" data-stack="{html(stack.stack)}">{heading}{_described(common)}{shown}</li>'


def _item(one: Danger, stack: StackReview) -> str:
    """The attributes that filters use."""
    part = html(part_of(one.part, stack.parts))
    return f'data-item data-operation="{one.operation}" data-part="{part}" data-stack="{html(stack.stack)}"'


def _title(one: Danger) -> str:
    return f"{badge(one.operation, DONE[one.operation])} {html(one.what)} <strong>{name(one.azure_name or one.name)}</strong>"


def _common(those: Sequence[Danger]) -> Iterator[tuple[str, str]]:
    """The rows common to all of a group."""
    first = those[0]
    cause = code(first.cause) if first.cause else ""
    if first.before is not None or first.after is not None:
        cause += f": {optional(first.before)} → {optional(first.after)}"
    if cause or first.place.file:
        yield "Cause", f"{cause}{place(first.place)}".removeprefix(", ")
    if first.milder and _is_common_milder(those):
        yield "Instead", with_code(first.milder)


def _is_common_milder(those: Sequence[Danger]) -> bool:
    return len({each.milder for each in those}) == 1


def _own(one: Danger, those: Sequence[Danger]) -> Iterator[tuple[str, str]]:
    """The rows of one danger."""
    if one.is_held or one.lost:
        yield "Lost", html(one.lost) or "it holds data or serves traffic; the loss isn't known"
    if one.minutes:
        yield "Takes", f"{html(one.minutes)} minutes"
    if one.quota:
        yield "Quota meanwhile", html(one.quota)
    if one.milder and not _is_common_milder(those):
        yield "Instead", with_code(one.milder)
    if one.refused:
        yield "Confirm with", code(f"operations up {one.refused}")


def _tail(one: Danger, those: Sequence[Danger]) -> str:
    """The rows of one danger on one line."""
    rows = [f'<span class="note">{term}:</span> {content}' for term, content in _own(one, those)]
    return f". {'; '.join(rows)}" if rows else ""


def _described(rows: Sequence[tuple[str, str]]) -> str:
    lines = "".join(f"<div><dt>{term}</dt><dd>{content}</dd></div>" for term, content in rows)
    return f"<dl>{lines}</dl>" if lines else ""
