"""Switches off parts that were taken down after their last day, so that no `up` creates them again until a later day is set.

`operations end --past` deletes a part and leaves the stack file unchanged, which may be under review in a pull request. A part
that the stack had until its last day, and no longer has, is treated like `enabled: false`; a new part with a past day stays an
error. The stack's outputs show that it had the part: `expires_at` after the deletion, and `taken_down` from the next `up` on.
"""

from collections.abc import Callable, Mapping
from typing import Any

from azure_gpu.catalog.problems import Problem, Severity
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


def _had(exported: Mapping[str, Any], path: str, instant: str) -> bool:
    earlier: Mapping[str, Any] = exported.get(OUTPUT) or {}
    ends: Mapping[str, Any] = exported.get("expires_at") or {}
    return path in earlier or str(ends.get(path.rsplit(".", 1)[-1]) or "~") <= instant
