"""A graph in a terminal and as a diagram: what is in it, and that no name acts."""

import io
import re
from datetime import date

import pytest
from hypothesis import given, strategies as st
from rich.console import Console

from azure_gpu_operations.graph import diagrams, kinds, terminal, words
from azure_gpu_operations.graph.machines import Machines
from azure_gpu_operations.graph.model import Graph, Part, Role, Use
from tests.support import graphs

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


@given(any_graphs())
def test_no_name_leaves_its_place_in_a_diagram(graph: Graph) -> None:
    arrows = len(graph.uses) + sum(graph.part(each.scope) is not None and each.scope != each.who for each in graph.roles)
    layers = len({each.layer for each in graph.parts})
    existing = any(each.exists for each in graph.parts)

    lines = diagrams.mermaid(graph).splitlines()
    nodes = [each for each in lines if re.fullmatch(r' {4}p\d+\["[^"<>`]*(<br>[^"<>`]*)*"\]', each)]
    assert len(nodes) == len(graph.parts)
    assert len([each for each in lines if re.fullmatch(r'  p\d+ -(\.-|-)?>\|"[\w .]+"\| p\d+', each)]) == arrows
    assert len(lines) == 4 + 2 * layers + len(nodes) + arrows + 2 * existing

    lines = diagrams.dot(graph).splitlines()
    text = r'"([^"\\]|\\.)*"'
    nodes = [each for each in lines if re.fullmatch(rf" {{4}}p\d+ \[label={text}(, style=dashed)?\];", each)]
    assert len(nodes) == len(graph.parts)
    assert len([each for each in lines if re.fullmatch(rf"  p\d+ -> p\d+ \[label={text}(, style=dotted)?\];", each)]) == arrows
    assert len(lines) == 3 + 3 * layers + len(nodes) + arrows


def test_a_diagram_has_what_is_known_of_a_part_and_its_roles() -> None:
    graph = graphs.graph("ml_endpoint.happy.blue_and_green")
    drawn = diagrams.dot(graph)
    for text in (
        r"ML endpoint digits\nblue: Standard_NC4as_T4_v3 (T4)\n",
        r"\n1.052 USD/h, 1.052 at idle\n",
        r"expires 2027-01-01",
        'label="serves"',
        'label="AKS RBAC Cluster Admin", style=dotted',
    ):
        assert text in drawn
    assert "ML endpoint digits<br>blue: Standard_NC4as_T4_v3 (T4)<br>" in diagrams.mermaid(graph)


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
