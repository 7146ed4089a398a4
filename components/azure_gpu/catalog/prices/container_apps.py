"""The price of a serverless GPU of Container Apps: its meters per second, by region.

The prices are a CSV file with one row per meter and region; `MeterPrices` sums a replica's meters to a price per hour. A replica
with a GPU is billed for the GPU, its vCPUs and its memory, each per second at the active rate; if one of the three is unknown, so
is the price. Where only an upper limit is known, a row's source says so: it is in no price, but in what a replica costs at most.
"""

from collections.abc import Iterable, Iterator
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Literal, NamedTuple, get_args

from azure_gpu.catalog import regions, tables
from azure_gpu.catalog.prices import price_table
from azure_gpu.catalog.prices.price_book import Price
from azure_gpu.catalog.prices.price_table import API, plain, price_of
from azure_gpu.catalog.tables import Table

TABLE = Table(
    tables.beside(__file__, "container_apps_prices.csv"),
    {
        "meter": "what is metered",
        "region": "as ARM spells it: westeurope",
        "usd_second": "USD for one unit for a second",
        "as_of": "the day on which the price was read",
        "source": "the price list",
    },
)
METER_PRICES = TABLE.path
HEADER = ",".join(TABLE.columns)
SOURCES: dict[str, str] = {
    "gludd": (
        "sandboxcom/gludd, docs/research/AZURE_TERRAFORM_EVENT_ELASTICITY_E2E_EVIDENCE.md at 33c65336, "
        "which reports a query of Azure's Retail Prices API for East US"
    ),
    "nabiz": (
        "muratcan-ates/istanbul-nabiz, docs/deploy.md at 367a3834, "
        "which reports a query of Azure's Retail Prices API for West Europe"
    ),
    "doc-ai": (
        "bscheucher/doc-ai, src/docs/SELF_HOSTED_MODEL_ON_AZURE.md at 3ce5d629: a query of Azure's Retail Prices API "
        "for West Europe answered 0.0001 EUR, rounded to four digits, so at most 0.00015 EUR; assumed: a euro is at most 1.25 USD"
    ),
    API: price_table.SOURCES[API],
}
_LIMITS = frozenset({"doc-ai"})  # sources of upper limits, which are no prices


_SECONDS_PER_HOUR = 3600


Meter = Literal[
    "vcpu",  # one vCPU
    "memory",  # one GiB
    "T4",  # one GPU
    "A100",  # one GPU
]
"""What is metered, each by the second."""


class MeterRow(NamedTuple):
    """What one unit of a meter costs for a second."""

    meter: Meter
    region: str
    usd_second: Decimal
    day: date  # on which the price was read
    source: str  # a key of SOURCES


class MeterPrices:
    """Meters by region, with the newest price of each."""

    def __init__(self, rows: Iterable[MeterRow]) -> None:
        self._newest: dict[tuple[str, str], MeterRow] = {}
        self._limits: dict[tuple[str, str], MeterRow] = {}
        for row in sorted(rows, key=lambda row: row.day):
            (self._limits if row.source in _LIMITS else self._newest)[row.meter, row.region] = row

    def per_second(self, meter: str, region: str, *, at_most: bool = False) -> MeterRow | None:
        """The newest price of one unit of a meter; None if unknown. `at_most`: without one, its upper limit."""
        place = (meter, regions.normalise(region))
        return self._newest.get(place) or (self._limits.get(place) if at_most else None)

    def hourly_cost(self, vcpus: Decimal, memory_gib: Decimal, gpu: str, region: str, *, at_most: bool = False) -> Price | None:
        """What one running replica costs per hour: its GPU, vCPUs and memory. None if one of the meters is unknown. `at_most`:
        with the upper limits of meters without a price.

        The day is that of the oldest of the three.
        """
        found = [self.per_second(meter, region, at_most=at_most) for meter in (gpu, "vcpu", "memory")]
        known = [row for row in found if row is not None]
        if len(known) != len(found):
            return None
        amounts = (Decimal(1), vcpus, memory_gib)
        usd_second = sum((row.usd_second * amount for row, amount in zip(known, amounts, strict=True)), Decimal(0))
        sources = dict.fromkeys(SOURCES[row.source] for row in known)
        return Price(usd_second * _SECONDS_PER_HOUR, min(row.day for row in known), "; ".join(sources))


def read(text: str, path: str = TABLE.path) -> list[MeterRow]:
    """The rows of a file. Raises TableError for an invalid row."""
    return list(_rows(text, path))


def write(rows: Iterable[MeterRow]) -> str:
    """The file's text, sorted by region, meter and source."""
    ordered = sorted(rows, key=lambda row: (row.region, row.meter, row.source))
    lines = (",".join((row.meter, row.region, plain(row.usd_second), row.day.isoformat(), row.source)) for row in ordered)
    return "".join(f"{line}\n" for line in (HEADER, *lines))


@cache
def packaged_meters() -> MeterPrices:
    """The meters that come with the project. Their file is read at the first call."""
    return MeterPrices(read(tables.text_of(METER_PRICES)))


def _rows(text: str, path: str) -> Iterator[MeterRow]:
    for row in tables.rows(TABLE._replace(path=path), text):
        row.one_of("source", SOURCES)
        price = price_of(row, "usd_second")
        if price is None:
            raise row.wrong("usd_second", "a price; remove the row if it is unknown")
        yield MeterRow(row.one_of("meter", get_args(Meter)), row.filled("region"), price, row.day("as_of"), row["source"])
