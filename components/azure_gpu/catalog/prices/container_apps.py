"""What a serverless GPU of Container Apps costs: its meters per second, by region.

In: the text of a CSV file, one row a meter and region. Out: `MeterPrices`, which adds the meters of a replica up to a price per
hour. A replica with a GPU is billed for the GPU, its vCPUs and its memory, each per second at the active rate. Where one of the
three is not known, nothing is.
"""

from collections.abc import Iterable, Iterator
from datetime import date
from decimal import Decimal
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import NamedTuple

from azure_gpu.catalog import regions
from azure_gpu.catalog.facts import Fact
from azure_gpu.catalog.prices import price_table
from azure_gpu.catalog.prices.price_book import Price
from azure_gpu.catalog.prices.price_table import API, day_from, plain, price_from
from azure_gpu.catalog.sources import Dated, Source

METER_PRICES = Path(__file__).with_name("container_apps_prices.csv")
HEADER = "meter,region,usd_second,as_of,source"
SOURCES: dict[str, str] = {
    "gludd": (
        "sandboxcom/gludd, docs/research/AZURE_TERRAFORM_EVENT_ELASTICITY_E2E_EVIDENCE.md at 33c65336, "
        "which reports a query of Azure's Retail Prices API for East US"
    ),
    API: price_table.SOURCES[API],
}

_BILLING = Source("Microsoft Learn, articles/container-apps/billing.md", Dated.OBSERVED, date(2025, 12, 9))
FACTS = (
    Fact(
        "Container Apps, how a GPU is billed", "per second, beside vCPU-seconds and GiB-seconds; never at the idle rate", _BILLING
    ),
    Fact(
        "Container Apps, free grant a month",
        "180,000 vCPU-seconds and 360,000 GiB-seconds a subscription; no GPU-seconds",
        _BILLING,
    ),
)

_SECONDS_PER_HOUR = 3600


class Meter(StrEnum):
    """What is metered, each by the second."""

    VCPU = "vcpu"  # one vCPU
    MEMORY = "memory"  # one GiB
    T4 = "T4"  # one GPU
    A100 = "A100"  # one GPU


class MeterRow(NamedTuple):
    """What one unit of a meter costs for a second."""

    meter: Meter
    region: str
    usd_second: Decimal
    day: date  # on which the price was read
    source: str  # a key of SOURCES


class MeterPrices:
    """Meters by region: of each the newest price."""

    def __init__(self, rows: Iterable[MeterRow]) -> None:
        self._newest: dict[tuple[Meter, str], MeterRow] = {}
        for row in sorted(rows, key=lambda row: row.day):
            self._newest[row.meter, row.region] = row

    def per_second(self, meter: Meter, region: str) -> MeterRow | None:
        """The newest price of one unit of a meter; None where none is known."""
        return self._newest.get((meter, regions.normalise(region)))

    def hourly_cost(self, vcpus: Decimal, memory_gib: Decimal, gpu: Meter, region: str) -> Price | None:
        """What one running replica costs per hour: its GPU, vCPUs and memory. None where one of the meters is not known.

        The day is that of the oldest of the three.
        """
        found = [self.per_second(meter, region) for meter in (gpu, Meter.VCPU, Meter.MEMORY)]
        known = [row for row in found if row is not None]
        if len(known) != len(found):
            return None
        amounts = (Decimal(1), vcpus, memory_gib)
        usd_second = sum((row.usd_second * amount for row, amount in zip(known, amounts, strict=True)), Decimal(0))
        sources = dict.fromkeys(SOURCES[row.source] for row in known)
        return Price(usd_second * _SECONDS_PER_HOUR, min(row.day for row in known), "; ".join(sources))


def read(text: str) -> list[MeterRow]:
    """The rows of a file. ValueError names the line and the value where one is malformed."""
    lines = text.splitlines()
    if not lines or lines[0] != HEADER:
        raise ValueError(f"line 1: the header is {lines[0] if lines else ''!r}, expected {HEADER!r}")
    return list(_rows(lines[1:]))


def write(rows: Iterable[MeterRow]) -> str:
    """The file's text, sorted by region, meter and source."""
    ordered = sorted(rows, key=lambda row: (row.region, row.meter, row.source))
    lines = (",".join((row.meter, row.region, plain(row.usd_second), row.day.isoformat(), row.source)) for row in ordered)
    return "".join(f"{line}\n" for line in (HEADER, *lines))


@cache
def packaged_meters() -> MeterPrices:
    """The meters that come with the project. Their file is read at the first call."""
    return MeterPrices(read(METER_PRICES.read_text(encoding="utf-8")))


def _rows(lines: list[str]) -> Iterator[MeterRow]:
    for number, line in enumerate(lines, start=2):
        fields = line.split(",")
        if len(fields) != 5:
            raise ValueError(f"line {number}: {line!r} has {len(fields)} fields, expected 5: {HEADER}")
        meter, region, usd_second, as_of, source = fields
        if meter not in list(Meter):
            raise ValueError(f"line {number}: meter is {meter!r}, expected one of {', '.join(Meter)}")
        if source not in SOURCES:
            raise ValueError(f"line {number}: source is {source!r}, expected one of {', '.join(SOURCES)}")
        price = price_from(usd_second, number, "usd_second")
        if price is None:
            raise ValueError(f"line {number}: {line!r} has no price; leave out what is not known")
        yield MeterRow(Meter(meter), region, price, day_from(as_of, number), source)
