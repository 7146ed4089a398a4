"""What rules say: the words, code and source of each refusal and warning of the library, from `refusals.csv`.

A rule of the catalog or of a service's package decides, and names the row: `refused("sharing.one_replica", path, value)`. A
name begins with the rule's subject, and the rows are sorted by name. What differs from case to case stands in braces in the
row, and is given by name: `refused("tags.too_many", path, 51, most=50)`. Words that a rule makes itself are a `Problem`.
"""

from functools import cache
from typing import NamedTuple

from azure_gpu.catalog import sources, tables
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.tables import Row, Table

TABLE = Table(
    tables.beside(__file__, "refusals.csv"),
    {
        "refusal": "its name: the subject, a dot, and what is wrong",
        "code": "why, one of `problems.Code`",
        "severity": "error or warning",
        "message": "what is wrong, in the user's words; no full stop at the end",
        "allowed": "the values that are allowed, or the limit; empty: the rule says it, or nothing is to say",
        "fix": "the likely fix, as an instruction; empty, as before",
        "source": "where the rule was read; empty: the rule says it, or it is this project's own",
    },
)


class _Words(NamedTuple):
    code: Code
    severity: Severity
    message: str
    allowed: str
    fix: str
    source: str


def refused(
    name: str,
    path: str,
    value: object = None,
    *,
    allowed: str | None = None,
    fix: str | None = None,
    instead: tuple[str, ...] = (),
    close: tuple[str, ...] = (),
    source: object = None,
    severity: Severity | None = None,
    **words: object,
) -> Problem:
    """The problem of a row. What the rule says takes the place of what the row says.

    Args:
        close: the known names that a misspelt one may mean, which the fix then is.
        words: what is put in place of their names in the row's texts; beside `path`, `value` and `allowed`.
    """
    row = _words(name)
    words |= {"path": path, "value": value}
    allowed = words["allowed"] = row.allowed.format_map(words) if allowed is None else allowed
    if close:
        fix, instead = f"if it is misspelt, write {' or '.join(close)}", close
    return Problem(
        path,
        row.message.format_map(words),
        value,
        allowed,
        row.fix.format_map(words) if fix is None else fix,
        instead,
        row.source if source is None else str(source),
        row.code,
        severity or row.severity,
    )


@cache  # few of the rows are needed at once
def _words(name: str) -> _Words:
    row = Row(TABLE, *_lines()[name])
    return _Words(
        row.one_of("code", Code),
        row.one_of("severity", Severity),
        row.filled("message"),
        row["allowed"],
        row["fix"],
        "; ".join(map(str, row.several("source", sources.named(), sources.WHERE))),
    )


@cache
def _lines() -> dict[str, tuple[int, str]]:
    """The lines of the rows by their names. The file is read at the first refusal."""
    return tables.by_key(TABLE, tables.text_of(TABLE.path))
