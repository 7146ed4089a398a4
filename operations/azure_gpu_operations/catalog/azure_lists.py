"""Reads, with a login, what Azure lists: locations, VM sizes, AKS versions, workload profiles, sizes of Batch and Azure ML.

Only names are kept, as a subscription's quotas and restrictions are its own.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from azure_gpu.catalog import listed, regions
from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.listed import Azure, Reading
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sources import Source
from azure_gpu_operations.azure import SignIn
from azure_gpu_operations.catalog.changes import Change, Refreshed, What
from azure_gpu_operations.preflight import lists
from azure_gpu_operations.preflight.fetching import fetch

_LIMIT_SECONDS = 600.0
_WORDS = frozenset(size.name.lower() for size in SIZES)  # other sizes have no row in the catalog


def refresh(login: SignIn, subscription: str, only: Iterable[str], today: date, folder: Mapping[str, Path]) -> Refreshed:
    """The lists of these regions; none means all of the subscription's. A list that can't be read stays as it is."""
    result = Refreshed()
    path = folder.get(listed.TABLE.name, Path(listed.TABLE.path))
    try:
        old = listed.read(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        result.failed[path.name] = str(error)
        return result
    first: Mapping[tuple[Azure, str], Callable[[], Any]] = {("locations", ""): partial(lists.locations, login, subscription)}
    new = _read(first, today, result)
    places = [*only] or sorted(new["locations", ""].names if new else ())
    new |= _read(lists.of_regions(login, subscription, places), today, result)
    result.changes += [change for key, reading in new.items() for change in _changes(key, old.get(key), reading)]
    after = listed.write({**old, **new})
    if new and after != path.read_text(encoding="utf-8"):
        result.texts[path] = after
    return result


def _read(
    readers: Mapping[tuple[Azure, str], Callable[[], Any]], today: date, result: Refreshed
) -> dict[tuple[Azure, str], Reading]:
    found: dict[tuple[Azure, str], Reading] = {}
    for (what, place), outcome in fetch(readers, limit_seconds=_LIMIT_SECONDS).items():
        where = f"Azure's list of {what}{f' in {place}' if place else ''}"
        names = frozenset(str(name).lower() for name in outcome.value or ())
        kept = names & _WORDS if what in ("VM sizes", "VM sizes of Batch", "VM sizes of Azure Machine Learning") else names
        if outcome.value is None or not names:
            result.failed[where] = outcome.missing or "the list is empty"
        elif kept:
            found[what, place] = Reading(kept, Source(where, "observed on", today))
    return found


def _changes(key: tuple[Azure, str], old: Reading | None, new: Reading) -> Iterator[Change]:
    what, place = key
    source, before = str(new.source), old.names if old is not None else frozenset[str]()
    where = f" in {place}" if place else ""
    for name in sorted(new.names - before):
        yield Change(What.NEW, f"{what}{where}: {name}", "", "listed", source)
    for name in sorted(before - new.names):
        yield Change(What.GONE, f"{what}{where}: {name}", "listed", "", source)
    for name in sorted(new.names) if what == "VM sizes" else ():
        size = SIZES.find(name)
        if size is not None and size.lifecycle.status(new.source.day, regions.normalise(place)) is Status.RETIRED:
            end = size.lifecycle.end_in(place)
            yield Change(What.CONTRADICTS, f"end of {size.name}{where}", end.day.isoformat() if end else "", "listed", source)
