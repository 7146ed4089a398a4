"""The parts of the weather, each with its evidence: the rows of `parts.toml`. docs/weather.md is made of them.

`rough`: part of rough weather, because every subscription meets it; the others are what some subscriptions have, or what happens
now and then, and are turned on one by one. Ranks of evidence: recorded (an answer of Azure in a recorded session), documented (a
page of Microsoft's, or an answer that users quote in a public thread), assumed (nobody has shown it; the reason is in `what`).
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

Rank = Literal["recorded", "documented", "assumed"]


class Source(NamedTuple):
    """Where something was read."""

    text: str
    day: str  # YYYY-MM-DD, or YYYY-MM; of the source, or on which it was read
    rank: Rank


class Part(NamedTuple):
    """One part of the weather."""

    name: str
    what: str
    here: str  # how long, or how much, in this Azure
    there: str  # and in the real one
    rough: bool
    sources: tuple[Source, ...]
    seconds: float = 0.0  # how long it lasts here; 0: for as long as it holds


def _read() -> Iterator[Part]:
    rows = tomllib.loads(Path(__file__).with_name("parts.toml").read_text(encoding="utf-8"))
    for name, row in rows.items():
        sources = tuple(Source(*each) for each in row.pop("sources"))
        yield Part(name, rough=row.pop("rough", False), sources=sources, **row)


PARTS: Mapping[str, Part] = {part.name: part for part in _read()}
