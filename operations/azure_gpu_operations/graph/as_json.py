"""A graph as an object of JSON, for programs."""

from typing import Any

from azure_gpu_operations.graph import words
from azure_gpu_operations.graph.model import Graph, Part


def as_json(graph: Graph) -> dict[str, Any]:
    most, idle = words.totals(graph)
    return {
        "stack": graph.stack,
        "as_of": graph.day.isoformat(),
        "region": words.region(graph) or None,
        "parts": [_part(each) for each in graph.parts],
        "depends_on": [use._asdict() for use in graph.uses],
        "roles": [role._asdict() for role in graph.roles],
        "usd_an_hour": {
            "at_most": {"known": float(most.usd), "not_known": most.unknown},
            "at_idle": {"known": float(idle.usd), "not_known": idle.unknown},
        },
    }


def _part(part: Part) -> dict[str, Any]:
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
