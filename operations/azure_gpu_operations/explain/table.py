"""The table of findings, `findings.yaml`: what a phrase or a state means, and what to do. How it is read stands there."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from azure_gpu.formats import bounded_yaml
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.explain.facts import Cause, Finding

TABLE = Path(__file__).with_name("findings.yaml")
_ALWAYS = {"COMMAND": COMMAND, "UP": "then `pulumi up`"}

Rule = Callable[[Any], Finding | None]


class Row(NamedTuple):
    """One row. `rule`: the name of the code that finds it, in place of all others."""

    cause: str = ""
    what: str = ""
    fix: str = ""
    when: Mapping[str, Any] = {}
    phrase: str = ""
    texts: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    log: str = ""
    rule: str = ""
    source: str = ""


class _Values(dict[str, Any]):
    """What a row's texts may name: groups of its phrase, then attributes of the case."""

    def __init__(self, case: Any, groups: Mapping[str, str | None]) -> None:
        super().__init__(_ALWAYS | {name: text for name, text in groups.items() if text})
        self._case = case

    def __missing__(self, name: str) -> Any:
        return getattr(self._case, name)


@cache
def phrase(name: str) -> re.Pattern[str]:
    """A pattern, which matches anywhere in a message: spelling and letter case vary between services."""
    row = _whole()["phrases"][name]
    flags = (0 if row.get("exact") else re.IGNORECASE) | (re.DOTALL if row.get("across lines") else 0)
    return re.compile("|".join(row["any of"]), flags)


def first(name: str, texts: Any) -> str:
    """The first text with the phrase, or ""."""
    return next((text for text in texts if phrase(name).search(text)), "")


@cache
def rows(kind: str) -> tuple[Row, ...]:
    return tuple(_row(each) for each in _whole()["kinds"][kind])


def explain(kind: str, case: Any, rules: Mapping[str, Rule]) -> Finding | None:
    """The finding of the first row of this kind that fits. `rules`: those of code, by name."""
    return next(_found(kind, case, rules), None)


def explain_surely(kind: str, case: Any, rules: Mapping[str, Rule]) -> Finding:
    """Of a kind whose last row always fits."""
    return next(_found(kind, case, rules))


def _found(kind: str, case: Any, rules: Mapping[str, Rule]) -> Iterator[Finding]:
    for row in rows(kind):
        found = rules[row.rule](case) if row.rule else _of_row(row, case)
        if found is not None:
            yield found


def _of_row(row: Row, case: Any) -> Finding | None:
    if not all(_is(getattr(case, name), wanted) for name, wanted in row.when.items()):
        return None
    matched = first(row.phrase, _texts(case, row.texts)) if row.phrase else ""
    found = phrase(row.phrase).search(matched) if matched else None
    if row.phrase and found is None:
        return None
    values = _Values(case, found.groupdict() if found else {})
    evidence = (matched.strip(),) if matched and not row.evidence else tuple(_texts(case, row.evidence))
    return Finding(
        Cause[row.cause], row.what.format_map(values), row.fix.format_map(values), evidence, row.log.format_map(values)
    )


def _is(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, bool):
        return bool(value) == wanted
    return value in wanted if isinstance(wanted, list) else value == wanted


def _texts(case: Any, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        value = getattr(case, name)
        yield from (text for text in ((value,) if isinstance(value, str) else value) if text)


@cache
def _whole() -> Mapping[str, Any]:
    return bounded_yaml.load(TABLE.read_text(encoding="utf-8"))


def _row(said: Mapping[str, Any]) -> Row:
    listed = {
        key: tuple(each) if isinstance(each, list) else (each,)
        for key, each in (("texts", said.get("in", [])), ("evidence", said.get("evidence", [])))
    }
    return Row(**{key: each for key, each in said.items() if key not in ("in", "evidence")}, **listed)
