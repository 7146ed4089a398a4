"""Pieces of HTML that the page is made of. What takes texts of a stack escapes them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from azure_gpu_operations.review.model import UNKNOWN_YET, Operation, SourceLocation
from azure_gpu_operations.review.page.texts import code, html, value

DONE = {
    Operation.SAME: "unchanged",
    Operation.READ: "read",
    Operation.IMPORT: "imported",
    Operation.CREATE: "created",
    Operation.UPDATE: "updated",
    Operation.REPLACE: "replaced",
    Operation.DELETE: "deleted",
}
WORST_FIRST = tuple(reversed(Operation))


class Row(NamedTuple):
    """A row of a table."""

    heading: str
    cells: Sequence[str]
    attributes: str = ""


def table(
    caption: str, headings: Sequence[str], rows: Iterable[Row], text_columns: Sequence[int] = (), kind: str = ""
) -> Iterator[str]:
    """A table; numbers don't break inside, and columns that have texts, counted from 1 behind the row's heading, do."""
    yield f"<table{f' class={kind!r}' if kind else ''}><caption>{caption}</caption><thead><tr>"
    yield "".join(f'<th scope="col">{each}</th>' for each in headings)
    yield "</tr></thead><tbody>"
    for row in rows:
        cells = "".join(
            f"<td{'' if index in text_columns else ' class=n'}>{each}</td>" for index, each in enumerate(row.cells, 1)
        )
        yield f'<tr{row.attributes}><th scope="row">{row.heading}</th>{cells}</tr>'
    yield "</tbody></table>"


def scrollable(name: str, content: Iterable[str]) -> Iterator[str]:
    """Wide content in a scrollable box that keys can scroll."""
    yield f'<div class="wide" role="group" tabindex="0" aria-label="{name}">'
    yield from content
    yield "</div>"


def badge(operation: Operation, text: str = "") -> str:
    return f'<span class="badge {operation}">{text or DONE[operation]}</span>'


def now_then(before: str, after: str) -> str:
    """`1.32 → 1.88`; once where both are the same."""
    return before if before == after else f"{before} → <strong>{after}</strong>"


def listed(numbers: Iterable[tuple[int, str]]) -> str:
    """`1 replaced, 8 unchanged`."""
    return ", ".join(f"{number:,} {word}" for number, word in numbers if number) or "none"


def place(where: SourceLocation) -> str:
    """`, Pulumi.dev.yaml:38`; "" where it isn't known."""
    if not where.file:
        return ""
    return f", {code(f'{where.file}:{where.line}' if where.line else where.file)}"


def optional(text: str | None) -> str:
    """A value that may be unset, or unknown before `up`."""
    if text is None:
        return '<span class="note">not set</span>'
    return f'<span class="note">{html(text)}</span>' if text == UNKNOWN_YET else value(text)


def with_code(text: str) -> str:
    """A text of this project, with what stands between backticks as code."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        return html(text)
    return "".join(code(each) if index % 2 else html(each) for index, each in enumerate(pieces))
