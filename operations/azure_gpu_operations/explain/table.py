"""The table of findings, `findings.yaml`: what a phrase or a state means, and what to do. How it is read stands there."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from azure_gpu.catalog.quotas import ACCOUNT_REQUEST
from azure_gpu.formats import bounded_yaml
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.explain.facts import Cause, Finding

TABLE = Path(__file__).with_name("findings.yaml")
_ALWAYS = {"COMMAND": COMMAND, "UP": "then `pulumi up`", "ON_QUOTAS_PAGE": ACCOUNT_REQUEST}

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


class _Case:
    """What a row may name: the values that are worked out for it, then attributes of the case."""

    def __init__(self, case: Any, values: Mapping[str, Any]) -> None:
        self._case, self._values = case, values

    def __getitem__(self, name: str) -> Any:
        return self._values[name] if name in self._values else getattr(self._case, name)

    def naming(self, more: Mapping[str, Any]) -> "_Case":
        return _Case(self._case, {**self._values, **more})

    def texts(self, names: tuple[str, ...]) -> Iterator[str]:
        for name in names:
            value = self[name]
            yield from (text for text in ((value,) if isinstance(value, str) else value) if text)


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


def explain(kind: str, case: Any, rules: Mapping[str, Rule] = {}, values: Mapping[str, Any] = {}) -> Finding | None:
    """The finding of the first row of this kind that fits. `rules`: those of code, by name. `values`: what rows name beside
    the attributes of the case."""
    return next(_found(kind, case, rules, values), None)


def explain_surely(kind: str, case: Any, rules: Mapping[str, Rule] = {}, values: Mapping[str, Any] = {}) -> Finding:
    """Of a kind whose last row always fits."""
    return next(_found(kind, case, rules, values))


def _found(kind: str, case: Any, rules: Mapping[str, Rule], values: Mapping[str, Any]) -> Iterator[Finding]:
    seen = _Case(case, values)
    for row in rows(kind):
        found = rules[row.rule](case) if row.rule else _of_row(row, seen)
        if found is not None:
            yield found


def _of_row(row: Row, case: _Case) -> Finding | None:
    if not all(_is(case[name], wanted) for name, wanted in row.when.items()):
        return None
    matched = first(row.phrase, case.texts(row.texts)) if row.phrase else ""
    found = phrase(row.phrase).search(matched) if matched else None
    if row.phrase and found is None:
        return None
    named = case.naming(_ALWAYS | {name: text for name, text in (found.groupdict() if found else {}).items() if text})
    what, fix, log = (text.format_map(named) for text in (row.what, row.fix, row.log))
    evidence = tuple(case.texts(row.evidence)) if row.evidence or not matched else (matched.strip(),)
    return Finding(Cause[row.cause], what, fix, evidence, log)


def _is(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, bool):
        return bool(value) == wanted
    return value in wanted if isinstance(wanted, list) else value == wanted


@cache
def _whole() -> Mapping[str, Any]:
    return bounded_yaml.load(TABLE.read_text(encoding="utf-8"))


def _row(said: Mapping[str, Any]) -> Row:
    fields = {{"in": "texts"}.get(key, key): _listed(each) if key in ("in", "evidence") else each for key, each in said.items()}
    return Row(**fields)


def _listed(names: list[str] | str) -> Any:
    return (names,) if isinstance(names, str) else tuple(names)
