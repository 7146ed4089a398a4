"""Places boxes in columns, and lines between them that cross no box.

The result is a `Picture` in whole units, the same for the same graph. A column is a layer. Every line of text of a box has a
row of the grid; a row that names another part is where its line begins. Lines to the same part join: each runs in the gaps
between the columns, and above the boxes where it passes a column.

No two lines overlap: rows of each column, and where lines of each column end, have separate offsets in the grid.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from azure_gpu_operations.graph import words
from azure_gpu_operations.graph.kinds import Layer
from azure_gpu_operations.graph.model import Graph, Part

GRID = 16  # height of a row
TITLE_SIZE, TEXT_SIZE = 13, 11
_PADDING = 8
_SHIFT = GRID // len(Layer)  # of a column's rows against those of the one before it
_ENDS_USE, _ENDS_ROLE = 18, 9  # below a box's upper edge: where lines end
_LANE = 7  # between two lines side by side
MARGIN = 16
_HEADING = 80  # title, summary and the names of the columns
_FOOT = 40
_MOST_WIDTH = 300  # of a box
_LEAST_ROWS = 2
_BOLD = 1.12  # times as wide
_NARROW, _WIDE = "ijlftrI.,:;|!'()[] -/", "mwMW@%&"


class Row(NamedTuple):
    """A line of text of a box."""

    text: str
    target: str = ""  # key of the part that it names; empty: none
    is_role: bool = False
    is_strong: bool = False


class Box(NamedTuple):
    """A part."""

    key: str
    column: int
    x: int
    y: int
    width: int
    height: int
    title: str
    noun: str
    exists: bool
    rows: tuple[Row, ...]  # below the title

    def row_y(self, index: int) -> int:
        """The middle of a row; the title is row 0."""
        return self.y + _PADDING + index * GRID + GRID // 2


class Line(NamedTuple):
    """From a row to a part. Horizontal and vertical pieces only."""

    points: tuple[tuple[int, int], ...]
    target: str
    colour: int
    is_role: bool


class Heading(NamedTuple):
    """The name of a column."""

    text: str
    x: int
    y: int


class Picture(NamedTuple):
    """Everything, in the order in which it is drawn."""

    width: int
    height: int
    headings: tuple[Heading, ...]
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


class _Route(NamedTuple):
    """A line before its place is known."""

    box: Box
    row: int
    target: Box
    is_role: bool
    leaves: int  # the gap that it leaves into
    enters: int  # the gap that it comes from

    @property
    def bus(self) -> tuple[str, bool, int]:
        """Lines with the same one join."""
        return self.target.key, self.is_role, self.enters


def text_width(text: str, size: int) -> int:
    """At most: fonts differ. Titles are bold."""
    units = sum(map(_units, text)) * (_BOLD if size == TITLE_SIZE else 1)
    return math.ceil(units * size / 100)


def _units(letter: str) -> int:
    """The width of a letter, in hundredths of its size."""
    if not letter.isascii():
        return 100
    return 34 if letter in _NARROW else 95 if letter in _WIDE else 72 if letter.isupper() else 61


def picture(graph: Graph) -> Picture:
    """Places everything."""
    layers = [layer for layer in Layer if any(each.layer is layer for each in graph.parts)]
    columns = [[_box(graph, each, index) for each in graph.parts if each.layer is layer] for index, layer in enumerate(layers)]
    widths = [max(each.width for each in column) for column in columns]
    routes = list(_routes(columns))
    above = sorted({each.bus for each in routes if each.leaves != each.enters})
    top = _HEADING + MARGIN + _LANE * len(above)
    top += -top % GRID
    columns = [_stacked(column, widths[index], top + index * _SHIFT) for index, column in enumerate(columns)]
    boxes = {each.key: each for column in columns for each in column}
    routes = [each._replace(box=boxes[each.box.key], target=boxes[each.target.key]) for each in routes]
    lanes = [_lanes(gap, routes, top) for gap in range(len(columns) + 1)]
    starts, x = list[int](), 0
    gaps = list[int]()  # the left edge of each
    for index, width in enumerate(widths):
        gaps.append(x)
        x += _gap_width(lanes[index], is_outer=index == 0)
        starts.append(x)
        x += width
    gaps.append(x)
    x += _gap_width(lanes[-1], is_outer=True)
    placed = {key: each._replace(x=starts[each.column]) for key, each in boxes.items()}
    aboves = {bus: _HEADING + _LANE * (index + 1) for index, bus in enumerate(above)}
    colours = {key: index for index, key in enumerate(dict.fromkeys(each.target.key for each in routes))}
    lines = tuple(
        Line(_points(each, placed, gaps, lanes, aboves), each.target.key, colours[each.target.key], each.is_role)
        for each in routes
    )
    bottom = max((each.y + each.height for each in boxes.values()), default=top)
    headings = tuple(Heading(layer.value, starts[index], _HEADING - _PADDING) for index, layer in enumerate(layers))
    least = text_width(words.NOT_COUNTED, TEXT_SIZE) + 2 * MARGIN
    return Picture(max(x, least), bottom + _FOOT, headings, tuple(placed.values()), lines)


def _box(graph: Graph, part: Part, column: int) -> Box:
    """A box without its position."""
    facts = list(filter(None, [*map(words.machines, part.machines), *part.notes, words.cost(part), words.end(part)]))
    facts += [words.EXISTS] if part.exists else []
    facts += [part.location] if part.location and part.location != words.region(graph) else []
    rows = [Row(each) for each in facts]
    rows += [Row(f"{use.words} {words.name_of(graph, use.on)}", use.on) for use in graph.uses if use.part == part.key]
    for role in graph.roles:
        if role.who == part.key:
            is_part = graph.part(role.scope) is not None and role.scope != part.key
            rows.append(Row(f"{words.role(role)} on {words.scope(graph, role)}", role.scope if is_part else "", is_role=True))
    shown = max(_LEAST_ROWS, 1 + len(rows))
    wide = text_width(part.name, TITLE_SIZE) + text_width(f"  {part.noun}", TEXT_SIZE)
    width = max([wide, *(text_width(each.text, TEXT_SIZE) for each in rows)]) + 2 * _PADDING
    return Box(
        part.key,
        column,
        0,
        0,
        min(width, _MOST_WIDTH),
        2 * _PADDING + shown * GRID,
        part.name,
        part.noun,
        part.exists,
        tuple(rows),
    )


def _stacked(column: Sequence[Box], width: int, top: int) -> list[Box]:
    placed, y = list[Box](), top
    for each in column:
        placed.append(each._replace(y=y, width=width))
        y += each.height + GRID
    return placed


def _routes(columns: Sequence[Sequence[Box]]) -> Iterator[_Route]:
    """Gap k is left of column k. What is to the left is left to the left, all else to the right."""
    boxes = {each.key: each for column in columns for each in column}
    for box in boxes.values():
        for index, row in enumerate(box.rows, 1):
            if row.target:
                target = boxes[row.target]
                leaves = box.column if target.column < box.column else box.column + 1
                enters = target.column if target.column > box.column else target.column + 1
                yield _Route(box, index, target, row.is_role, leaves, enters)


def _end(route: _Route) -> int:
    return route.target.y + (_ENDS_ROLE if route.is_role else _ENDS_USE)


def _lanes(gap: int, routes: Sequence[_Route], top: int) -> dict[tuple[str, bool, int], int]:
    """The number of the lane that each bus has in a gap. Those whose heights don't meet share one."""
    spans: dict[tuple[str, bool, int], tuple[int, int]] = {}
    for route in routes:
        heights = list[int]()
        if gap == route.leaves:
            heights.append(route.box.row_y(route.row))
        if gap == route.enters:
            heights.append(_end(route))
        if heights and route.leaves != route.enters:
            heights.append(top - GRID)
        if heights:
            low, high = spans.get(route.bus, (heights[0], heights[0]))
            spans[route.bus] = min(low, *heights), max(high, *heights)
    lanes: dict[tuple[str, bool, int], int] = {}
    ends = list[int]()  # of each lane, the lowest point that is taken
    for bus, (low, high) in sorted(spans.items(), key=lambda each: (each[1], each[0])):
        free = next((index for index, end in enumerate(ends) if end + _LANE < low), len(ends))
        ends[free : free + 1] = [high]
        lanes[bus] = free
    return lanes


def _gap_width(lanes: dict[tuple[str, bool, int], int], *, is_outer: bool) -> int:
    return (MARGIN if is_outer else 2 * MARGIN) + _LANE * len(set(lanes.values()))


def _points(
    route: _Route,
    boxes: dict[str, Box],
    gaps: Sequence[int],
    lanes: Sequence[dict[tuple[str, bool, int], int]],
    aboves: dict[tuple[str, bool, int], int],
) -> tuple[tuple[int, int], ...]:
    box, target = boxes[route.box.key], boxes[route.target.key]
    start = box.x if route.leaves == box.column else box.x + box.width
    end = target.x if route.enters == target.column else target.x + target.width
    first = gaps[route.leaves] + MARGIN + _LANE * lanes[route.leaves][route.bus]
    here, there = box.row_y(route.row), _end(route)
    if route.leaves == route.enters:
        return (start, here), (first, here), (first, there), (end, there)
    second = gaps[route.enters] + MARGIN + _LANE * lanes[route.enters][route.bus]
    above = aboves[route.bus]
    return (start, here), (first, here), (first, above), (second, above), (second, there), (end, there)
