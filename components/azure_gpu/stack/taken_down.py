"""Parts that were taken down after their last day: no `up` brings them back while their day is a past one, and the rest goes on.

`operations end --past` deletes a part and leaves the stack file as it is, which may lie in somebody's pull request. A part that
the stack had until its last day, and has no more, is left out as by `enabled: false`; a new part with a past day is refused, as
before. That the stack had it is in its outputs: in `expires_at` after the deletion, and in `taken_down` from the next `up` on.

In: the sections of a stack file, the day, what the stack exported. Out: the sections with those parts switched off, and warnings.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from typing import Any, cast

from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.formats.dates import days_later, parse_day
from azure_gpu.shared import own_state
from azure_gpu.stack import ended

OUTPUT = "taken_down"
"""The stack's output: by paths such as `pools.train` the instants at which their last days ended; only where there are any."""
Reader = Callable[[Mapping[str, str]], Mapping[str, str]]  # of past parts those that were taken down


def by_engine(past: Mapping[str, str]) -> Mapping[str, str]:
    """Asks the engine that runs the program."""
    exported = own_state.outputs() if past else None
    if not exported:
        return {}
    had = {path for path, instant in past.items() if _had(exported, path, instant)}
    return {path: past[path] for path in sorted(had - ended.standing(sorted(had)))}


def by_nobody(_: Mapping[str, str]) -> Mapping[str, str]:
    """Where no engine can be asked."""
    return {}


def past(sections: Mapping[str, Any], today: str) -> dict[str, str]:
    """The parts whose last day has passed, each with the instant at which it ended. Days that can't be read are for others to
    refuse."""
    found: dict[str, str] = {}
    for path, part in _parts(sections):
        last = parse_day(str(part.get("expires_after") or ""))
        day = parse_day(str(part.get("as_of") or sections.get("as_of") or today))
        if last is not None and day is not None and last <= day:
            found[path] = _instant(last)
    return found


def without(sections: Mapping[str, Any], paths: Mapping[str, str]) -> dict[str, Any]:
    """The sections in which these parts are switched off."""
    return {key: _off(value, key, paths) for key, value in sections.items()}


def warnings(paths: Mapping[str, str]) -> list[Problem]:
    return [
        Problem(
            f"{path}.expires_after",
            "its last day has passed and it was taken down: it isn't declared until that is a later one",
            fix="write a later one, or remove the part",
            severity=Severity.WARNING,
        )
        for path in paths
    ]


def _parts(sections: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What may have an end of its own."""
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
