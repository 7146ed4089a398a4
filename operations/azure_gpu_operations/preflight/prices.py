"""What a machine costs: Azure's price of today where it is read in time, else the catalog's, each with its day.

The price list needs no login. It is asked once and not waited for: a price stops nothing, and makes no answer incomplete.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, NamedTuple

from azure_gpu.catalog.prices import Price, packaged, price_table
from azure_gpu.catalog.size_use import TAKES_SIZES, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.lookup import normalise
from azure_gpu_operations.catalog import retail_prices
from azure_gpu_operations.catalog.changes import SourceError
from azure_gpu_operations.catalog.command import PUBLIC_URL
from azure_gpu_operations.catalog.prices import machines_filter
from azure_gpu_operations.catalog.retail_prices import Choice, RetailPrices
from azure_gpu_operations.connection import Connection
from azure_gpu_operations.preflight.fetching import Outcome
from azure_gpu_operations.preflight.lists import ListKey, ListKind
from azure_gpu_operations.preflight.rows import Answer, Row

_TIMEOUT_SECONDS = (3.0, 7.0)  # to connect, to answer


class Asked(NamedTuple):
    """The prices of a size in a region on a day."""

    day: date
    on_demand: Choice
    spot: Choice


def readers(
    connection: Connection, uses: Iterable[SizeUse], *, url: str = PUBLIC_URL, today: date | None = None
) -> Mapping[ListKey, Callable[[], Any]]:
    """One for each size in a region; none for an Azure at an address of its own, which the list isn't of."""
    if connection.metadata_host:
        return {}
    day = today or datetime.now(UTC).date()
    return {_key(use): partial(_asked, url, use, day) for use in uses if use.service in TAKES_SIZES and use.region}


def rows(uses: Iterable[SizeUse], outcomes: Mapping[ListKey, Outcome[Any]], as_of: date) -> Iterator[Row]:
    """One for each use with a price that is known."""
    for use in uses:
        if (outcome := outcomes.get(_key(use))) is None:
            continue
        price = _of_today(use, outcome.value) or (packaged().spot if use.spot else packaged().on_demand)(use.size, use.region)
        if price is not None:
            kind = " as Spot" if use.spot else ""
            yield Row(use.path, "price", Answer.OK, f"{_name(use)}{kind} in {use.region}: {price.text(as_of)}")


def _key(use: SizeUse) -> ListKey:
    return ListKey(ListKind.PRICES, f"{use.region} of {_name(use)}")


def _name(use: SizeUse) -> str:
    """As Azure spells it: the price list is case-sensitive."""
    size = SIZES.find(use.size)
    return size.name if size is not None else normalise(use.size)


def _asked(url: str, use: SizeUse, day: date) -> Asked | None:
    """None where the list doesn't answer."""
    api = RetailPrices(url, attempts=1, timeout=_TIMEOUT_SECONDS)
    try:
        found = api.rows(f"{machines_filter(_name(use))} and armRegionName eq '{use.region}'")
    except SourceError:
        return None
    finally:
        api.close()
    return Asked(day, retail_prices.on_demand(found, day), retail_prices.spot(found, day))


def _of_today(use: SizeUse, asked: Asked | None) -> Price | None:
    choice = None if asked is None else asked.spot if use.spot else asked.on_demand
    if asked is None or choice is None or choice.price is None:
        return None
    return Price(choice.price, asked.day, price_table.SOURCES[price_table.API])
