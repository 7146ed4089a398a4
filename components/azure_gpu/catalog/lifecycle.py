"""When a thing is available, its status on a given day, and the problems of using it on that day.

An end is the last day on which a thing is available: it is retired from the day after. A rule holds from the day of its source:
before it the problem becomes a warning if it is unknown whether the rule already applied, and disappears if the rule is known to
be newer. Past the shelf life of a list, what it lacks is only "not listed". Tables have lifecycles in the columns `COLUMNS`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from azure_gpu.catalog import regions, sources, tables
from azure_gpu.catalog.problems import Code, End, Problem, Severity, not_listed
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.sources import Source
from azure_gpu.catalog.tables import Keyed, Row, Table

WARNING_DAYS = 180  # a retirement this near is worth a warning


class Status(StrEnum):
    """The status of a thing on a given day."""

    PREVIEW = "preview"
    GENERAL = "general"
    RETIRING = "retiring"  # the end is announced and has not come
    RETIRED = "retired"
    UNKNOWN = "unknown"  # no source speaks of that day: it was first seen later, or the sources doubt that it is sold


SOLD = (Status.PREVIEW, Status.GENERAL, Status.RETIRING)


class Lifecycle(NamedTuple):
    """The dated facts about one thing.

    `seen` is the earliest source that has it: with *valid from* it began on that day, with *observed on* it existed on that day,
    and earlier days are unknown.
    """

    seen: Source
    preview: bool = False  # never left preview, or not until `general`
    general: Source | None = None  # left preview on its day
    announced: Source | None = None  # the earliest source of the announcement; None if only the end is known
    end: Source | None = None  # its day is the last day; None: no end announced
    end_elsewhere: Mapping[str, Source] = MappingProxyType({})  # by region, where the last day is another
    also_given: tuple[Source, ...] = ()  # other last days that sources give, and that were not followed
    doubt: Source | None = None  # a source that leaves open whether it is still sold

    def end_in(self, region: str = "") -> Source | None:
        """The last day in a region; the general one if the region has no exception, or is empty."""
        return self.end_elsewhere.get(regions.normalise(region), self.end) if self.end_elsewhere else self.end

    def status(self, as_of: date, region: str = "") -> Status:
        """The status on that day."""
        end = self.end_in(region)
        if end is not None and as_of > end.day:
            return Status.RETIRED
        if as_of < self.seen.day or (self.doubt is not None and as_of >= self.doubt.day):
            return Status.UNKNOWN
        announced = self.announced or end
        if end is not None and announced is not None and as_of >= announced.day:
            return Status.RETIRING
        if self.preview and (self.general is None or as_of < self.general.day):
            return Status.PREVIEW
        return Status.GENERAL


def check(
    lifecycle: Lifecycle,
    what: str,
    as_of: date,
    *,
    path: str,
    value: object,
    region: str = "",
    fix: str = "",
    instead: tuple[str, ...] = (),
) -> list[Problem]:
    """The problems of using the thing on that day: an error once it is retired or before it began, else a warning or nothing.

    `what` is the thing in the user's words, in lower case; `fix` and `instead` are what works on that day.
    """
    end = lifecycle.end_in(region)
    where = f" in {regions.normalise(region)}" if regions.normalise(region) in lifecycle.end_elsewhere else ""
    words: dict[str, Any] = {"fix": fix, "instead": instead, "what": what, "where": where, "as_of": as_of}
    if end is not None and as_of > end.day:
        certain = sources.end_holds(end.day, as_of)
        found = [refused("end.retired" if certain else "end.not_listed_since", path, value, source=end, end=end, **words)]
        return [each._replace(end=End(f"{what}{where}", end.day)) for each in found]
    problems: list[Problem] = []
    if as_of < lifecycle.seen.day:
        begun = lifecycle.seen.dated == "valid from"
        name = "end.not_begun" if begun else "end.first_seen"
        problems.append(refused(name, path, value, source=lifecycle.seen, seen=lifecycle.seen, what=what, as_of=as_of))
    if lifecycle.doubt is not None and as_of >= lifecycle.doubt.day:
        problems.append(refused("end.doubt", path, value, source=lifecycle.doubt, **words))
    if end is not None and (end.day - as_of).days <= WARNING_DAYS:
        found = refused("end.retiring", path, value, source=end, end=end, left=(end.day - as_of).days, **words)
        problems.append(found._replace(end=End(f"{what}{where}", end.day)))
    return problems


def through(rules: Callable[[date], Iterable[Problem]], as_of: date, last: date | None) -> list[Problem]:
    """The problems on that day, and a warning of each end until `last`, the last day of the checked thing (None: it has none)."""
    found = list(rules(as_of))
    if last is None or last <= as_of:
        return found
    reported = {(problem.path, problem.end.day) for problem in found if problem.end is not None}
    for problem in rules(last):
        end = problem.end
        if end is None or not as_of <= end.day < last or (problem.path, end.day) in reported:
            continue
        reported.add((problem.path, end.day))
        left = f"{(end.day - as_of).days} days from {as_of.isoformat()}"
        message = f"{end.what} retires on {end.day.isoformat()}, {left}, and what uses it lasts until {last.isoformat()}"
        found.append(problem._replace(message=message, code=Code.RETIRING, severity=Severity.WARNING))
    return found


def as_of_day(source: Source, as_of: date, problem: Problem) -> Iterator[Problem]:
    """The problem as it stood on `as_of`, with its source; at most one.

    For rules that a service may change: what it lists, previews, versions. Rules that never change don't need it.
    """
    problem = problem._replace(source=str(source))
    if as_of >= source.day:
        yield problem
    elif source.dated == "observed on":
        doubt = f"first seen on {source.day.isoformat()}, whether it applied on {as_of.isoformat()} is not known"
        yield problem._replace(
            message=f"{problem.message}; {doubt}",
            code=Code.UNKNOWN,
            severity=Severity.WARNING,
        )


def on_list(read: Source, as_of: date, what: str, problem: Problem, fix: str, source: Source | None = None) -> Iterator[Problem]:
    """The refusal of what a list lacks, as it stood on `as_of`; past the list's shelf life, that it isn't listed.

    Args:
        read: the list, with the day on which it was last read.
        what: the subject of "isn't on the list".
        fix: how to find out, or what to do meanwhile.
        source: the list by which it was refused on that day, if it is an earlier one.
    """
    if sources.holds("lists", read.day, as_of):
        yield from as_of_day(source or read, as_of, problem)
    else:
        yield not_listed(problem.path, what, problem.value, read, fix, allowed=problem.allowed)


COLUMNS = {
    "seen": "the earliest source that has it",
    "preview": "whether it was ever a preview: yes or no",
    "general": "the source by whose date it had left preview",
    "announced": "the earliest source that announces the end",
    "end": "the source whose date is the last day on which it is available",
    "end_elsewhere": "regions with another last day: region=source",
    "also_given": "sources that give other last days, which the catalog doesn't use",
    "doubt": "a source that leaves open whether it is still sold; its date is the first such day: with an end, the day after it",
}


def read(row: Row, known: Mapping[str, Source]) -> Lifecycle:
    """Reads the lifecycle from the cells of `COLUMNS`, which name sources in `known`."""
    where = sources.WHERE
    lifecycle = Lifecycle(
        seen=row.one_of("seen", known, where),
        preview=row.yes("preview"),
        general=row.maybe("general", known, where),
        announced=row.maybe("announced", known, where),
        end=row.maybe("end", known, where),
        end_elsewhere=MappingProxyType(row.pairs("end_elsewhere", known, where)),
        also_given=row.several("also_given", known, where),
        doubt=row.maybe("doubt", known, where),
    )
    if lifecycle.general is not None and not lifecycle.preview:
        raise row.wrong("general", "an empty cell where preview is no")
    if lifecycle.announced is not None and lifecycle.end is None:
        raise row.wrong("announced", "an empty cell where end is empty")
    return lifecycle


def of_series(path: str) -> Mapping[str, Lifecycle]:
    """The lifecycle of each series in a service, from the file `path`, which is read at the first use."""
    table = Table(path, {"series": "a row of sizes/series.csv", **COLUMNS})
    return Keyed(lambda: {name: read(row, sources.named()) for name, row in tables.by_name(tables.read(table), "series").items()})


class Part(NamedTuple):
    """A part of a service that has dates of its own."""

    what: str  # in the user's words, in lower case
    fix: str  # what to do once it has ended
    instead: tuple[str, ...]
    lifecycle: Lifecycle


PARTS_TABLE = Table(
    tables.beside(__file__, "services/parts.csv"),
    {
        "part": "its name: the service, a dot, and the part",
        "what": "the part in the user's words, in lower case",
        "fix": "what to do once it has ended",
        "instead": "what takes its place, best first",
        **COLUMNS,
    },
)


def _parts() -> Iterator[tuple[str, Part]]:
    for name, row in tables.by_name(tables.read(PARTS_TABLE), "part").items():
        yield name, Part(row.filled("what"), row["fix"], row.texts("instead"), read(row, sources.named()))


PARTS: Mapping[str, Part] = Keyed(lambda: dict(_parts()))


def of_part(name: str, as_of: date, path: str, value: object, region: str = "") -> list[Problem]:
    """The problems of using that part of a service on that day."""
    part = PARTS[name]
    return check(part.lifecycle, part.what, as_of, path=path, value=value, region=region, fix=part.fix, instead=part.instead)
