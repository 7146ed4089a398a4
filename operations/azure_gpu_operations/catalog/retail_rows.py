"""Picks from the rows of the Retail Prices API the price of a Linux machine, of its Spot kind, and of a serverless GPU.

One VM size has rows for Linux and Windows, on demand, Spot and Low Priority, and sometimes one of the former Cloud Services,
under one name. Sources: Microsoft Learn, "Azure Retail Prices overview"; rows recorded in public repositories, 2026.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from azure_gpu.catalog.prices.container_apps import Meter

Row = dict[str, Any]

_SECONDS_OF_UNIT = {"1 second": 1, "1 gib second": 1, "1 hour": 3600, "1 gib hour": 3600}


@dataclass(frozen=True, slots=True)
class Choice:
    """The price, or why there is none: `ambiguous` lists the rows that differ, and is empty if no row matched."""

    price: Decimal | None = None
    ambiguous: str = ""


def on_demand(rows: Iterable[Row], today: date) -> Choice:
    """The price of the Linux machine on demand among the rows of one size and region."""
    return _newest((row["retailPrice"], row) for row in rows if _is_linux_machine(row, today) and not _is_interruptible(row))


def spot(rows: Iterable[Row], today: date) -> Choice:
    """The price of the Linux machine on Spot among the rows of one size and region."""
    spot_rows = (row for row in rows if _is_linux_machine(row, today) and _text(row, "skuName").endswith(" Spot"))
    return _newest((row["retailPrice"], row) for row in spot_rows)


def per_second(rows: Iterable[Row], meter: Meter, today: date) -> Choice:
    """What one unit of a Container Apps meter costs for a second, among the rows of one region."""
    meter_rows = (row for row in rows if _is_current(row, today) and _meter(row) is meter)
    return _newest(
        (row["retailPrice"] / _SECONDS_OF_UNIT[unit], row)
        for row in meter_rows
        if (unit := _text(row, "unitOfMeasure").lower()) in _SECONDS_OF_UNIT
    )


def _is_current(row: Row, today: date) -> bool:
    """Whether the row is a price in USD in force today. A free grant is a row with the price 0."""
    price = row.get("retailPrice")
    return (
        _text(row, "type") == "Consumption"
        and _text(row, "currencyCode") == "USD"
        and not _text(row, "effectiveEndDate")
        and _text(row, "effectiveStartDate")[:10] <= today.isoformat()
        and isinstance(price, Decimal)
        and price.is_finite()
        and price > 0
    )


def _is_linux_machine(row: Row, today: date) -> bool:
    product = _text(row, "productName")
    return (
        _is_current(row, today)
        and _text(row, "unitOfMeasure") == "1 Hour"
        and product != ""
        and "Windows" not in product
        and not product.endswith(" Win")
        and not any(other in product.replace(" ", "") for other in ("CloudServices", "DedicatedHost"))
    )


def _is_interruptible(row: Row) -> bool:
    return any(kind in _text(row, name) for kind in ("Spot", "Low Priority") for name in ("skuName", "meterName"))


def _meter(row: Row) -> Meter | None:
    """The meter of a consumption plan by its name, such as `Standard NC T4 v3 GPU Usage`; None for any other meter."""
    name = _text(row, "meterName")
    if _text(row, "skuName") != "Standard" or "Dedicated" in name or "Idle" in name:
        return None
    if "GPU" in name:
        found = [meter for meter in (Meter.T4, Meter.A100) if meter.value in name.split()]
        return found[0] if len(found) == 1 else None
    if "Active" in name:
        return Meter.VCPU if "vCPU" in name else Meter.MEMORY if "Memory" in name else None
    return None


def _newest(candidates: Iterable[tuple[Decimal, Row]]) -> Choice:
    """The price that started last. Different prices that started on the same day are ambiguous."""
    by_day: dict[str, list[tuple[Decimal, Row]]] = {}
    for price, row in candidates:
        by_day.setdefault(_text(row, "effectiveStartDate")[:10], []).append((price, row))
    last = max(by_day, default="")
    newest = by_day.get(last, [])
    if len({price for price, _ in newest}) > 1:
        described = sorted(f"{_text(row, 'productName')} / {_text(row, 'meterName')} {row['retailPrice']}" for _, row in newest)
        return Choice(ambiguous=f"{len(newest)} rows from {last}: {'; '.join(described)}")
    return Choice(newest[0][0] if newest else None)


def _text(row: Row, name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""
