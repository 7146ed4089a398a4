"""Tables for people: on a terminal, less important columns give way, and a name is neither folded nor cut.

In a file or a pipe every column is printed, each row in one line.
"""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

_GAP = 2  # spaces between two columns


class Column(NamedTuple):
    """A column with its cells, one per row."""

    heading: str
    cells: Sequence[str]
    importance: int | None = None  # None: always shown; else the lowest number gives way first
    wraps: int = 0  # sentences, which may go on in the next line between two words, at this width or above it; 0: names

    @property
    def least_width(self) -> int:
        """Characters below which a name, or a word of a text that wraps, would break."""
        if not self.wraps:
            return self.full_width
        longest_word = max((cell_len(word) for text in (self.heading, *self.cells) for word in text.split()), default=0)
        return max(longest_word, min(self.wraps, self.full_width))

    @property
    def full_width(self) -> int:
        return max((cell_len(line) for text in (self.heading, *self.cells) for line in text.splitlines()), default=0)


class Heading(NamedTuple):
    """A column without its cells."""

    text: str
    importance: int | None = None
    wraps: int = 0


def of_rows(headings: Sequence[Heading], rows: Iterable[Sequence[str]]) -> list[Column]:
    """Columns from rows, which have a cell for each heading."""
    listed = list(rows)
    return [
        Column(heading.text, [row[at] for row in listed], heading.importance, heading.wraps)
        for at, heading in enumerate(headings)
    ]


def fit(columns: Sequence[Column], width: int) -> list[Column]:
    """The columns, in their order, that `width` characters have room for: those that are always shown, however wide they are,
    and the most important others."""
    kept = {at for at, column in enumerate(columns) if column.importance is None}
    room = width - total_width([columns[at].least_width for at in kept])
    others = [(-column.importance, at) for at, column in enumerate(columns) if column.importance is not None]
    for _, at in sorted(others):
        needed = columns[at].least_width + (_GAP if kept else 0)
        if needed <= room:
            kept.add(at)
            room -= needed
    return [column for at, column in enumerate(columns) if at in kept]


def lines(columns: Sequence[Column], width: int | None) -> list[str]:
    """The heading and the rows. Texts that wrap share what `width` leaves beside the names; with None, nothing wraps."""
    widths = [column.full_width if width is None else column.least_width for column in columns]
    heights = {at: _height(column, widths[at]) for at, column in enumerate(columns) if widths[at] < column.full_width}
    for _ in range(0 if width is None else width - total_width(widths)):
        if not heights:
            break
        highest = max(heights, key=lambda at: (heights[at], -at))
        widths[highest] += 1
        heights[highest] = _height(columns[highest], widths[highest])
        if widths[highest] == columns[highest].full_width:
            del heights[highest]
    headings = _row([column.heading for column in columns], columns, widths)
    rows = zip(*(column.cells for column in columns), strict=True)
    return [*headings, *(line for cells in rows for line in _row(cells, columns, widths))]


def print_table(console: Console, columns: Sequence[Column], *, title: str = "", wide: bool = False) -> None:
    """Prints the columns that the terminal has room for, and names the others in the last line; with `wide` all of them."""
    width = width_of(console, wide)
    kept = list(columns) if width is None else fit(columns, width)
    if title:
        console.print(Text(title, "italic"), soft_wrap=True)
    for number, line in enumerate(lines(kept, width)):
        console.print(Text(line, "" if number else "bold"), soft_wrap=True)
    left_out = [column.heading for column in columns if column not in kept]
    if left_out:
        console.print(Text(f"Not shown in {width} columns: {', '.join(left_out)}; --wide shows all."), soft_wrap=True)


def width_of(console: Console, wide: bool = False) -> int | None:
    """The terminal's width; None where nothing limits it: in a file or a pipe, or with `wide`."""
    return None if wide or not console.is_terminal else console.width


def _row(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> Iterator[str]:
    parts = [
        _wrapped(cell, width) if column.wraps and cell.strip() else cell.splitlines() or [""]
        for cell, column, width in zip(cells, columns, widths, strict=True)
    ]
    for pieces in zip_longest(*parts, fillvalue=""):
        padded = [piece + " " * (width - cell_len(piece)) for piece, width in zip(pieces, widths, strict=True)]
        yield (" " * _GAP).join(padded).rstrip()


def _height(column: Column, width: int) -> int:
    """Lines of its highest cell."""
    texts = (column.heading, *column.cells)
    return max((1 if cell_len(text) <= width else len(_wrapped(text, width)) for text in texts), default=1)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def total_width(widths: Sequence[int]) -> int:
    """Of columns side by side."""
    return sum(widths) + _GAP * max(len(widths) - 1, 0)
