"""Fixes for Azure's errors whose text doesn't say what to do."""

from functools import cache
from typing import NamedTuple

from azure_gpu.catalog import policies, tables
from azure_gpu.catalog.tables import Table


class KnownError(NamedTuple):
    """An error that is known by its text."""

    parts: tuple[str, ...]
    fix: str
    source: str


TABLE = Table(
    tables.beside(__file__, "error_fixes.csv"),
    {
        "parts": "texts that the error contains, all of them, in lower case",
        "fix": "what to do, as an instruction",
        "source": "where it was read",
    },
)


@cache
def known() -> tuple[KnownError, ...]:
    """The errors, the first that fits first. The file is read at the first call."""
    rows = tables.read(TABLE)
    return tuple(KnownError(row.texts("parts"), row.filled("fix"), row.filled("source")) for row in rows)


def fix(text: str) -> str:
    """The fix of an error; empty if the error is unknown."""
    lowered = text.lower()
    if "requestdisallowedbypolicy" in lowered and (answer := policies.denial(text)):
        return answer
    return next((each.fix for each in known() if all(part in lowered for part in each.parts)), "")
