"""Reads bodies by the rows of `body_keys.tsv`: which path becomes which key of the stack file, and what is told of the others.

A row has its reader; the path in the body, after a slash if it is beside `properties`; what it is read as; the key, with dots if
it is inside of others; values as JSON; what is told of a value that isn't taken, and what to do instead. The last step of a path
without a key may be several names. It is read as one of `_READ`, or as

    choice      one of the names, or its value, or that of "" if there is none
    rows        a mapping with rows of its own, of the reader that stands as value
    own         the reader's Python gives the value of the key
    default     left out with the text, unless it is one of the values, which the stack has by itself
    left        left out with the text, if it is given
    answered    nobody sets it

`$name` in values and texts stands for what the reader's Python tells."""

import functools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Any, NamedTuple

from azure_gpu.formats.arm_values import asset, last, milliseconds, minutes, seconds, shares, size_of
from azure_gpu.formats.body_reader import NO_KEY, BodyReader, given

_COLUMNS = 7
_NOTHING: Mapping[str, object] = MappingProxyType({})


class _Row(NamedTuple):
    path: str
    read_as: str
    key: str
    values: Any
    message: str
    fix: str


@functools.cache
def _rows() -> Mapping[str, list[_Row]]:
    rows: dict[str, list[_Row]] = {}
    for line in Path(__file__).with_suffix(".tsv").read_text(encoding="utf-8").splitlines()[1:]:
        reader, path, read_as, key, values, message, fix = (line.split("\t") + [""] * _COLUMNS)[:_COLUMNS]
        rows.setdefault(reader, []).append(_Row(path, read_as, key, json.loads(values or "null"), message, fix))
    return rows


@functools.cache
def _others() -> Mapping[tuple[str, str], str]:
    lines = Path(__file__).with_name("not_read.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return {(of, kind): instead for of, kind, instead in (line.split("\t") for line in lines)}


def not_read(of: str, kind: str) -> str | None:
    """What has the same as a type, schema or kind of object that isn't read. `of`: ARM, Azure ML or Kubernetes."""
    return _others().get((of, kind))


_READ: Mapping[str, Callable[[BodyReader, str], Any]] = {
    "as it is": BodyReader.raw,
    "text": BodyReader.text,
    "program text": lambda of, key: of.text(key, free=True),
    "texts": BodyReader.texts,
    "program texts": lambda of, key: of.texts(key, free=True),
    "pairs": BodyReader.pairs,
    "number": BodyReader.number,
    "integer": BodyReader.whole,
    "integer or none": lambda of, key: of.whole(key) or None,
    "flag": BodyReader.flag,
    "flag if true": lambda of, key: of.flag(key) or None,
    "size": size_of,
    "name": lambda of, key: last(of.text(key)),
    "existing": lambda of, key: given(existing=of.text(key)),
    "seconds": seconds,
    "minutes": minutes,
    "minutes of seconds": BodyReader.minutes,
    "seconds of milliseconds": milliseconds,
    "shares": shares,
    "asset": asset,
}


def take(
    reader: str,
    of: BodyReader,
    head: BodyReader | None = None,
    *,
    told: Mapping[str, object] = _NOTHING,
    **own: Any,
) -> dict[str, Any]:
    """The settings by the rows of `reader`. `head`: beside `properties`."""
    found: dict[str, Any] = {}
    for row in _rows()[reader]:
        *steps, last_step = row.path.removeprefix("/").split(".")
        at = head if row.path.startswith("/") and head is not None else of
        for step in steps:
            at = at.inside(step)
        value = own.pop(row.key, None) if row.read_as == "own" else _value(row, at, last_step, told)
        if given(value=value):
            *outer, name = row.key.split(".")
            inside = found
            for step in outer:
                inside = inside.setdefault(step, {})
            inside[name] = value
    if own:
        raise TypeError(f"{reader} has no row for {', '.join(own)}")
    return found


def _value(row: _Row, of: BodyReader, key: str, told: Mapping[str, object]) -> Any:
    message, fix = (Template(text).safe_substitute(told) for text in (row.message, row.fix))
    match row.read_as:
        case "answered":
            of.skip(*key.split())
        case "default":
            values = [Template(one).safe_substitute(told) if isinstance(one, str) else one for one in row.values]
            for one in key.split():
                of.default(one, *values, message=message or NO_KEY, fix=fix)
        case "left":
            for one in key.split():
                of.leave_given(one, message, fix)
        case "rows":
            return take(row.values, of.inside(key), told=told)
        case "choice":
            values = row.values if isinstance(row.values, dict) else {name: name for name in row.values}
            found = of.choice(key, {name: value for name, value in values.items() if name})
            return values.get("") if found is None else found
        case _:
            return _READ[row.read_as](of, key)
    return None
