"""Switches off parts that were taken down after their last day, so that no `up` creates them again until a later day is set.

`operations end --past` deletes a part and leaves the stack file unchanged, which may be under review in a pull request. A part
that the stack had until its last day, and no longer has, is treated like `enabled: false`; a new part with a past day stays an
error. The stack's outputs show that it had the part: `expires_at` after the deletion, and `taken_down` from the next `up` on.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from typing import Any, cast

from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.formats.dates import days_later, parse_day
from azure_gpu.shared import own_state
from azure_gpu.stack import ended

OUTPUT = "taken_down"
"""The stack's output: the ends of taken-down parts (RFC 3339) by paths such as `pools.train`; omitted where there are none."""
Reader = Callable[[Mapping[str, str]], Mapping[str, str]]  # selects the taken-down parts of past ones


def by_engine(past: Mapping[str, str]) -> Mapping[str, str]:
    """Selects the taken-down parts by the stack's outputs and state, from the engine that runs the program."""
    exported = own_state.outputs() if past else None
    if not exported:
        return {}
    had = {path for path, instant in past.items() if _had(exported, path, instant)}
    return {path: past[path] for path in sorted(had - ended.deployed(sorted(had)))}


def unavailable(_: Mapping[str, str]) -> Mapping[str, str]:
    """A reader for use without an engine: finds none."""
    return {}


def past(sections: Mapping[str, Any], today: str) -> dict[str, str]:
    """Returns the parts whose last day has passed, with the end of that day (RFC 3339). Invalid dates are reported elsewhere."""
    found: dict[str, str] = {}
    for path, part in _parts(sections):
        last = parse_day(str(part.get("expires_after") or ""))
        day = parse_day(str(part.get("as_of") or sections.get("as_of") or today))
        if last is not None and day is not None and last <= day:
            found[path] = _instant(last)
    return found


def without(sections: Mapping[str, Any], paths: Mapping[str, str]) -> dict[str, Any]:
    """Returns the sections with these parts switched off."""
    return {key: _off(value, key, paths) for key, value in sections.items()}


def warnings(paths: Mapping[str, str]) -> list[Problem]:
    return [
        Problem(
            f"{path}.expires_after",
            "it was taken down after its last day: it isn't declared until a later one is set",
            fix="set a later one, or remove the part",
            severity=Severity.WARNING,
        )
        for path in paths
    ]


def _parts(sections: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the parts that may have `expires_after`."""
    for section in ended.TOKENS:
        for name, part in _items(sections.get(section)):
            yield f"{section}.{name}", part
    for name, part in _items(dict(_items(sections)).get("ml_workspace", {}).get("computes")):
        yield f"ml_workspace.computes.{name}", part


def _items(value: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(value, Mapping):
        for name, each in cast(Mapping[str, object], value).items():
            if isinstance(each, Mapping):
                yield name, cast(Mapping[str, Any], each)


def _off(value: object, path: str, paths: Mapping[str, str]) -> object:
    if not isinstance(value, Mapping) or not any(each == path or each.startswith(f"{path}.") for each in paths):
        return cast(object, value)
    part = cast(Mapping[str, object], value)
    if path in paths:
        return {**part, "enabled": False}
    return {key: _off(each, f"{path}.{key}", paths) for key, each in part.items()}


def _had(exported: Mapping[str, Any], path: str, instant: str) -> bool:
    earlier: Mapping[str, Any] = exported.get(OUTPUT) or {}
    ends: Mapping[str, Any] = exported.get("expires_at") or {}
    return path in earlier or str(ends.get(path.rsplit(".", 1)[-1]) or "~") <= instant


def _instant(last: date) -> str:
    return f"{days_later(last, 1).isoformat()}T00:00:00Z"
