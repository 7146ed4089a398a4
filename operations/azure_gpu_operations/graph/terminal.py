"""Shows a graph in a terminal: a table of the parts, a tree of what depends on what, a table of roles.

In: a graph. Out: text on standard output, without colours where that is no terminal.
"""

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.tree import Tree

from azure_gpu_operations.console import columns
from azure_gpu_operations.graph import words
from azure_gpu_operations.graph.kinds import Layer
from azure_gpu_operations.graph.model import Graph, Part
from azure_gpu_operations.terminal import printable


def show(console: Console, graph: Graph) -> None:
    place = " · ".join(filter(None, [words.region(graph), f"as of {graph.day.isoformat()}"]))
    console.print(f"[bold]{_text(f'Stack {graph.stack}')}[/bold] · {_text(place)}")
    console.print(_parts(graph))
    console.print(f"{_text(words.total_line(graph))}. {words.NOT_COUNTED}\n")
    console.print(_uses(graph))
    if graph.roles:
        console.print(_roles(graph))


def _parts(graph: Graph) -> Table:
    table = Table(*columns("part", "kind", "machines", "region", "USD/h at most", "at idle", "expires"), box=None, pad_edge=False)
    for each in graph.parts:
        facts = "\n".join([*map(words.machines, each.machines), *each.notes, *([words.EXISTS] if each.exists else [])])
        costs = (words.usd(each.most_cost), words.usd(each.idle_cost)) if each.has_cost else ("", "")
        table.add_row(*map(_text, (each.name, each.noun, facts, each.location, *costs, words.day_of_end(each))))
    return table


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


def _roles(graph: Graph) -> Table:
    table = Table(*columns("who", "role", "on"), box=None, pad_edge=False, title="roles", title_justify="left")
    for each in graph.roles:
        table.add_row(*map(_text, (words.name_of(graph, each.who), each.role, words.scope(graph, each))))
    return table


def _text(text: str) -> str:
    return escape("\n".join(map(printable, text.split("\n"))))
