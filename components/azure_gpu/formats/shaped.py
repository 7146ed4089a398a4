"""Validates a JSON value against a shape, as ARM does: names and choices in any letter case, numbers as text too.

A shape is made of `Text`, `Number`, `Flag`, `TextMap`, `ListOf`, `Object` and `Anything`. The result has its spelling, lacks what
is wrong, and has SECRET in place of each secret; beside it are the paths of the secrets and the lines by the new spelling. A
problem never contains a secret, or text that may contain one."""

import math
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias, Union, cast

from azure_gpu.catalog import spelling
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.formats import placeholders
from azure_gpu.formats.document import Document
from azure_gpu.formats.lenient_json import member
from azure_gpu.formats.likely_secrets import holds_secret
from azure_gpu.formats.stack_file import SECRET


class Text(NamedTuple):
    """Text; where `choices` are given, one of them in any letter case. Of an open choice others are taken too."""

    choices: tuple[str, ...] = ()
    open: bool = False
    secret: bool = False
    filled: bool = True  # a placeholder in it is a problem; a shell's `${NAME}` in a command is none
    free: bool = False  # input of a program: only a text that is a placeholder as a whole is treated as one


class Number(NamedTuple):
    """A number, or text that spells one: ARM takes both."""

    whole: bool = False


class Flag(NamedTuple):
    """True or false."""


class TextMap(NamedTuple):
    """Text by name, under any name."""

    secret: bool = False


class Anything(NamedTuple):
    """What is taken as it is."""


class ListOf(NamedTuple):
    """A list."""

    of: "Shape"
    what: str  # one of them, in words


class Object(NamedTuple):
    """An object with these properties. `answered` are those that a service adds to its answers; `unread`
    those that people write and nothing reads, so that nothing changes without them."""

    properties: Mapping[str, "Shape"]
    required: Mapping[str, str] = {}  # with the likely fix
    answered: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()


Shape: TypeAlias = Union[Text, Number, Flag, TextMap, Anything, ListOf, Object]  # noqa: UP007 - `|` can't hold a name in quotes


_KINDS: Mapping[str, Shape] = {
    "text": Text(),
    "free text": Text(free=True),
    "raw text": Text(filled=False),
    "secret": Text(secret=True),
    "integer": Number(whole=True),
    "number": Number(),
    "flag": Flag(),
    "texts": TextMap(),
    "secrets": TextMap(secret=True),
    "anything": Anything(),
}
_COLUMNS = 7


def of_rows(table: str, name: str) -> Object:
    """The object `name` of a table in TSV. A row has the object and its property; the property's kind, which is one of `_KINDS`,
    an object of the table, or a `list of` these; what one item of a list is; choices; and the fix where it is required."""
    rows = [(line.split("\t") + [""] * _COLUMNS)[:_COLUMNS] for line in table.splitlines()[1:]]

    def shape(kind: str, what: str, choices: str) -> Shape:
        if choices:
            return Text(tuple(choices.split(" | ")), open=kind == "open text")
        if kind.startswith("list of "):
            return ListOf(shape(kind.removeprefix("list of "), "", ""), what)
        return _KINDS[kind] if kind in _KINDS else thing(kind)  # an empty tuple is false

    def thing(name: str) -> Object:
        own = [row[1:] for row in rows if row[0] == name]
        return Object(
            {key: shape(kind, *rest) for key, kind, *rest, _, _ in own if kind not in ("answered", "unread")},
            required={key: fix for key, *_, fix, _ in own if fix},
            answered=frozenset(key for key, kind, *_ in own if kind == "answered"),
            unread=frozenset(key for key, kind, *_ in own if kind == "unread"),
        )

    return thing(name)


_LONGEST_SHOWN = 80  # characters
_PLACEHOLDER = "is a placeholder, not a value"
_ABSENT: Any = object()  # a value that is wrong, and was reported


class Shaped(NamedTuple):
    """What came of it."""

    value: dict[str, Any]
    problems: list[Problem]
    secrets: tuple[str, ...]
    lines: dict[str, int]


def validate(
    value: Mapping[str, Any],
    shape: Object,
    document: Document,
    prefix: str,
    unknown: Mapping[str, str] = MappingProxyType({}),
    what: str = "a container group",
    lenient: bool = False,
) -> Shaped:
    """`prefix` is the path of `value` in the document. The paths in the result start with it. `unknown` has the expressions that
    stand in place of values, by path in the document; at the place of a secret they don't matter. `what` is it, in words;
    `lenient`: a name that isn't known is a warning."""
    held = _Validation(document, shape, unknown, what, lenient)
    whole = held.things(dict(value), shape, prefix, prefix)
    return Shaped(whole, held.problems, tuple(held.secrets), held.lines)


def is_of_placeholder(problem: Problem) -> bool:
    """Whether a placeholder is all that is wrong, so that the setting is missing and the rest can be read."""
    return problem.message.endswith(_PLACEHOLDER)


class _Validation:
    def __init__(self, document: Document, whole: Object, unknown: Mapping[str, str], what: str, lenient: bool) -> None:
        self.document = document
        self.what = what
        self.lenient = lenient
        self.whole = whole
        self.unknown = unknown
        self.problems: list[Problem] = []
        self.secrets: list[str] = []
        self.lines: dict[str, int] = {}

    def report(
        self, written: str, message: str, *, value: object = None, allowed: str = "", fix: str = "", warn: bool = False
    ) -> None:
        severity = Severity.WARNING if warn else Severity.ERROR
        at = self.document.at(written)
        self.problems.append(Problem(at, message, value=_shown(value), allowed=allowed, fix=fix, severity=severity))

    def any(self, value: object, shape: Shape, written: str, path: str) -> Any:
        """`written` is the path as the file spells it, `path` as the shape does."""
        self.lines[path] = self.document.line_of(written)
        if written in self.unknown and not (isinstance(shape, Text) and shape.secret):
            return self.expression(written)
        match shape:
            case Text():
                return self.text(value, shape, written, path)
            case Number():
                return self.number(value, shape, written)
            case Flag():
                return self.flag(value, written)
            case TextMap():
                return self.texts(value, shape, written, path)
            case ListOf():
                return self.many(value, shape, written, path)
            case Object():
                if isinstance(value, dict):
                    return self.things(cast(dict[str, Any], value), shape, written, path)
                return self.wrong(value, "an object, which is keys and values", written)
            case Anything():
                return value

    def wrong(self, value: object, wanted: str, written: str) -> Any:
        if isinstance(value, str) and (found := placeholders.find(value)):
            self.placeholder(found, written)
        else:
            shown = value if isinstance(value, str | int | float) else None
            self.report(written, f"expected {wanted}, got {_kind(value)}", value=shown, fix=_wrong_fix(value, wanted))
        return _ABSENT

    def expression(self, written: str) -> Any:
        message = "the value of this expression isn't known here"
        fix = "write the value, or a parameter whose value is given"
        at = self.document.at(written)
        self.problems.append(Problem(at, message, value=_shown(self.unknown[written]), fix=fix, code=Code.UNKNOWN))
        return _ABSENT

    def placeholder(self, found: str, written: str, *, secret: bool = False, maybe: bool = False) -> None:
        if secret:
            self.report(written, "a placeholder stands here instead of the secret", fix="set the real one", warn=True)
        else:
            message = f"{_shown(found)} {_PLACEHOLDER}"
            fix = "write the value in its place: nothing fills it in here"
            self.report(written, message, fix=f"{fix}{', unless the program does' if maybe else ''}", warn=maybe)

    def text(self, value: object, shape: Text, written: str, path: str) -> Any:
        if shape.secret:
            if isinstance(value, str) and placeholders.find(value) == value:
                self.placeholder(value, written, secret=True)
            self.secrets.append(path)
            return SECRET
        if isinstance(value, int | float) and not isinstance(value, bool):
            self.report(written, "expected text, got a number", value=value, fix="put it in quotes", warn=True)
            value = str(value)
        if isinstance(value, bool):
            message = "expected text; an unquoted true, false, yes, no, on or off is a boolean"
            self.report(written, message, fix="put it in quotes")
            return _ABSENT
        if not isinstance(value, str):
            return self.wrong(value, "text", written)
        if shape.filled and not holds_secret(value) and (found := placeholders.find(value)):
            self.placeholder(found, written, maybe=shape.free and found != value.strip())
            if not shape.free or found == value.strip():
                return _ABSENT
        return self.choice(value, shape, written) if shape.choices else value

    def choice(self, value: str, shape: Text, written: str) -> Any:
        by_lower = {one.lower(): one for one in shape.choices}
        known = by_lower.get(value.strip().lower())
        if known is not None or shape.open:
            return known or value
        near = spelling.nearest(value.lower(), by_lower, 1)
        fix = f"write {by_lower[near[0]]}" if near else "write one of these"
        self.report(written, "not one of the values that Azure accepts", value=value, allowed=", ".join(shape.choices), fix=fix)
        return _ABSENT

    def number(self, value: object, shape: Number, written: str) -> Any:
        wanted = "a whole number" if shape.whole else "a number"
        if isinstance(value, str):
            try:
                value = float(value) if value.strip() else value
            except ValueError:
                return self.wrong(value, wanted, written)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return self.wrong(value, wanted, written)
        if not _is_finite(value) or (shape.whole and value != int(value)):
            self.report(written, f"this isn't {wanted}", value=value, fix=f"write {wanted}")
            return _ABSENT
        return int(value) if shape.whole or value == int(value) else value

    def flag(self, value: object, written: str) -> Any:
        if isinstance(value, str) and value.strip().lower() in ("true", "false"):
            return value.strip().lower() == "true"
        return value if isinstance(value, bool) else self.wrong(value, "true or false", written)

    def texts(self, value: object, shape: TextMap, written: str, path: str) -> Any:
        if not isinstance(value, dict):
            return self.wrong(None if shape.secret else value, "an object, which is keys and values", written)
        result: dict[str, Any] = {}
        for name, one in cast(dict[str, object], value).items():
            if one is not None:
                held = self.any(one, Text(secret=shape.secret), member(written, name), member(path, name))
                result |= {} if held is _ABSENT else {name: held}
        return result

    def many(self, value: object, shape: ListOf, written: str, path: str) -> Any:
        if not isinstance(value, list):
            return self.wrong(value, f"a list, each item {_a(shape.what)}", written)
        result: list[Any] = []
        for index, one in enumerate(cast(list[object], value)):
            if one is not None:
                held = self.any(one, shape.of, f"{written}[{index}]", f"{path}[{len(result)}]")
                result += [] if held is _ABSENT else [held]
        return result

    def things(self, value: dict[str, Any], shape: Object, written: str, path: str) -> dict[str, Any]:
        by_lower = {name.lower(): name for name in shape.properties}
        result: dict[str, Any] = {}
        given: set[str] = set()
        for name, one in value.items():
            here = member(written, name)
            known = by_lower.get(name.lower())
            if name in shape.answered or name.lower() in {each.lower() for each in shape.answered}:
                continue
            if known is None:
                self.stranger(name, shape, here, warn=self.lenient or one is None or name.lower() in shape.unread)
            elif known in given:
                self.report(here, f"this is {known} in another spelling, which is there already", fix="remove one of the two")
            elif one is not None:
                given.add(known)
                held = self.any(one, shape.properties[known], here, member(path, known))
                result |= {} if held is _ABSENT else {known: held}
        for name, fix in shape.required.items():
            if name not in given:
                self.report(written, f"{name} is missing", fix=fix)
        return result

    def stranger(self, name: str, shape: Object, written: str, *, warn: bool) -> None:
        """A property that isn't known; `warn` where nothing is lost with it."""
        by_lower = {each.lower(): each for each in shape.properties}
        near = spelling.nearest(name.lower(), by_lower, 1)
        here = re.sub(r"\[\d+\]", "[]", written).rpartition(".")[0]
        homes = sorted(
            {home for home in _homes(self.whole, name) if home},
            key=lambda home: (not home.startswith(here), home.count("."), home),
        )
        if near:
            fix = f"write {by_lower[near[0]]}"
        elif homes:
            fix = f"move it to {homes[0]}"
        else:
            fix = "remove it"
        allowed = ", ".join(shape.properties)
        self.report(written, f"{self.what} has no property {_shown(name)!r} here", allowed=allowed, fix=fix, warn=warn)


def _homes(shape: Shape, name: str, path: str = "") -> Iterator[str]:
    """Where in the shape a property of this name is."""
    if isinstance(shape, ListOf):
        yield from _homes(shape.of, name, f"{path}[]")
    elif isinstance(shape, Object):
        for each, inner in shape.properties.items():
            if each.lower() == name.lower():
                yield path
            yield from _homes(inner, name, f"{path}.{each}" if path else each)


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return "text" if isinstance(value, str) else "a number" if isinstance(value, int | float) else "nothing"


def _wrong_fix(value: object, wanted: str) -> str:
    first = cast(list[object], value)[0] if isinstance(value, list) and value else None
    if isinstance(first, str) and "(" in first and first.endswith(")"):
        return "an expression of a template isn't read in YAML: write its value"
    return f"write {wanted}"


def _a(what: str) -> str:
    return f"an {what}" if what[0] in "aeiou" else f"a {what}"


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _shown(value: object) -> object:
    """A value for a problem: not long, and not what may hold a secret."""
    if not isinstance(value, str):
        return value
    if holds_secret(value):
        return None
    return value if len(value) <= _LONGEST_SHOWN else f"{value[:_LONGEST_SHOWN]}…"
