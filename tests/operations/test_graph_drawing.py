"""Where everything of a picture is, and the SVG that is drawn of it: of everything that is recorded, and of any graph."""

import io
import itertools
from collections.abc import Iterator
from datetime import date
from xml.etree import ElementTree

import pytest
from hypothesis import given, strategies as st
from rich.console import Console

from azure_gpu_operations.graph import kinds, layout, svg, terminal, words
from azure_gpu_operations.graph.layout import Box, Line, Picture
from azure_gpu_operations.graph.machines import Machines
from azure_gpu_operations.graph.model import Graph, Part, Role, Use
from tests.support import graphs

NAMESPACE = "{http://www.w3.org/2000/svg}"
Segment = tuple[tuple[int, int], tuple[int, int]]

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
MACHINES = st.builds(Machines, NAMES, NAMES, NAMES, st.none() | st.integers(0, 9), st.none() | st.integers(0, 9), st.booleans())
COSTS = st.none() | st.floats(0, 1000)


@st.composite
def any_graphs(draw: st.DrawFn) -> Graph:
    types = draw(st.lists(st.sampled_from(sorted(kinds.KINDS)) | st.just("somebodys:index:Thing"), min_size=1, max_size=14))
    parts = [
        Part(
            key=f"{index}",
            type=token,
            name=draw(NAMES),
            location=draw(st.sampled_from(["", "eastus", "westeurope"])),
            machines=tuple(draw(st.lists(MACHINES, max_size=2))),
            notes=tuple(draw(st.lists(NAMES, max_size=2))),
            exists=draw(st.booleans()),
            most_cost=draw(COSTS),
            idle_cost=draw(COSTS),
            expires=draw(st.sampled_from(["", "2026-12-01T00:00:00Z"])),
        )
        for index, token in enumerate(types)
    ]
    keys = st.sampled_from([each.key for each in parts])
    uses = draw(st.lists(st.builds(Use, keys, st.sampled_from(["runs in", "logs to"]), keys), max_size=25, unique=True))
    roles = draw(
        st.lists(st.builds(Role, keys, st.sampled_from(["Reader", "AcrPull"]), keys | st.just("a subscription")), max_size=12)
    )
    shown = tuple(each for each in uses if each.part != each.on)
    return Graph(draw(NAMES), date(2026, 11, 20), tuple(parts), shown, tuple(roles))


@pytest.mark.parametrize("name", graphs.names())
def test_the_picture_of_everything_recorded_is_in_order(name: str) -> None:
    is_in_order(graphs.graph(name))


@given(any_graphs())
def test_the_picture_of_any_graph_is_in_order(graph: Graph) -> None:
    is_in_order(graph)


def is_in_order(graph: Graph) -> None:
    placed = layout.picture(graph)
    assert [each.key for each in placed.boxes if each.key] == [
        each.key for layer in kinds.Layer for each in graph.parts if each.layer is layer
    ]
    boxes_are_apart(placed)
    lines_end_at_their_boxes_and_cross_none(placed)
    lines_to_different_parts_do_not_lie_on_each_other(placed)
    assert len(placed.lines) == len(graph.uses) + len([each for each in graph.roles if has_line(graph, each)])
    is_well_formed_and_whole(graph, placed)


def has_line(graph: Graph, role: Role) -> bool:
    return graph.part(role.scope) is not None and role.scope != role.who


def boxes_are_apart(placed: Picture) -> None:
    for each in placed.boxes:
        assert each.x >= 0
        assert each.y > max((heading.y for heading in placed.headings), default=0)
        assert each.x + each.width <= placed.width
        assert each.y + each.height <= placed.height
        assert each.row_y(len(each.rows)) < each.y + each.height
    for one, other in itertools.combinations(placed.boxes, 2):
        is_beside = one.x + one.width < other.x or other.x + other.width < one.x
        assert is_beside or one.y + one.height < other.y or other.y + other.height < one.y


def lines_end_at_their_boxes_and_cross_none(placed: Picture) -> None:
    boxes = {each.key: each for each in placed.boxes}
    for line in placed.lines:
        x, y = line.points[-1]
        target = boxes[line.target]
        assert x in (target.x, target.x + target.width)
        assert target.y < y < target.y + target.height
        for (one_x, one_y), (other_x, other_y) in segments(line):
            assert one_x == other_x or one_y == other_y
            assert 0 <= min(one_x, other_x) <= max(one_x, other_x) <= placed.width
            assert 0 <= min(one_y, other_y) <= max(one_y, other_y) <= placed.height
            assert not [each.key for each in placed.boxes if crosses(each, ((one_x, one_y), (other_x, other_y)))]


def crosses(box: Box, segment: Segment) -> bool:
    """Whether it is anywhere within the box, its edges left out."""
    (one_x, one_y), (other_x, other_y) = segment
    beside = max(one_x, other_x) <= box.x or min(one_x, other_x) >= box.x + box.width
    return not beside and not (max(one_y, other_y) <= box.y or min(one_y, other_y) >= box.y + box.height)


def lines_to_different_parts_do_not_lie_on_each_other(placed: Picture) -> None:
    """Crossing is all they do."""
    spans: dict[tuple[str, int], list[tuple[int, int, tuple[str, bool]]]] = {}
    for line in placed.lines:
        for (one_x, one_y), (other_x, other_y) in segments(line):
            if one_y == other_y and one_x != other_x:
                spans.setdefault(("y", one_y), []).append((min(one_x, other_x), max(one_x, other_x), (line.target, line.is_role)))
            elif one_y != other_y:
                spans.setdefault(("x", one_x), []).append((min(one_y, other_y), max(one_y, other_y), (line.target, line.is_role)))
    for found in spans.values():
        for one, other in itertools.combinations(found, 2):
            assert one[2] == other[2] or one[1] <= other[0] or other[1] <= one[0]


def segments(line: Line) -> Iterator[Segment]:
    return itertools.pairwise(line.points)


def is_well_formed_and_whole(graph: Graph, placed: Picture) -> None:
    text = svg.drawn(graph)
    root = ElementTree.fromstring(text)
    assert root.tag == f"{NAMESPACE}svg"
    assert root.get("viewBox") == f"0 0 {placed.width} {placed.height}"
    labelled = [root.find(f"{NAMESPACE}*[@id='{each}']") for each in (root.get("aria-labelledby") or "").split()]
    assert all(each is not None and each.text for each in labelled)
    assert len(root.findall(f"{NAMESPACE}g")) == len(graph.parts)
    for each in root.iter(f"{NAMESPACE}text"):
        assert 0 <= int(each.get("x") or 0) <= placed.width
        assert 0 <= int(each.get("y") or 0) <= placed.height
    for box, drawn in zip(placed.boxes, root.findall(f"{NAMESPACE}g"), strict=True):
        for row in drawn.findall(f"{NAMESPACE}text")[1:]:
            assert layout.text_width("".join(row.itertext()), layout.TEXT_SIZE) <= box.width


def test_the_drawing_tells_every_part_and_relation_as_text() -> None:
    graph = graphs.graph("ml_endpoint.happy.blue_and_green")
    root = ElementTree.fromstring(svg.drawn(graph))
    shown = ["".join(each.itertext()) for each in root.iter(f"{NAMESPACE}text")]
    for line in (
        "digits  ML endpoint",
        "blue: Standard_NC4as_T4_v3 (T4)",
        "1.052 USD/h, 1.052 at idle",
        "expires 2027-01-01",
        "serves digits-2",
    ):
        assert line in shown
    assert "AKS RBAC Cluster Admin on shared" in shown
    description = root.find(f"{NAMESPACE}desc")
    assert description is not None
    for part in graph.parts:
        assert words.called(part) in (description.text or "")


def test_a_text_that_is_too_long_is_cut_and_the_description_has_it_whole() -> None:
    name = "a" * 200
    part = Part("1", kinds.POOL, name, "", (), (), exists=False, most_cost=None, idle_cost=None, expires="")
    drawn = svg.drawn(Graph("s", date(2026, 11, 20), (part,), (), ()))
    root = ElementTree.fromstring(drawn)
    [title] = [each.text or "" for each in root.iter(f"{NAMESPACE}tspan") if each.get("class") == "name"]
    assert title.endswith("…")
    assert len(title) < 60
    assert name in (root.findtext(f"{NAMESPACE}desc") or "")


def in_a_terminal(graph: Graph) -> str:
    """What is written where there is none."""
    written = io.StringIO()
    terminal.show(Console(width=200, force_terminal=False, file=written), graph)
    return written.getvalue()


@pytest.mark.parametrize("name", ["ml_endpoint.happy.blue_and_green", "foundation.happy.existing", "cluster.happy.everything"])
def test_a_terminal_shows_every_part_what_it_depends_on_and_the_roles(name: str) -> None:
    graph = graphs.graph(name)
    shown = in_a_terminal(graph)
    assert "\x1b" not in shown
    for part in graph.parts:
        assert part.name in shown
    for use in graph.uses:
        assert f"{use.words} {words.name_of(graph, use.on)}" in shown
    for role in graph.roles:
        assert role.role in shown


def test_what_a_stack_file_names_does_not_act_upon_the_terminal() -> None:
    part = Part("1", kinds.POOL, "a\x1b[31m[bold]b", "", (), (), exists=False, most_cost=None, idle_cost=None, expires="")
    shown = in_a_terminal(Graph("s", date(2026, 11, 20), (part,), (), ()))
    assert "a [31m[bold]b" in shown
