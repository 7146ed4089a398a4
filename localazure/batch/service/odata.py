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

_COMPARISONS = {"eq", "ne", "ge", "gt", "le", "lt"}
_ALLOWED = {  # by the type of a property
    "text": {"startswith", *_COMPARISONS},
    "exact": {"eq", "ne"},
    "time": _COMPARISONS,
    "number": _COMPARISONS,
    "boolean": {"eq", "ne"},
    "start": {"startswith"},
}
LISTS: Mapping[str, Mapping[str, str]] = tomllib.loads(Path(__file__).with_name("lists.toml").read_text(encoding="utf-8"))

Test = Callable[[Body], bool]
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {name: getattr(operator, name) for name in _COMPARISONS}
_WORD = re.compile(r"\s*(?:(?P<mark>[(),])|(?P<time>datetime)?'(?P<text>(?:[^']|'')*)'|(?P<word>[^\s(),']+))", re.IGNORECASE)


def parse(text: str, properties: Mapping[str, str]) -> Test:
    """Whether an entry of the list is wanted. BatchError 400 for what isn't a filter over these properties."""
    if not text.strip():
        return lambda _: True
    return _Parser(text, properties).whole()


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


class _Parser:
    def __init__(self, text: str, properties: Mapping[str, str]) -> None:
        self._text = text
        self._properties = {name.lower(): (name, kind) for name, kind in properties.items()}
        self._words = self._split()

    def whole(self) -> Test:
        tests = [self._one()]
        while self._takes("and"):
            tests.append(self._one())
        if self._words:
            raise self._refusal(f"'{self._words[0][1]}' isn't expected here")
        return lambda entry: all(test(entry) for test in tests)

    def _split(self) -> list[tuple[str, str]]:
        words: list[tuple[str, str]] = []
        position = 0
        while self._text[position:].strip():
            found = _WORD.match(self._text, position)
            if found is None:
                raise self._refusal(f"invalid from character {position + 1} on")
            if found["text"] is not None:
                words.append(("literal", found["text"].replace("''", "'")))
            else:
                words.append(("mark", found["mark"]) if found["mark"] else ("word", found["word"]))
            position = found.end()
        return words

    def _one(self) -> Test:
        if not self._takes("startswith"):
            return self._comparison()
        self._needs("(")
        name, _ = self._known(self._name(), "startswith")
        self._needs(",")
        start = self._literal("text")
        self._needs(")")
        return lambda entry: str(_value(entry, name) or "").lower().startswith(start)

    def _comparison(self) -> Test:
        name = self._name()
        word = self._next()[1].lower()
        if word not in _OPERATORS:
            raise self._refusal(f"'{word}' isn't a comparison of the Batch service")
        name, kind = self._known(name, word)
        requested, compare = self._literal(kind), _OPERATORS[word]

        def test(entry: Body) -> bool:
            value = _as(kind, _value(entry, name))
            return word == "ne" if value is None else compare(value, requested)

        return test

    def _name(self) -> str:
        sort, name = self._next()
        if sort != "word":
            raise self._refusal(f"the name of a property is expected, not '{name}'")
        return name

    def _known(self, name: str, word: str) -> tuple[str, str]:
        known = self._properties.get(name.lower())
        if known is None or word not in _ALLOWED[known[1]]:
            names = ", ".join(sorted(each for each, _ in self._properties.values()))
            raise self._refusal(f"'{word}' isn't supported for '{name}'; the list can be filtered by {names}")
        return known

    def _literal(self, kind: str) -> Any:
        sort, text = self._next()
        value = None if sort == "mark" or (kind in ("text", "exact") and sort != "literal") else _as(kind, text)
        if value is None:
            raise self._refusal(f"'{text}' isn't a value that the property can be compared with")
        return value

    def _next(self) -> tuple[str, str]:
        if not self._words:
            raise self._refusal("it ends too early")
        return self._words.pop(0)

    def _takes(self, word: str) -> bool:
        if self._words and self._words[0][0] != "literal" and self._words[0][1].lower() == word:
            self._words.pop(0)
            return True
        return False

    def _needs(self, word: str) -> None:
        if not self._takes(word):
            raise self._refusal(f"'{word}' is expected")

    def _refusal(self, reason: str) -> BatchError:
        values = {"QueryParameterName": "$filter", "QueryParameterValue": self._text[:200], "Reason": reason}
        return BatchError("InvalidQueryParameterValue", values=values)


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
