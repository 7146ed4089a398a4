"""Writes rows of the catalog as a Markdown table, with a column per field and the source last.

Rows are named tuples, or mappings of column to value. A column without values is left out.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from enum import Enum
from typing import Any

from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.sources import Source

UNKNOWN = "not known"


def table(rows: Sequence[Any], first: Sequence[str] = ()) -> str:
    """The rows as one table. `first` names the fields that come first, where that isn't their own order."""
    mappings = [_row(row) for row in rows]
    columns = [name for name in _ordered(mappings[0], first) if any(row[name] not in ("", "none") for row in mappings)]
    lines = [f"| {' | '.join(_heading(name) for name in columns)} |", f"|{' --- |' * len(columns)}"]
    lines += [f"| {' | '.join(row[name] for name in columns)} |" for row in mappings]
    return "\n".join(lines) + "\n"


def _ordered(names: Iterable[str], first: Sequence[str]) -> list[str]:
    """A row type has its fields with a default last; a reader looks for what the row is about first, and for its source last."""
    rest = sorted((name for name in names if name not in first), key=lambda name: name == "source")
    return [*first, *rest]


def cell(value: object) -> str:
    """A value as text, with Markdown's markup escaped; unknown values say so."""
    match value:
        case None:
            return UNKNOWN
        case bool():
            return "yes" if value else "no"
        case Enum():
            return str(value.value)
        case date():
            return value.isoformat()
        case Source():
            return _escaped(str(value))
        case Lifecycle():
            return _escaped(_lifecycle(value))
        case Mapping():
            return "; ".join(f"{cell(key)}: {cell(inner)}" for key, inner in value.items()) or "none"
        case _ if hasattr(value, "_fields"):
            return _nested(value)
        case tuple() | list() | set() | frozenset():
            inner = [cell(one) for one in value]
            return ", ".join(sorted(inner) if isinstance(value, set | frozenset) else inner) or "none"
        case _:
            return _escaped(str(value))


def _row(row: Any) -> dict[str, str]:
    values = row if isinstance(row, Mapping) else row._asdict()
    return {str(name): cell(value) for name, value in values.items()}


def _nested(value: Any) -> str:
    """A row inside a cell: by its name where it has one, else field by field."""
    if hasattr(value, "name"):
        return cell(value.name)
    return ", ".join(f"{_words(name)} {cell(inner)}" for name, inner in value._asdict().items() if inner != "")


def _lifecycle(lifecycle: Lifecycle) -> str:
    parts = [f"first seen {lifecycle.seen.day.isoformat()}"]
    if lifecycle.preview:
        parts.append("preview")
    if lifecycle.end:
        parts.append(f"last day {lifecycle.end.day.isoformat()}")
    parts += [f"{region}: {end.day.isoformat()}" for region, end in lifecycle.end_elsewhere.items()]
    if lifecycle.doubt:
        parts.append(f"doubtful since {lifecycle.doubt.day.isoformat()}")
    return ", ".join(parts)


_SPELT = {"gpu": "GPU", "gpus": "GPUs", "vcpu": "vCPU", "vcpus": "vCPU", "gib": "GiB", "mig": "MIG", "rdma": "RDMA", "sku": "SKU"}


def _heading(name: str) -> str:
    words = _words(name)
    return words if words.split()[0] in _SPELT.values() else words[:1].upper() + words[1:]


def _words(name: str) -> str:
    """`gpu_memory_gib` as people write it: GPU memory GiB."""
    return " ".join(_SPELT.get(word, word) for word in name.split("_"))


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "\\<").replace("*", "\\*").replace("\n", " ")
