"""Reads a mapping of a file key by key, and reports every key that was not read.

A reader of a format takes each key that a stack file has, skips what a service only answers, and ends with `rest`: what remains
is a `Left` with its line, so that no setting is dropped in silence. A placeholder or a value of the wrong kind is a `Left` too,
and reads as missing. Keys are found in any letter case, as ARM compares them. What was read is a `PartInFile`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, cast

from azure_gpu.formats import placeholders
from azure_gpu.formats.document import Document
from azure_gpu.formats.lenient_json import member, walk
from azure_gpu.formats.likely_secrets import holds_secret
from azure_gpu.formats.stack_file import SECRET


class Left(NamedTuple):
    """One setting that isn't taken, or not unchanged."""

    at: str  # file:line: path
    message: str  # why
    fix: str = ""  # what to write or do instead; "" if nothing is needed
    changed: bool = False  # it is taken, and means something else here

    def __str__(self) -> str:
        what = "changed" if self.changed else "left out"
        return f"{what}, {self.at}: {self.message}" + (f"; {self.fix}" if self.fix else "")


@dataclass(slots=True)
class PartInFile:
    """The settings of one entry. Paths in `written` and `secrets` are relative to the settings."""

    section: str  # of the stack file, such as pools
    name: str  # in the section; "" if the settings are the section's value
    settings: dict[str, Any]
    at: str  # file:line: path
    written: dict[str, str] = field(default_factory=dict[str, str])  # file:line: path of each setting, by key
    notes: list[str] = field(default_factory=list[str])  # comments that belong to no line
    secrets: list[str] = field(default_factory=list[str])


T = TypeVar("T")
NO_KEY = "the stack file has no key for it"
_LONGEST_SHOWN = 60  # characters of a value in a comment
_WHOLE = re.compile(r"\s*[+-]?\d{1,15}(?:\.0*)?\s*")


class Reading:
    """What all readers of a document share."""

    def __init__(self, document: Document, unknown: Mapping[str, str] = MappingProxyType({})) -> None:
        """`unknown`: expressions of a template that have no value here, by path in the document."""
        self.document = document
        self.unknown = unknown
        self.left: list[Left] = []
        self.read: set[str] = set()  # paths of the values that were taken

    def leave(self, path: str, message: str, fix: str = "") -> None:
        self.read.discard(path)
        self.left.append(Left(self.document.at(path), message, fix))

    def change(self, path: str, message: str, fix: str = "") -> None:
        self.left.append(Left(self.document.at(path), message, fix, changed=True))


class BodyReader:
    """One mapping, and its place in the document."""

    def __init__(self, value: object, path: str, reading: Reading) -> None:
        self.path = path
        self.reading = reading
        self._values: dict[str, tuple[str, Any]] = {}
        for key, one in mapping(value).items():
            self._values.setdefault(str(key).lower(), (str(key), one))
        self._read: set[str] = set()
        self._inner: dict[str, BodyReader] = {}  # by path, so that what two read counts once

    def __contains__(self, key: object) -> bool:
        """Whether the key is there with a value that isn't null or empty."""
        return not _is_empty(self._values.get(str(key).lower(), ("", None))[1])

    def names(self) -> list[str]:
        return [name for name, _ in self._values.values()]

    def whole_path(self, key: str = "") -> str:
        """The path of a key in the document, as the file spells it."""
        return member(self.path, self._values.get(key.lower(), (key, None))[0]) if key else self.path

    def at(self, key: str = "") -> str:
        """Where a key is written: `file:line: path`."""
        return self.reading.document.at(self.whole_path(key))

    def peek(self, key: str) -> Any:
        """The value, which doesn't count as read by that."""
        return self._values.get(key.lower(), (key, None))[1]

    def raw(self, key: str) -> Any:
        """The value, which then counts as read."""
        lower = key.lower()
        self._read.add(lower)
        if lower not in self._values:
            return None
        value = self._values[lower][1]
        path = self.whole_path(key)
        expression = self.reading.unknown.get(path)
        if expression is not None:
            shown = "" if holds_secret(expression) else f" of {expression[:_LONGEST_SHOWN]}"
            fix = "give the parameter with --parameter NAME=VALUE, or write the value"
            self.leave(key, f"the value{shown} isn't known here", fix)
            return None
        self.reading.read.add(path)
        return None if _is_empty(value) else value

    def text(self, key: str, *, free: bool = False) -> str | None:
        """Text, or a number as text. `free`: it is for a program, and a placeholder inside of it may be that program's."""
        value = self.raw(key)
        if value is None:
            return None
        if isinstance(value, dict | list):
            return self._wrong(key, None, "text")
        fix = "set it by `pulumi config set --secret --path`"
        return self._copied(value, self.whole_path(key), free, fix)

    def _copied(self, value: object, path: str, free: bool, fix: str = "") -> str | None:
        text = _as_text(value)
        found = placeholders.find(text)
        if found and (not free or found == text.strip()):
            self.reading.leave(path, f"{found} is a placeholder", "write the value")
        elif holds_secret(text) or SECRET in text:
            self.reading.leave(path, "the text contains a secret, which isn't copied", fix)
        else:
            return text
        return None

    def number(self, key: str) -> float | int | None:
        value = self.raw(key)
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                return self._wrong(key, value, "a number")
        if value is None or isinstance(value, bool) or not isinstance(value, int | float):
            return None if value is None else self._wrong(key, value, "a number")
        if value != value or abs(value) > 1e15:
            return self._wrong(key, value, "a number")
        return int(value) if value == int(value) else value

    def whole(self, key: str) -> int | None:
        value = self.raw(key)
        if value is None:
            return None
        if isinstance(value, bool) or not _WHOLE.fullmatch(str(value)):
            return self._wrong(key, value, "an integer")
        return int(float(str(value)))

    def minutes(self, key: str) -> int | None:
        """Seconds as minutes, rounded up, which is reported."""
        seconds = self.whole(key)
        if seconds is None or seconds < 0:
            return None
        if seconds % 60:
            self.change(key, f"{seconds} seconds are rounded up to minutes")
        return max(1, -(-seconds // 60))

    def flag(self, key: str) -> bool | None:
        value = self.raw(key)
        if isinstance(value, str) and value.strip().lower() in ("true", "false"):
            value = value.strip().lower() == "true"
        if value is None or isinstance(value, bool):
            return value
        return self._wrong(key, value, "true or false")

    def choice(self, key: str, values: Mapping[str, T]) -> T | None:
        """The value of a name in any spelling that Azure takes: letter case, hyphens and underscores don't count. None, and
        reported, for any other name."""
        text = self.text(key)
        if text is None:
            return None
        found = {_plain(name): value for name, value in values.items()}
        if _plain(text) not in found:
            self.leave(key, f"{text} isn't one of {', '.join(values)}")
            return None
        return found[_plain(text)]

    def default(self, key: str, *values: object, message: str = NO_KEY, fix: str = "") -> None:
        """Reports a setting, and everything in it, unless it is one of these, which the stack has by itself."""
        value = _set(self.raw(key))
        if value is None or any(_plain(value) == _plain(one) for one in values):
            return
        shown = "" if isinstance(value, dict | list) or holds_secret(str(value)) else f"{_as_text(value)[:_LONGEST_SHOWN]}: "
        self.leave(key, f"{shown}{message}", fix)

    def overrides(self, *keys: str, defaults: Mapping[str, Sequence[object]] = MappingProxyType({})) -> dict[str, Any]:
        """Plain settings without a key, by Azure's names, for `overrides` of what the file declares; without Azure's defaults."""
        found: dict[str, Any] = {}
        for key in keys:
            value = _set(self.raw(key))
            if value in (None, False, {}) or any(_plain(value) == _plain(one) for one in defaults.get(key, ())):
                continue
            if _is_plain(value):
                found[key] = value
                self.change(key, "it has no key, and is set by overrides, which Azure alone judges")
            else:
                self.leave(key, NO_KEY)
        return found

    def texts(self, key: str, *, free: bool = False) -> list[str]:
        kept: list[str] = []
        for path, one in self._list(key):
            if isinstance(one, dict | list):
                self.reading.leave(path, "text is expected in this list")
            elif (text := self._copied(one, path, free)) is not None:
                kept.append(text)
        return kept

    def _list(self, key: str) -> Iterator[tuple[str, object]]:
        value = self.raw(key)
        if isinstance(value, list):
            yield from ((f"{self.whole_path(key)}[{index}]", one) for index, one in enumerate(cast(list[object], value)))
        elif value is not None:
            self._wrong(key, value, "a list")

    def pairs(self, key: str) -> dict[str, str]:
        """A mapping of names to text."""
        inner = self.inside(key)
        found = {name: inner.text(name) for name in inner.names()}
        return {name: text for name, text in found.items() if text is not None}

    def inside(self, key: str) -> "BodyReader":
        """The mapping under a key; an empty one if it is missing."""
        value = self.raw(key)
        found = mapping(value)
        if value is not None and not isinstance(value, dict):
            self._wrong(key, value, "a mapping")
        return self._reader(found, self.whole_path(key))

    def items(self, key: str) -> list["BodyReader"]:
        """The mappings in the list under a key."""
        found: list[BodyReader] = []
        for path, one in self._list(key):
            if isinstance(one, dict):
                found.append(self._reader(mapping(one), path))
            elif one is not None:
                self.reading.leave(path, "a mapping is expected in this list")
        return found

    def skip(self, *keys: str) -> None:
        """Keys that a service answers, which nobody sets. A setting is never skipped: see `default`."""
        self._read |= {key.lower() for key in keys}

    def leave(self, key: str, message: str, fix: str = "") -> None:
        """Reports a key as left out, which then counts as read."""
        self._read.add(key.lower())
        self.reading.leave(self.whole_path(key), message, fix)

    def leave_given(self, key: str, message: str, fix: str = "") -> None:
        """The same, only if the key is given."""
        if key in self:
            self.leave(key, message, fix)
        self._read.add(key.lower())

    def change(self, key: str, message: str, fix: str = "") -> None:
        self.reading.change(self.whole_path(key), message, fix)

    def rest(self, message: str = NO_KEY) -> None:
        """Reports every key that wasn't read, here and in all mappings that were."""
        for name in self._unread():
            self.leave(name, message)
        for inner in self._inner.values():
            inner.rest(message)

    def _unread(self) -> Iterator[str]:
        for key, (name, value) in self._values.items():
            if key not in self._read and not _is_empty(value):
                yield name

    def _reader(self, value: dict[str, Any], path: str) -> "BodyReader":
        return self._inner.setdefault(path, BodyReader(value, path, self.reading))

    def _wrong(self, key: str, value: object, expected: str) -> None:
        found = placeholders.find(value) if isinstance(value, str) else ""
        if found:
            self.leave(key, f"{found} is a placeholder", "write the value")
        else:
            self.leave(key, f"expected {expected}")


def _plain(value: object) -> object:
    """For comparisons: text without letter case, hyphens and underscores, a number of text as that number's text."""
    if isinstance(value, dict):
        return {str(key).lower(): _plain(one) for key, one in cast(dict[Any, Any], value).items()}
    if isinstance(value, list):
        return [_plain(one) for one in cast(list[Any], value)]
    return re.sub(r"[-_ ]", "", _as_text(value).lower())


def _set(value: Any) -> Any:
    """A mapping without what is null, false or empty, as Azure answers what nobody has set; any other value as it is."""
    if not isinstance(value, dict):
        return value
    inner = {key: _set(one) for key, one in cast(dict[Any, Any], value).items()}
    return {key: one for key, one in inner.items() if one not in (None, False, "", [], {})}


def _is_plain(value: object) -> bool:
    """Whether it can be copied: without a placeholder, an expression or a secret."""
    texts = [holder[key] for holder, key, _ in walk([value], "") if isinstance(holder[key], str)]
    return not any(placeholders.find(one) or holds_secret(one) or SECRET in one or one.startswith("[") for one in texts)


def mapping(value: object) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def given(**settings: Any) -> dict[str, Any]:
    """The settings that have a value: neither None nor empty."""
    return {key: value for key, value in settings.items() if not _is_empty(value)}


def _is_empty(value: object) -> bool:
    return value is None or value == "" or value == [] or value == {}


def _as_text(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
