"""The OData of the data plane's lists: $select, and of $filter comparisons joined by `and`. What else OData knows is refused.

Which properties a list can be filtered by is in `lists.toml`.
"""

import operator
import re
import tomllib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from localazure.arm.store import Body
from localazure.batch.errors import BatchError

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    name: getattr(operator, name) for name in ("eq", "ne", "ge", "gt", "le", "lt")
}
_EQUAL, _START = ("eq", "ne"), "startswith"
_ALLOWED = {  # by the type of a property
    "text": (_START, *_OPERATORS),
    "exact": _EQUAL,
    "time": _OPERATORS,
    "number": _OPERATORS,
    "boolean": _EQUAL,
    "start": (_START,),
}
LISTS: Mapping[str, Mapping[str, str]] = tomllib.loads(Path(__file__).with_name("lists.toml").read_text(encoding="utf-8"))
Test = Callable[[Body], bool]
_TEXT = r"'(?:[^']|'')*'"
_CONDITION = re.compile(
    rf"""\s*(?: startswith \s*\(\s* (?P<begins>[^\s(),']+) \s*,\s* (?P<start>{_TEXT}) \s*\)
      | (?P<name>[^\s(),']+) \s+ (?P<word>\w+) (?:\s+|(?=')) (?P<value>(?:datetime)?{_TEXT}|[^\s(),']+) )
      \s*(?P<more>\band\b|$)""",
    re.IGNORECASE | re.VERBOSE,
)


def parse(text: str, properties: Mapping[str, str]) -> Test:
    """Whether an entry of the list is wanted. BatchError 400 for what isn't a filter over these properties."""
    tests: list[Test] = []
    position, more = 0, bool(text.strip())
    while more:
        found = _CONDITION.match(text, position)
        if found is None:
            form = "conditions have the form name eq 'value' or startswith(name, 'value'), joined by 'and'"
            raise _refusal(text, f"invalid from character {position + 1} on: {form}")
        tests.append(_test(text, found, properties))
        position, more = found.end(), bool(found["more"])
    return lambda entry: all(test(entry) for test in tests)


def _test(text: str, found: re.Match[str], properties: Mapping[str, str]) -> Test:
    """What one condition asks of an entry."""
    given, word = found["begins"] or found["name"], (found["word"] or _START).lower()
    name = next((name for name in properties if name.lower() == given.lower()), "")
    if not name or word not in _ALLOWED[properties[name]]:
        names = ", ".join(sorted(properties))
        raise _refusal(text, f"'{word}' isn't supported for '{given}'; the list can be filtered by {names}")
    kind, value = properties[name], found["start"] or found["value"]
    quoted = value.endswith("'")
    plain = value[value.index("'") + 1 : -1].replace("''", "'") if quoted else value
    requested = None if kind in ("text", "exact") and not quoted else _as("text" if kind == "start" else kind, plain)
    if requested is None:
        raise _refusal(text, f"'{plain}' isn't a value that the property can be compared with")
    if word == _START:
        return lambda entry: str(_value(entry, name) or "").lower().startswith(requested)

    def test(entry: Body) -> bool:
        value = _as(kind, _value(entry, name))
        return word == "ne" if value is None else _OPERATORS[word](value, requested)

    return test


def _refusal(text: str, reason: str) -> BatchError:
    values = {"QueryParameterName": "$filter", "QueryParameterValue": text[:200], "Reason": reason}
    return BatchError("InvalidQueryParameterValue", values=values)


def selected(entry: Body, select: str) -> Body:
    """Of an entry what `$select` names; all of it where it names nothing."""
    if not select.strip():
        return entry
    kept: Body = {}
    for name in (each.strip() for each in select.split(",")):
        first, _, rest = name.partition("/")
        value = entry.get(first)
        if value is not None:
            kept[first] = selected(value, rest) | kept.get(first, {}) if rest and isinstance(value, dict) else value
    return kept


def _value(entry: Body, path: str) -> Any:
    value: Any = entry
    for name in ("lastModified" if path == "lastModifiedTime" else path).split("/"):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _as(kind: str, value: Any) -> Any:
    """A value to compare by: text without regard to letter case, times as moments. None where it is none of its kind."""
    if value is None:
        return None
    try:
        match kind:
            case "time":
                moment = datetime.fromisoformat(str(value))
                return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            case "number":
                return int(value)
            case "boolean":
                return {"true": True, "false": False}.get(str(value).lower())
            case _:
                return str(value).lower()
    except ValueError:
        return None
