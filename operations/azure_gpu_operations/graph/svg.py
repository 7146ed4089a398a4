"""Draws a graph as SVG with selectable text, light and dark colours, and descriptions for screen readers."""

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from azure_gpu_operations.graph import layout, words
from azure_gpu_operations.graph.layout import TEXT_SIZE, TITLE_SIZE, Box, Line, Picture
from azure_gpu_operations.graph.model import Graph
from azure_gpu_operations.terminal import printable

_PADDING = 8
# Of lines to different parts, each to be told from its neighbours on white and on black.
_COLOURS = (
    "#2f81f7", "#c4820e", "#3f9142", "#a371f7", "#d1487a", "#1b9aaa",
    "#e5534b", "#7d8590", "#8a6d3b", "#5b7fa6", "#a8a100", "#c05fc0",
)  # fmt: skip
_STYLE = f"""\
text {{ font: {TEXT_SIZE}px system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; fill: #1f2328; }}
.page {{ fill: #ffffff; }}
.box {{ fill: #f6f8fa; stroke: #afb8c1; }}
.exists {{ stroke-dasharray: 4 3; }}
.name {{ font-size: {TITLE_SIZE}px; font-weight: 600; }}
.stack {{ font-size: 18px; font-weight: 600; }}
.muted {{ fill: #59636e; }}
.line {{ fill: none; stroke-width: 1.5; stroke-linejoin: round; }}
.role {{ stroke-dasharray: 2 3; }}
@media (prefers-color-scheme: dark) {{
  text {{ fill: #e6edf3; }}
  .page {{ fill: #0d1117; }}
  .box {{ fill: #161b22; stroke: #484f58; }}
  .muted {{ fill: #9198a1; }}
}}"""
LEGEND = "Solid: depends on. Dotted: has a role on. Dashed border: exists already."


def drawn(graph: Graph) -> str:
    """The file."""
    placed = layout.picture(graph)
    return "\n".join(_elements(graph, placed)) + "\n"


def _elements(graph: Graph, placed: Picture) -> Iterator[str]:
    name = f"Stack {graph.stack}"
    described = " ".join(words.sentence(graph, each) for each in graph.parts)
    summary = " · ".join(filter(None, [words.region(graph), words.total_line(graph), f"as of {graph.day.isoformat()}"]))
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {placed.width} {placed.height}" width="{placed.width}"'
        f' height="{placed.height}" role="img" aria-labelledby="title description">'
    )
    yield f'<title id="title">{_text(name)}</title>'
    yield f'<desc id="description">{_text(f"{summary}. {described}")}</desc>'
    yield f"<style>\n{_STYLE}\n</style>"
    yield f'<rect class="page" width="{placed.width}" height="{placed.height}" rx="8"/>'
    yield f'<text class="stack" x="{layout.MARGIN}" y="30">{_text(name)}</text>'
    yield f'<text class="muted" x="{layout.MARGIN}" y="48">{_text(summary)}</text>'
    for each in placed.headings:
        yield f'<text class="muted" x="{each.x}" y="{each.y}">{_text(each.text)}</text>'
    for line in placed.lines:
        yield from _line(line)
    for box in placed.boxes:
        yield from _box(box)
    for index, text in enumerate((LEGEND, words.NOT_COUNTED)):
        yield f'<text class="muted" x="{layout.MARGIN}" y="{placed.height - 22 + 14 * index}">{_text(text)}</text>'
    yield "</svg>"


def _line(line: Line) -> Iterator[str]:
    colour = _COLOURS[line.colour % len(_COLOURS)]
    steps = " ".join(f"{x},{y}" for x, y in line.points)
    role = " role" if line.is_role else ""
    yield f'<polyline class="line{role}" stroke="{colour}" points="{steps}"/>'
    (x, y), (before, _) = line.points[-1], line.points[-2]
    back = -6 if before < x else 6
    yield f'<path fill="{colour}" d="M{x},{y} l{back},-4 v8 z"/>'
    (x, y) = line.points[0]
    yield f'<circle fill="{colour}" cx="{x}" cy="{y}" r="2.5"/>'


def _box(box: Box) -> Iterator[str]:
    exists = " exists" if box.exists else ""
    label = quoteattr(printable(f"{box.noun} {box.title}"))
    yield f"<g aria-label={label}>"
    yield f'<rect class="box{exists}" x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="6"/>'
    left, room = box.x + _PADDING, box.width - 2 * _PADDING
    noun = "" if box.noun == box.title else f"  {box.noun}"
    title = _fitting(box.title, TITLE_SIZE, room - layout.text_width(noun, TEXT_SIZE))
    yield (
        f'<text x="{left}" y="{box.row_y(0) + 4}" xml:space="preserve"><tspan class="name">{_text(title)}</tspan>'
        f'<tspan class="muted">{_text(noun)}</tspan></text>'
    )
    for index, row in enumerate(box.rows, 1):
        style = "" if row.target or row.is_role else ' class="muted"'
        yield f'<text{style} x="{left}" y="{box.row_y(index) + 4}">{_text(_fitting(row.text, TEXT_SIZE, room))}</text>'
    yield "</g>"


def _fitting(text: str, size: int, room: int) -> str:
    """The beginning of a text that is too long for its box; the description has it whole."""
    if layout.text_width(text, size) <= room:
        return text
    while text and layout.text_width(f"{text}…", size) > room:
        text = text[:-1]
    return f"{text}…"


def _text(text: str) -> str:
    return escape(printable(text))
