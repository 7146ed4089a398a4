"""Writes what is replaced, deleted or interrupted: what is lost, the argument that forces it, and the milder way."""

from collections.abc import Iterator

from azure_gpu_operations.review.model import Danger, Operation, StackReview
from azure_gpu_operations.review.page.markup import DONE, badge, optional, place, with_code
from azure_gpu_operations.review.page.texts import code, html, name
from azure_gpu_operations.review.page.whose import part_of


def item(one: Danger, stack: StackReview) -> str:
    """One item of a list."""
    part = html(part_of(one.part, stack.parts))
    done = "interrupted" if one.operation is Operation.UPDATE else DONE[one.operation]
    rows = "".join(f"<div><dt>{term}</dt><dd>{content}</dd></div>" for term, content in _rows(one))
    return (
        f'<li class="danger {one.operation}{" held" if one.is_held else ""}" data-item data-operation="{one.operation}"'
        f' data-part="{part}" data-stack="{html(stack.stack)}"><p class="what">{badge(one.operation, done)} {html(one.what)}'
        f" <strong>{name(one.azure_name or one.name)}</strong> in stack {name(stack.stack)}</p><dl>{rows}</dl></li>"
    )


def _rows(one: Danger) -> Iterator[tuple[str, str]]:
    cause = code(one.cause) if one.cause else ""
    if one.before is not None or one.after is not None:
        cause += f": {optional(one.before)} → {optional(one.after)}"
    if cause or one.place.file:
        yield "Because of", f"{cause}{place(one.place)}".removeprefix(", ")
    if one.is_held or one.lost:
        yield "Lost", html(one.lost) or "it holds data or serves traffic; what is lost isn't known"
    if one.minutes:
        yield "Takes", f"{html(one.minutes)} minutes"
    if one.quota:
        yield "Quota meanwhile", html(one.quota)
    if one.milder:
        yield "Instead", with_code(one.milder)
    if one.refused:
        yield "Refused", f"<code>operations up</code> does it only with {code(one.refused)}"
