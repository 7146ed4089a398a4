"""The patch versions of Kubernetes that AKS had, by day, as far as a source lists them."""

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog import tables
from azure_gpu.catalog.services.aks.kubernetes_versions import default, number
from azure_gpu.catalog.sources import Dated, Source
from azure_gpu.catalog.tables import Listed, Table

TABLE = Table(
    tables.beside(__file__, "kubernetes_patches.csv"),
    {"versions": "with three numbers, newest first", "where": "the source that lists them", "day": "on which it did"},
)


class Seen(NamedTuple):
    """The versions that one source lists, newest first."""

    versions: tuple[str, ...]
    source: Source


SEEN: Sequence[Seen] = Listed(
    lambda: (
        Seen(row.texts("versions"), Source(row.filled("where"), Dated.OBSERVED, row.day("day"))) for row in tables.read(TABLE)
    )
)


def patch(minor: str, as_of: date) -> str:
    """The newest version of `1.34` that was seen until that day, else the oldest seen later. Empty: none was ever seen."""
    requested = number(minor)
    named = [(seen.source.day, each) for seen in SEEN for each in seen.versions if number(each) == requested]
    before = [each for day, each in named if day <= as_of]
    later = [each for day, each in named if day > as_of]
    if before:
        return max(before, key=_numbers)
    return min(later, key=_numbers, default="")


def seen_about(as_of: date) -> tuple[str, ...]:
    """The versions that the source nearest to that day names, newest first."""
    return min(SEEN, key=lambda seen: abs((seen.source.day - as_of).days)).versions


def default_version(as_of: date) -> str:
    """AKS's default version: the second newest minor version, with its patch if one was seen."""
    minor = default(as_of)
    if not minor:  # before the table of minor versions begins
        minors = list(dict.fromkeys(".".join(each.split(".")[:2]) for each in seen_about(as_of)))
        minor = minors[1] if len(minors) > 1 else minors[0]
    return patch(minor, as_of) or minor


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
