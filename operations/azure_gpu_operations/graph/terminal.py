"""Prints a graph as a table of the parts, a tree of their dependencies, and a table of roles."""

from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape
from rich.tree import Tree

from azure_gpu_operations.graph import words
from azure_gpu_operations.graph.kinds import Layer
from azure_gpu_operations.graph.model import Graph, Part
from azure_gpu_operations.tables import Heading, of_rows, print_table
from azure_gpu_operations.terminal import printable

_PARTS = (
    Heading("part"),
    Heading("kind", 5),
    Heading("machines", 6, wraps=14),
    Heading("region", 1),
    Heading("USD/h at most", 4),
    Heading("at idle", 3),
    Heading("expires", 2),
)
_ROLES = (Heading("who"), Heading("role", 1, wraps=14), Heading("on"))


def show(console: Console, graph: Graph, *, wide: bool = False) -> None:
    place = " · ".join(filter(None, [words.region(graph), f"as of {graph.day.isoformat()}"]))
    console.print(f"[bold]{_text(f'Stack {graph.stack}')}[/bold] · {_text(place)}")
    print_table(console, of_rows(_PARTS, _parts(graph)), wide=wide)
    console.print(f"{_text(words.total_line(graph))}. {words.NOT_COUNTED}\n")
    console.print(_uses(graph))
    if graph.roles:
        print_table(console, of_rows(_ROLES, _roles(graph)), title="roles", wide=wide)


def _parts(graph: Graph) -> Iterator[tuple[str, ...]]:
    for each in graph.parts:
        facts = "; ".join([*map(words.machines, each.machines), *each.notes, *([words.EXISTS] if each.exists else [])])
        costs = (words.usd(each.most_cost), words.usd(each.idle_cost)) if each.has_cost else ("", "")
        yield tuple(map(printable, (each.name, each.noun, facts, each.location, *costs, words.day_of_end(each))))


def _uses(graph: Graph) -> Tree:
    """Each part that depends on another, with those below it."""
    tree = Tree("[bold]depends on[/bold]")
    for each in graph.parts:
        found = [use for use in graph.uses if use.part == each.key]
        if found:
            branch = tree.add(_called(each))
            for use in found:
                on = graph.part(use.on)
                branch.add(f"{_text(use.words)} {_called(on) if on is not None else _text(use.on)}")
    return tree


def _called(part: Part) -> str:
    strong = "bold" if part.layer is Layer.WORK else "default"
    return f"[{strong}]{_text(part.name)}[/{strong}]" + ("" if part.name == part.noun else f" ({_text(part.noun)})")


def _roles(graph: Graph) -> Iterator[tuple[str, ...]]:
    for each in graph.roles:
        yield tuple(map(printable, (words.name_of(graph, each.who), each.role, words.name_of(graph, each.scope))))


def _text(text: str) -> str:
    return escape("\n".join(map(printable, text.split("\n"))))
