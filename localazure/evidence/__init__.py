"""What is known of Azure's answers, with sources: each refusal, each type's operations, and what runs for them here.

A rank is the best that is known: *recorded* (a session with Azure shows it; name and date), *documented* (a page, an official
example or client, or a public report quotes it), *assumed* (nobody is quoted). `refusals.tsv` is what bodies are judged by
(`localazure.arm.refusals`), `codes.tsv` has the codes of refusals that depend on more than a body, `sentences.tsv` what such a
refusal says (`localazure.arm.errors.refused`), `not_judged.tsv` what Azure may refuse though nobody is known to have seen it, and
is let through. `recorded.tsv` has which operations the sessions show, and `runs.tsv` what runs for a type; `coverage` makes the
page of them. `types.toml` has the types that are served.
"""

import functools
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from localazure import tables

Rank = Literal["recorded", "documented", "assumed"]
RANKS: tuple[Rank, ...] = ("recorded", "documented", "assumed")
_FOLDER = Path(__file__).parent


class Session(NamedTuple):
    """The last recorded session that shows an operation."""

    name: str
    date: str
    api_version: str


class Code(NamedTuple):
    """A code of refusals that are judged beside a kind or in a service of data."""

    service: str
    code: str
    rank: Rank
    source: str  # session and date, page or report and date; of what is assumed, what it is assumed from
    status: str = ""  # this, or a failure's category, and the next, with words in braces: where it is always the same
    message: str = ""


class Sentence(NamedTuple):
    """What a refusal says that code decides. Words in braces stand for what the code tells."""

    service: str
    name: str
    status: str
    code: str
    message: str
    target: str
    source: str  # of the sentence, where that of its code says less


class Refusal(NamedTuple):
    """A row that bodies are judged by. `localazure.arm.refusals` describes paths, conditions and messages."""

    arm_type: str  # or a part of one that has rules of its own
    versions_from: str  # API versions, both included; "" is open
    versions_to: str
    path: str
    condition: str
    status: str
    code: str
    message: str
    target: str  # "": the path
    source: str
    rank: Rank
    date: str  # of the source


class NotJudged(NamedTuple):
    """What Azure may refuse, though nobody is known to have seen it."""

    arm_type: str
    what: str


@functools.cache
def codes() -> Mapping[tuple[str, str], Code]:
    """By service and code."""
    rows = [Code(service, code, cast(Rank, rank), *rest) for service, code, rank, *rest in read("codes.tsv")]
    return {(row.service, row.code): row for row in rows}


@functools.cache
def sentences() -> Mapping[str, Sentence]:
    """By name."""
    return {row.name: row for row in (Sentence(*each) for each in read("sentences.tsv")[1:])}


@functools.cache
def refusals() -> Mapping[str, Sequence[Refusal]]:
    """By type in lower case, in the order in which they are judged."""
    found: dict[str, list[Refusal]] = {}
    for row in read("refusals.tsv")[1:]:
        whole: list[Any] = [*row]
        found.setdefault(row[0].lower(), []).append(Refusal(*whole))
    return found


@functools.cache
def not_judged() -> Sequence[NotJudged]:
    return [NotJudged(*row) for row in read("not_judged.tsv")[1:]]


@functools.cache
def recorded() -> Mapping[tuple[str, str], Session]:
    """By ARM type and operation: `PUT`, `GET list`, `POST listKeys`."""
    return {(arm_type, operation): Session(*rest) for arm_type, operation, *rest in read("recorded.tsv")}


@functools.cache
def runs() -> Mapping[str, str]:
    """By ARM type: what runs for it. Of a type without a row everything is kept and shown."""
    return {arm_type: words for arm_type, words in read("runs.tsv")}


@functools.cache
def types() -> Mapping[str, Mapping[str, Any]]:
    """By ARM type: its row, with what it shares with others."""
    rows = tomllib.loads((_FOLDER / "types.toml").read_text(encoding="utf-8"))
    shared: dict[str, dict[str, Any]] = {}
    for name, row in rows.pop("shared").items():
        shared[name] = _joined(shared, row)
    return {arm_type: _joined(shared, row) for arm_type, row in rows.items()}


def _joined(shared: Mapping[str, dict[str, Any]], row: dict[str, Any]) -> dict[str, Any]:
    """A row with what it goes on from; objects are joined."""
    return _laid(shared.get(row.pop("like", ""), {}), row)


def _laid(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    both = {name: _laid(under[name], each) for name, each in over.items() if isinstance(each, dict) and name in under}
    return {**under, **over, **both}


def read(name: str) -> Sequence[Sequence[str]]:
    return tables.rows(__file__, name)
