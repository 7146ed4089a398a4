"""Report of `end --past` as text and JSON, and its exit code. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.exit_codes import FAILED, OK, PAST_LEFT
from azure_gpu_operations.past_end.judging import Judged, Part, Past

LISTED, TAKEN_DOWN, STAYS, FAILED_TO_GO = "past", "taken down", "stays", "failed"


class StackResult(NamedTuple):
    """The expired parts of one stack, and what was done with them."""

    stack: str
    judged: Judged = Judged((), is_whole=False)
    hourly_cost: Mapping[str, float | None] = {}
    whole: str = ""
    """Why the whole stack is, or was, destroyed; "" if it isn't."""
    gone: frozenset[str] = frozenset()
    """URNs of destroyed parts."""
    tried: bool = False
    """Whether destroying was attempted."""
    notes: tuple[str, ...] = ()
    error: str = ""
    """Why the stack couldn't be read, or a part couldn't be destroyed."""

    def became(self, past: Past) -> str:
        if past.part.urn in self.gone:
            return TAKEN_DOWN
        if past.stays:
            return STAYS
        return FAILED_TO_GO if self.tried else LISTED

    @property
    def left(self) -> list[Past]:
        return [each for each in self.judged.past if each.part.urn not in self.gone]


def exit_code(found: Sequence[StackResult]) -> int:
    if any(each.error for each in found):
        return FAILED
    return PAST_LEFT if any(each.left for each in found) else OK


def lines(found: Sequence[StackResult], now: datetime) -> Iterator[str]:
    """For people."""
    for each in found:
        yield from _of_stack(each, now)
    past = [one for each in found for one in each.judged.past]
    left = [one for each in found for one in each.left]
    if not past:
        if not any(each.error for each in found):
            what = f"stack {found[0].stack}" if len(found) == 1 else f"{len(found)} stacks"
            yield f"nothing in {what} has expired at {_moment(now)}"
    elif not left:
        yield f"{_parts(len(past))} expired: all destroyed"
    else:
        yield f"{_parts(len(left))} expired and not been destroyed"
        if any(each.became(one) == LISTED for each in found for one in each.left):
            yield "to destroy the parts that aren't kept, add --yes"


def _of_stack(found: StackResult, now: datetime) -> Iterator[str]:
    if found.judged.past:
        yield f"stack {found.stack}:"
    for each in found.judged.past:
        became = found.became(each)
        state = f"kept: {each.stays}" if became == STAYS else {LISTED: "expired", TAKEN_DOWN: "destroyed"}.get(became, became)
        yield f"  {each.part.path} ({each.part.kind}): {state}; ended {_since(each.part, now)}{_cost(found, each.part)}"
    if found.whole:
        yield f"  {found.whole}"
    elif found.judged.is_whole:
        yield f"  every part of it has expired; to destroy the rest with its data: {COMMAND} down --stack {found.stack}"
    yield from (f"  {note}" for note in found.notes)
    if found.error:
        yield f"  error: {found.error}" if found.judged.past else f"stack {found.stack}: error: {found.error}"


def as_json(found: Sequence[StackResult], now: datetime) -> dict[str, Any]:
    return {
        "as_of": _moment(now),
        "stacks": [
            {
                "stack": each.stack,
                "parts": [
                    {
                        "path": one.part.path,
                        "kind": one.part.kind,
                        "expires_at": _moment(one.part.end) if one.part.end else None,
                        "state": each.became(one),
                        "why": one.stays or None,
                        "resources": len(one.part.resources),
                        "hourly_cost_usd": each.hourly_cost.get(one.part.name),
                    }
                    for one in each.judged.past
                ],
                "every_part_is_past": each.judged.is_whole,
                "destroyed_as_a_whole": bool(each.whole),
                "notes": list(each.notes),
                "error": each.error or None,
            }
            for each in found
        ],
        "left": sum(len(each.left) for each in found),
    }


def _parts(count: int) -> str:
    return "1 part has" if count == 1 else f"{count} parts have"


def _since(part: Part, now: datetime) -> str:
    assert part.end is not None  # else it isn't past
    days = (now - part.end).days
    return f"{_moment(part.end)}" + (f", {days} day{'' if days == 1 else 's'} ago" if days else ", less than a day ago")


def _cost(found: StackResult, part: Part) -> str:
    usd = found.hourly_cost.get(part.name)
    return f"; {usd:g} USD an hour while it runs" if usd else ""


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
