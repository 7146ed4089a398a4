"""The Kubernetes versions of AKS: general availability, end of support, end of long-term support (LTS), and known patches.

The page gives months, and few days: a version starts on the first day of its month and ends on the last, so that the month itself
is never rejected. A version that the page only announced is neither refused nor advised: it may have come since.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import cache
from typing import NamedTuple

from azure_gpu.catalog import lifecycle, tables
from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.problems import End, Problem, not_listed
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.sources import Source
from azure_gpu.catalog.tables import Listed, Row, Table

PAGE = "Microsoft Learn, articles/aks/supported-kubernetes-versions.md"
TABLE = Table(
    tables.beside(__file__, "kubernetes_versions.csv"),
    {
        "version": "minor version: 1.35",
        "general": "the month of general availability: 2026-03",
        "end": "the last month of the usual support, or the last day",
        "lts_end": "the last month of long-term support; empty: no source read gives one",
        "read": "the date of the page",
    },
)
_LISTING = "list a region's versions with `az aks get-versions`"
_WRITTEN = r"([0-9]{1,3})\.([0-9]{1,3})(\.[0-9]{1,4})?"


class KubernetesVersion(NamedTuple):
    """One minor version."""

    name: str  # 1.35
    general: Source  # its day is the first of the month
    end: Source  # of the usual support; its day is the last of the month
    lts_end: Source | None = None  # None: no source read gives one
    planned: Source | None = None  # the source that only announced it; None if it is known to be available

    @property
    def number(self) -> tuple[int, int]:
        """For comparing: 1.9 is older than 1.10."""
        major, minor = self.name.split(".")
        return int(major), int(minor)


def read(rows: Iterator[Row]) -> Iterator[KubernetesVersion]:
    """The versions of a table's rows. Raises TableError for an invalid row."""
    for name, row in tables.by_name(rows, "version").items():
        if number(name) is None:
            raise row.wrong("version", "a minor version such as 1.35")
        page = Source(PAGE, "observed on", row.day("read"))
        general = _first_day(row, page)
        yield KubernetesVersion(
            name=name,
            general=general,
            end=_last_day("end of life", "end", row, page),
            lts_end=_last_day("end of LTS", "lts_end", row, page) if row["lts_end"] else None,
            planned=page if general.day > page.day else None,
        )


def _first_day(row: Row, page: Source) -> Source:
    return _dated(f"general in {row['general']}, first day taken", page, _day(f"{row['general']}-01", "general", row))


def _last_day(what: str, column: str, row: Row, page: Source) -> Source:
    written = row[column]
    if len(written) == len("2025-08-22"):
        return _dated(f"{what} on {written}", page, _day(written, column, row))
    first = _day(f"{written}-01", column, row)
    last = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    return _dated(f"{what} in {written}, last day taken", page, last)


def _dated(what: str, page: Source, day: date) -> Source:
    return Source(f"{page.where} of {page.day.isoformat()}: {what}", "valid from", day)


def _day(text: str, column: str, row: Row) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise row.wrong(column, "a month such as 2026-03, or a day") from None


VERSIONS: Sequence[KubernetesVersion] = Listed(lambda: read(tables.read(TABLE)))


@cache
def source() -> Source:
    """The page as it was last read."""
    return Source(PAGE, "observed on", max(row.day("read") for row in tables.read(TABLE)))


def number(version: str) -> tuple[int, int] | None:
    """Major and minor of `1.35` or `1.35.2`; None for anything else."""
    match = re.fullmatch(_WRITTEN, version)
    return (int(match[1]), int(match[2])) if match else None


def supported(as_of: date, versions: Sequence[KubernetesVersion] = VERSIONS) -> tuple[str, ...]:
    """The versions that are known to be general and within their usual support on that day, newest first."""
    return tuple(
        version.name
        for version in sorted(versions, key=lambda one: one.number, reverse=True)
        if version.planned is None and version.general.day <= as_of <= version.end.day
    )


def default(as_of: date, versions: Sequence[KubernetesVersion] = VERSIONS) -> str:
    """The default version of the portal and the Azure CLI: the second newest. Empty: unknown.

    The only one that is still supported is the second newest, because its successor was only planned.
    """
    names = supported(as_of, versions)
    return (
        names[1]
        if len(names) > 1
        else names[0]
        if names and as_of > max(versions, key=lambda one: one.number).general.day
        else ""
    )


def check(
    version: str, as_of: date, path: str, lts: bool = False, versions: Sequence[KubernetesVersion] = VERSIONS
) -> list[Problem]:
    """The problems of this version on that day. `lts`: the cluster has the long-term support plan."""
    minor = number(version)
    if minor is None:
        return [refused("aks.bad_version", path, version, source=source())]
    row = next((one for one in versions if one.number == minor), None)
    if row is None:
        return [_not_in_table(version, minor, as_of, path, versions)]
    if lts and row.lts_end is None and as_of > row.end.day:
        return [refused("aks.version_without_long_term", path, version, source=row.end, minor=row.name)]
    if row.planned is not None and as_of <= row.end.day:
        if as_of < row.general.day:
            words = {"source": row.planned, "minor": row.name, "general": row.general.day}
            return [refused("aks.version_planned", path, version, **words)]
        return [not_listed(path, f"Kubernetes {row.name} on AKS", version, row.planned, _LISTING)]
    end = row.lts_end if lts and row.lts_end is not None else row.end
    instead = supported(as_of, versions)
    return lifecycle.check(
        Lifecycle(seen=row.general, end=end),
        f"Kubernetes {row.name} on AKS",
        as_of,
        path=path,
        value=version,
        fix=_fix(row, lts, as_of, instead),
        instead=instead,
    )


def _fix(row: KubernetesVersion, lts: bool, as_of: date, instead: tuple[str, ...]) -> str:
    fix = f"write {instead[0]}" if instead else _LISTING
    if not lts and row.lts_end is not None and as_of <= row.lts_end.day:
        fix += f", or use the long-term support plan, which supports {row.name} until {row.lts_end.day.isoformat()}"
    return fix


def _not_in_table(version: str, minor: tuple[int, int], as_of: date, path: str, versions: Sequence[KubernetesVersion]) -> Problem:
    """A version isn't supported longer than the next one, so versions older than a retired one are retired too."""
    oldest = min(versions, key=lambda one: one.number, default=None)
    if oldest is None or minor > oldest.number or as_of <= (oldest.lts_end or oldest.end).day:
        return refused("aks.version_unknown", path, version, source=source())
    instead = supported(as_of, versions)
    return refused(
        "aks.version_retired",
        path,
        version,
        fix=f"write {instead[0]}" if instead else _LISTING,
        source=oldest.end,
        instead=instead,
        oldest=oldest,
    )._replace(end=End(f"Kubernetes {version} on AKS", (oldest.lts_end or oldest.end).day))


PATCHES_TABLE = Table(
    tables.beside(__file__, "kubernetes_patches.csv"),
    {"versions": "with three numbers, newest first", "where": "the source that lists them", "day": "on which it did"},
)


class Seen(NamedTuple):
    """The versions that one source lists, newest first."""

    versions: tuple[str, ...]
    source: Source


SEEN: Sequence[Seen] = Listed(
    lambda: (
        Seen(row.texts("versions"), Source(row.filled("where"), "observed on", row.day("day")))
        for row in tables.read(PATCHES_TABLE)
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
