"""Tables of the catalog as Markdown.

In: rows that are dataclasses, or mappings of column to value. Out: a table with a column for each field; a column in which
no row has a value is left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from typing import Any

from catalog.lifecycle import Lifecycle
from catalog.sources import Source

UNKNOWN = "not known"


def table(rows: Sequence[Any], without: Sequence[str] = ()) -> str:
    """The rows as one table. `without` names fields that the reader of this table doesn't need."""
    mappings = [_row(row) for row in rows]
    columns = [name for name in mappings[0] if name not in without and any(row[name] not in ("", "none") for row in mappings)]
    lines = [f"| {' | '.join(_heading(name) for name in columns)} |", f"|{' --- |' * len(columns)}"]
    lines += [f"| {' | '.join(row[name] for name in columns)} |" for row in mappings]
    return "\n".join(lines) + "\n"


def cell(value: object) -> str:
    """One value. What isn't known is said; text that Markdown would take for markup is kept as it is."""
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
        case tuple() | list() | set() | frozenset():
            inner = [cell(one) for one in value]
            return ", ".join(sorted(inner) if isinstance(value, set | frozenset) else inner) or "none"
        case _ if is_dataclass(value):
            return _nested(value)
        case _:
            return _escaped(str(value))


def _row(row: Any) -> dict[str, str]:
    if isinstance(row, Mapping):
        return {str(name): cell(value) for name, value in row.items()}
    return {field.name: cell(getattr(row, field.name)) for field in fields(row)}


def _nested(value: Any) -> str:
    """A dataclass inside a cell: by its name where it has one, else field by field."""
    if hasattr(value, "name"):
        return cell(value.name)
    given = [(field.name, getattr(value, field.name)) for field in fields(value)]
    return ", ".join(f"{_words(name)} {cell(inner)}" for name, inner in given if inner != "")


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
