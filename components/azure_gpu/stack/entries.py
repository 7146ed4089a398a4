"""The parts of a stack file: one walk turns its sections into entries, which hold all that the file sets for a part.

The keys `opts`, `enabled` and `keep` exist only in a stack file, so an entry's arguments don't contain them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, cast

from azure_gpu.formats.dates import days_later, parse_day
from azure_gpu.shared.validation import below, form, key_hints
from azure_gpu.stack import taken_down
from azure_gpu.stack.file import EntryOptions, StackFile
from azure_gpu.stack.kinds import BY_SECTION, Kind

_OF_STACK_FILE = ("opts", "enabled", "keep")


@dataclass(slots=True, kw_only=True)
class Entry:
    """A part of a stack file: an entry of a section, or a part inside of one, such as a GPU pool of a cluster."""

    kind: Kind  # of the section
    name: str  # the logical name of an entry; of a part inside, the user's
    path: str  # such as `clusters.shared`, `clusters.shared.gpu_pools.t4`
    args: Mapping[str, Any]  # what its component takes, parts inside included
    opts: EntryOptions | None = None  # the engine's
    enabled: bool = True
    kept: bool = False  # stays in Azure when the stack is destroyed
    last_day: date | None = None
    inner: dict[str, dict[str, "Entry"]] = field(default_factory=dict[str, dict[str, "Entry"]])  # parts by key and name
    required: frozenset[str] = frozenset()  # keys that stay where all parts of theirs are off

    def all(self) -> Iterator["Entry"]:
        """Yields the entry and the parts inside."""
        yield self
        for parts in self.inner.values():
            yield from parts.values()

    def past(self, today: str) -> str:
        """Returns the end of its last day (RFC 3339); empty where that hasn't passed. `today`: the stack's day."""
        day = parse_day(str(self.args.get("as_of") or today))
        if self.last_day is None or day is None or self.last_day > day:
            return ""
        return f"{days_later(self.last_day, 1).isoformat()}T00:00:00Z"

    def off(self) -> Iterator[str]:
        """Yields the paths of what is off, without paths below another."""
        if not self.enabled:
            yield self.path
        else:
            yield from (part.path for parts in self.inner.values() for part in parts.values() if not part.enabled)

    def declared(self) -> dict[str, Any]:
        """Returns the arguments without the parts inside that are off, and their shares of 0. A key whose parts are all off is
        removed, so that it has no effect on other parts."""
        found = dict(self.args)
        for key, parts in self.inner.items():
            found[key] = {name: part.args for name, part in parts.items() if part.enabled}
            if parts and not found[key] and key not in self.required:
                del found[key]
        off = {name for name, part in self.inner.get("deployments", {}).items() if not part.enabled}
        for key in ("traffic", "mirror"):
            if off and key in found:
                found[key] = {name: share for name, share in found[key].items() if share or name not in off}
        return found


def walk(sections: Mapping[str, Any]) -> list[Entry]:
    """Returns the entries of checked sections, in the order of the file."""
    found: list[Entry] = []
    for section, given in sections.items():
        kind = BY_SECTION.get(section)
        if kind is not None:
            by_name = given.items() if kind.by_name else [(kind.name, given)]
            found += [_entry(kind, name, kind.path(name), args) for name, args in by_name]
    return found


def take_down(found: Iterable[Entry], today: str, ended_of: taken_down.Reader) -> Mapping[str, str]:
    """Switches off the parts that were taken down after their last day, and returns their ends by their paths. `today`: the
    stack's day; `ended_of`: selects those of past parts."""
    parts = {part.path: part for each in found for part in each.all()}
    past = {path: end for path, part in parts.items() if (end := part.past(today))}
    ended = ended_of(past)
    for path in ended:
        parts[path].enabled = False
    return ended


def _entry(kind: Kind, name: str, path: str, given: Mapping[str, Any]) -> Entry:
    entry = _part(kind, name, path, given)
    if kind.inner:
        section = key_hints(StackFile)[kind.section]
        entry.required = form(below(section, name) if kind.by_name else section).__required_keys__
    for key in kind.inner:
        if key in given:
            parts = cast(Mapping[str, Mapping[str, Any]], given[key])
            entry.inner[key] = {each: _part(kind, each, f"{path}.{key}.{each}", args) for each, args in parts.items()}
    return entry


def _part(kind: Kind, name: str, path: str, given: Mapping[str, Any]) -> Entry:
    return Entry(
        kind=kind,
        name=name,
        path=path,
        args={key: value for key, value in given.items() if key not in _OF_STACK_FILE},
        opts=given.get("opts"),
        enabled=given.get("enabled", True),
        kept=given.get("keep", False),
        last_day=parse_day(given.get("expires_after", "")),
    )
