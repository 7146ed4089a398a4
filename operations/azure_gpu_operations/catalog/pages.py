"""Reads Microsoft's published pages and change logs: AKS's versions and patches, and the ends of VM series.

Each file is read at the commit that changed it last. A page is read whole: one without its tables, with a row that can't be read,
or with fewer rows than the catalog has, is refused by name.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import NamedTuple

import requests

from azure_gpu.catalog import tables
from azure_gpu.catalog.services.aks import kubernetes_versions
from azure_gpu.catalog.sizes import SIZES, cpu_series
from azure_gpu.catalog.tables import Table
from azure_gpu_operations.catalog.changes import Change, Refreshed, SourceError, What

API, RAW = "https://api.github.com", "https://raw.githubusercontent.com"
TIMEOUT_SECONDS = (10.0, 60.0)  # to connect, to answer
_NO_GPU = ("FPGA", "HPC", "ADH", "GPU")  # sections of the page of ends whose series are in other tables
_VERSION, _GENERAL, _END, _LTS = "Kubernetes version", "AKS GA", "End of life", "LTS End of life"
_SERIES, _ANNOUNCED, _LAST_DAY = "Series name", "Retirement Announcement", "Planned Retirement Date"


class Page(NamedTuple):
    """A file of a repository, as it was at a commit."""

    text: str
    commit: str

    @property
    def day(self) -> date:
        """The date that the page gives itself."""
        found = re.search(r"^ms\.date: (\d\d/\d\d/\d{4})$", self.text, re.MULTILINE)
        if found is None:
            raise SourceError("the page has no date")
        return datetime.strptime(found[1], "%m/%d/%Y").date()


def fetched(repository: str, path: str) -> Page:
    """The file at the last commit that changed it. SourceError for a redirect, an error, or no such file."""
    commits = _answer(f"{API}/repos/{repository}/commits?path={path}&per_page=1")
    try:
        commit = str(commits.json()[0]["sha"])
    except (ValueError, LookupError, TypeError):
        raise SourceError(f"{commits.url}: no commit in the answer: {commits.text[:200]!r}") from None
    return Page(_answer(f"{RAW}/{repository}/{commit}/{path}").text, commit)


def _answer(url: str) -> requests.Response:
    try:
        answer = requests.get(url, timeout=TIMEOUT_SECONDS, allow_redirects=False)
    except requests.RequestException as error:
        raise SourceError(f"{url}: {type(error).__name__}") from None
    if answer.status_code != 200:
        target = f", to {answer.headers['Location']}" if answer.is_redirect else ""
        raise SourceError(f"{url}: HTTP {answer.status_code}{target}")
    return answer


def table_rows(text: str, *columns: str) -> Iterator[dict[str, str]]:
    """The rows of the page's tables that have these columns, each with its section's title as `section`."""
    section, header = "", list[str]()
    for line in text.splitlines():
        if line.startswith("#"):
            section = line.strip("# ")
        cells = [cell.strip().strip("*") for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            header = []
        elif set(columns) <= set(cells):
            header = cells
        elif header and len(cells) != len(header):
            raise SourceError(f"a row of the table with {columns[0]!r} has {len(cells)} cells of {len(header)}: {line[:80]!r}")
        elif header and not re.fullmatch(r"[\s|:-]+", line):
            yield {"section": section, **dict(zip(header, cells, strict=True))}


def versions(page: Page) -> list[list[str]]:
    """The rows of `kubernetes_versions.csv` that the page has."""
    rows: dict[str, list[str]] = {}
    for row in (*table_rows(page.text, _VERSION, _GENERAL, _END), *table_rows(page.text, _VERSION, _GENERAL, _LTS)):
        name = row[_VERSION]
        lts_end = _month(row[_LTS]) if _LTS in row else rows.get(name, [""] * 4)[3]
        rows[name] = [name, _month(row[_GENERAL]), _month(row[_END]), lts_end, page.day.isoformat()]
    if not rows or not any(row[3] for row in rows.values()):
        raise SourceError("the page lacks a table of versions, or that of long-term support")
    return [*rows.values()]


def _month(cell: str) -> str:
    """`Aug 2026` as `2026-08`, `Aug 22, 2025` as a day."""
    for form, written in (("%b %Y", "%Y-%m"), ("%b %d, %Y", "%Y-%m-%d")):
        try:
            return datetime.strptime(cell, form).strftime(written)
        except ValueError:
            continue
    raise SourceError(f"{cell!r} is no month")


def patches(page: Page) -> list[list[str]]:
    """The row of `kubernetes_patches.csv` that the newest release notes with patches have."""
    for notes in re.split(r"^## Release Notes - ", page.text, flags=re.MULTILINE)[1:]:
        day, *lines = notes.splitlines()
        named = [line for line in lines if re.search(r"[Pp]atch versions?\b.*available", line)]
        found = dict.fromkeys(each for line in named for each in re.findall(r"(?<![\w.])1\.\d+\.\d+(?![\w.-])", line))
        if found:
            newest = sorted(found, key=lambda each: tuple(map(int, each.split("."))), reverse=True)
            of_minor = {each.rpartition(".")[0]: each for each in reversed(newest)}
            where = f"Azure/AKS, CHANGELOG.md at {page.commit[:8]}"
            return [[tables.SEPARATOR.join(sorted(of_minor.values(), key=newest.index)), where, _day(day.strip())]]
    raise SourceError("no release notes with patch versions")


def _day(text: str) -> str:
    for form in ("%Y-%m-%d", "%m/%d/%y", "%m/%d/%Y"):
        try:
            return datetime.strptime(text, form).date().isoformat()
        except ValueError:
            continue
    raise SourceError(f"{text!r} is no day")


class End(NamedTuple):
    """A row of the page of ends."""

    section: str
    series: str
    announced: str  # empty: none is given
    end: str


def ends(page: Page) -> list[End]:
    """All rows of the page of ends."""
    rows = [
        End(
            row["section"],
            row[_SERIES],
            _day(found[0]) if (found := re.findall(r"^\[?([\d/]+)", row[_ANNOUNCED])) else "",
            _day(row[_LAST_DAY]),
        )
        for row in table_rows(page.text, _SERIES, _ANNOUNCED, _LAST_DAY)
    ]
    if not rows:
        raise SourceError("the page has no table of ends")
    return rows


def _versions(old: list[list[str]], page: Page) -> tuple[list[list[str]], list[Change]]:
    """What the page no longer has stays: it is past, and clusters still run it."""
    new = {row[0]: row for row in versions(page)}
    if page.day < max(date.fromisoformat(row[4]) for row in old):
        raise SourceError(f"the page of {page.day} is older than the one that the catalog has")
    rows = {row[0]: row for row in old} | new
    return sorted(rows.values(), key=lambda row: tuple(map(int, row[0].split(".")))), []


def _patches(old: list[list[str]], page: Page) -> tuple[list[list[str]], list[Change]]:
    return [*old, *(row for row in patches(page) if row[2] > max(each[2] for each in old))], []


def _ends(old: list[list[str]], page: Page) -> tuple[list[list[str]], list[Change]]:
    found = {each.series: each for each in ends(page)}
    rows = [[name, pattern, each.announced, each.end] for name, pattern, *_ in old if (each := found.get(name))]
    if len(rows) * 2 < len(old):
        raise SourceError(f"the page has {len(rows)} of {len(old)} series: only a part of it was sent")
    source, changes = f"{cpu_series.RETIREMENTS.where} of {page.day}", list[Change]()
    by_series = {size.series.name: size for size in SIZES}
    for name in found.keys() - {row[0] for row in old}:
        each, size = found[name], by_series.get(name.removesuffix("-series").removesuffix("-Series"))
        own = size.lifecycle.end if size is not None else None
        if size is not None and (own is None or own.day.isoformat() != each.end):
            before = own.day.isoformat() if own else "no end"
            changes.append(Change(What.CONTRADICTS, f"end of {size.series.name}", before, each.end, source))
        elif size is None and not each.section.startswith(_NO_GPU):
            changes.append(Change(What.LEFT_OUT, f"{name}: add a pattern of its sizes", "", each.end, source))
    return rows, changes


class Source(NamedTuple):
    """One page and the table that it fills."""

    name: str
    repository: str
    path: str
    table: Table
    merged: Callable[[list[list[str]], Page], tuple[list[list[str]], list[Change]]]


SOURCES = (
    Source(
        "AKS versions",
        "MicrosoftDocs/azure-aks-docs",
        "articles/aks/supported-kubernetes-versions.md",
        kubernetes_versions.TABLE,
        _versions,
    ),
    Source("AKS patches", "Azure/AKS", "CHANGELOG.md", kubernetes_versions.PATCHES_TABLE, _patches),
    Source(
        "ends of VM series",
        "MicrosoftDocs/azure-compute-docs",
        "articles/virtual-machines/sizes/lifecycle/retirements-and-capacity-restrictions.md",
        cpu_series.TABLE,
        _ends,
    ),
)


def refresh(folder: Mapping[str, Path]) -> Refreshed:
    """All pages. `folder`: the files of the tables by their names, where they aren't the catalog's."""
    result = Refreshed()
    for each in SOURCES:
        path = folder.get(each.table.name, Path(each.table.path))
        try:
            old = [tables.split(row.text) for row in tables.rows(each.table, path.read_text(encoding="utf-8"))]
            page = fetched(each.repository, each.path)
            new, changes = each.merged(old, page)
        except (SourceError, OSError, ValueError) as error:
            result.failed[each.name] = str(error)
            continue
        where = f"{each.repository}, {each.path} at {page.commit[:8]}"
        result.changes += [*_differences(each, old, new, where), *changes]
        if new != old:
            result.texts[path] = "".join(f"{tables.line_of(row)}\n" for row in ([*each.table.columns], *new))
    return result


def _differences(source: Source, old: Iterable[list[str]], new: Iterable[list[str]], where: str) -> Iterator[Change]:
    """By the first cell of a row; the last of versions, the day of the reading, isn't one."""
    before, after = {row[0]: row[1:] for row in old}, {row[0]: row[1:] for row in new}
    for name in dict.fromkeys([*before, *after]):
        was, now = before.get(name), after.get(name)
        if was != now:
            what = What.NEW if was is None else What.GONE if now is None else What.CHANGED
            yield Change(what, f"{source.name}: {name}", ", ".join(was or ()), ", ".join(now or ()), where)
