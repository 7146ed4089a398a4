"""The data against itself: every fact has a source and a sane date, no row contradicts another, and every successor is one.

All tables are found by walking the catalog's modules, so that a new table is held to the same rules.
"""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from datetime import date

import pytest

from azure_gpu import catalog
from azure_gpu.catalog import sources as sources_table
from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.services.aks import sizes
from azure_gpu.catalog.services.batch import sizes as batch
from azure_gpu.catalog.services.machine_learning import compute as machine_learning, endpoints
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sources import Source
from azure_gpu.catalog.tables import Listed

MODULES = [importlib.import_module(module.name) for module in pkgutil.walk_packages(catalog.__path__, "azure_gpu.catalog.")]
SERIES = {size.series.name: size.series for size in SIZES}
FIRST_DAY = date(2015, 1, 1)  # older than every source; a date before it is a slip


def parts(value: object) -> Iterator[object]:
    """The value, and everything inside it."""
    yield value
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from parts(key)
            yield from parts(inner)
    elif isinstance(value, tuple | list | set | frozenset | Listed):
        for inner in value:
            yield from parts(inner)


def everything() -> Iterator[tuple[str, object]]:
    for module in MODULES:
        for name, value in vars(module).items():
            for part in parts(value):
                yield f"{module.__name__}.{name}", part
    for size in SIZES:
        for part in parts(size):
            yield f"catalog.sizes: {size.name}", part
    for key, source in sources_table.named().items():
        yield f"catalog/sources.csv: {key}", source


ALL = list(everything())


def test_every_source_says_where_and_has_a_sane_day() -> None:
    sources = [(where, part) for where, part in ALL if isinstance(part, Source)]
    assert sources
    wrong = [
        (where, part)
        for where, part in sources
        if not part.where.strip()
        or part.day < FIRST_DAY
        or (part.dated == "observed on" and part.day > date.today())  # nobody has read a page of tomorrow
    ]
    assert wrong == []


def test_no_lifecycle_ends_before_it_begins_or_is_announced_after_its_end() -> None:
    wrong = [
        (where, part)
        for where, part in ALL
        if isinstance(part, Lifecycle)
        and (
            (part.announced and not part.end)
            or (part.end and part.announced and part.announced.day < part.seen.day)
            or (part.end and any(later.day <= part.end.day for later in part.end_elsewhere.values()))
            or (part.end and part.seen.dated == "valid from" and part.end.day < part.seen.day)
            or (part.end and part.announced and part.announced.day > part.end.day)
            or (part.general and not part.preview)
            or (part.general and part.general.day < part.seen.day)
            or any(part.end and source.day == part.end.day for source in part.also_given)
        )
    ]
    assert wrong == []


@pytest.mark.parametrize("table", [batch.SERIES, machine_learning.COMPUTE_SERIES], ids=["batch", "machine-learning"])
def test_a_service_ends_no_series_after_the_machines_themselves(table: Mapping[str, Lifecycle]) -> None:
    late = {
        name: (lifecycle.end.day, SERIES[name].lifecycle.end)
        for name, lifecycle in table.items()
        if lifecycle.end is not None
        and name in SERIES
        and (machine_end := SERIES[name].lifecycle.end) is not None
        and lifecycle.end.day > machine_end.day
    }
    assert late == {}


@pytest.mark.parametrize(
    "table", [batch.SERIES, machine_learning.COMPUTE_SERIES, sizes.LISTED], ids=["batch", "machine-learning", "aks"]
)
def test_every_series_that_a_service_names_is_known(table: Mapping[str, object]) -> None:
    assert table.keys() - SERIES.keys() == set()


def test_every_size_that_managed_endpoints_list_is_known() -> None:
    assert [one.name for one in endpoints.MANAGED_SIZES if SIZES.find(one.name) is None] == []


def test_prices_are_positive_and_spot_is_never_dearer() -> None:
    book = packaged()
    for size in SIZES:
        for region in book.regions_of(size.name):
            price, spot = book.on_demand(size.name, region), book.spot(size.name, region)
            assert price is None or price.usd_hour > 0
            assert spot is None or spot.usd_hour > 0
            assert price is None or spot is None or spot.usd_hour <= price.usd_hour, (size.name, region)
