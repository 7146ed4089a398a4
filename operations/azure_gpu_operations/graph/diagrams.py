"""Writes a graph for programs: as an object of JSON, or as a diagram that they lay out, in Mermaid, which GitHub, GitLab and
editors show, or Graphviz' DOT.

Nothing in a name ends its label: each character that has a meaning in one of the languages is written by its number, or
escaped.
"""

import json
from collections.abc import Iterator
from typing import Any

from azure_gpu_operations.graph import words
from azure_gpu_operations.graph.kinds import Layer
from azure_gpu_operations.graph.model import Graph, Part, Role
from azure_gpu_operations.terminal import printable

_PLAIN = frozenset(" .,:/()+-_'…·")  # beside letters and digits: what Mermaid shows as it is


def mermaid(graph: Graph) -> str:
    """A flowchart. Solid arrows: depends on; dotted ones: has a role on; dashed borders: exists already."""
    return "\n".join(_mermaid(graph)) + "\n"


def dot(graph: Graph) -> str:
    """A digraph, with the arrows and borders of `mermaid`."""
    return "\n".join(_dot(graph)) + "\n"


def _mermaid(graph: Graph) -> Iterator[str]:
    yield f"---\ntitle: {json.dumps(printable(_title(graph)), ensure_ascii=False)}\n---\nflowchart LR"
    ids = _ids(graph)
    for number, layer, parts in _layers(graph):
        yield f'  subgraph layer{number}["{layer}"]'
        for part in parts:
            yield f'    {ids[part.key]}["{"<br>".join(map(_escaped, _lines(graph, part)))}"]'
        yield "  end"
    for start, label, end, is_role in _arrows(graph):
        yield f'  {ids[start]} {"-.->" if is_role else "-->"}|"{_escaped(label)}"| {ids[end]}'
    if existing := [ids[each.key] for each in graph.parts if each.exists]:
        yield f"  classDef exists stroke-dasharray: 4 3\n  class {','.join(existing)} exists"


def _dot(graph: Graph) -> Iterator[str]:
    yield f"digraph {{\n  rankdir=LR; label={_quoted([_title(graph)])}; node [shape=box];"
    ids = _ids(graph)
    for number, layer, parts in _layers(graph):
        yield f"  subgraph cluster{number} {{\n    label={_quoted([layer])};"
        for part in parts:
            style = ", style=dashed" if part.exists else ""
            yield f"    {ids[part.key]} [label={_quoted(_lines(graph, part))}{style}];"
        yield "  }"
    for start, label, end, is_role in _arrows(graph):
        yield f"  {ids[start]} -> {ids[end]} [label={_quoted([label])}{', style=dotted' if is_role else ''}];"
    yield "}"


def _layers(graph: Graph) -> Iterator[tuple[int, Layer, list[Part]]]:
    for number, layer in enumerate(Layer):
        if parts := [each for each in graph.parts if each.layer is layer]:
            yield number, layer, parts


def _ids(graph: Graph) -> dict[str, str]:
    """By a part's key."""
    return {each.key: f"p{number}" for number, each in enumerate(graph.parts)}


def _title(graph: Graph) -> str:
    return " · ".join(
        filter(None, [f"Stack {graph.stack}", words.region(graph), words.total_line(graph), f"as of {graph.day.isoformat()}"])
    )


def _lines(graph: Graph, part: Part) -> list[str]:
    """What is in a part's box."""
    facts = [*map(words.machines, part.machines), *part.notes, words.cost(part), words.end(part)]
    facts += [words.EXISTS] if part.exists else []
    facts += [part.location] if part.location != words.region(graph) else []
    roles = [each for each in graph.roles if each.who == part.key and not _has_arrow(graph, each)]
    facts += [f"{words.role(each)} on {words.name_of(graph, each.scope)}" for each in roles]
    return [words.called(part), *filter(None, facts)]


def _arrows(graph: Graph) -> Iterator[tuple[str, str, str, bool]]:
    """The keys of both ends with the label between them, and whether it is a role."""
    for use in graph.uses:
        yield use.part, use.words, use.on, False
    for role in graph.roles:
        if _has_arrow(graph, role):
            yield role.who, words.role(role), role.scope, True


def _has_arrow(graph: Graph, role: Role) -> bool:
    """Whether its scope is another part; else it stands in the box of who has it."""
    return role.scope != role.who and graph.part(role.scope) is not None


def _escaped(text: str) -> str:
    return "".join(each if each.isalnum() or each in _PLAIN else f"#{ord(each)};" for each in printable(text)) or " "


def _quoted(lines: list[str]) -> str:
    r"""A string of DOT; `\n` separates the lines."""
    return '"' + r"\n".join(printable(each).replace("\\", "\\\\").replace('"', '\\"') for each in lines) + '"'


def as_json(graph: Graph) -> dict[str, Any]:
    most, idle = words.totals(graph)
    return {
        "stack": graph.stack,
        "as_of": graph.day.isoformat(),
        "region": words.region(graph) or None,
        "parts": [_as_json(each) for each in graph.parts],
        "depends_on": [use._asdict() for use in graph.uses],
        "roles": [role._asdict() for role in graph.roles],
        "usd_an_hour": {
            "at_most": {"known": float(most.usd), "not_known": most.unknown},
            "at_idle": {"known": float(idle.usd), "not_known": idle.unknown},
        },
    }


def _as_json(part: Part) -> dict[str, Any]:
    """A cost is null where it isn't known, and missing where a part has none of its own."""
    return {
        "key": part.key,
        "kind": part.noun,
        "layer": part.layer.value,
        "name": part.name,
        "type": part.type,
        "region": part.location or None,
        "exists": part.exists,
        "machines": [each._asdict() for each in part.machines],
        "notes": list(part.notes),
        **({"usd_an_hour": {"at_most": part.most_cost, "at_idle": part.idle_cost}} if part.has_cost else {}),
        "expires_at": part.expires or None,
    }
