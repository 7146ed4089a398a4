"""Azure's public Retail Prices API, https://prices.azure.com/api/retail/prices: a client that needs no login, and the price of
a Linux machine, of its Spot kind, and of a serverless GPU among its rows.

It returns every row that an OData filter matches, over all pages. After a full page it requests the next one even if the API
doesn't name it, a known fault (Microsoft Learn Q&A 1188465, 2023-03-10). Throttling and server errors are retried, after the
pause that the server requests.

One VM size has rows for Linux and Windows, on demand, Spot and Low Priority, and sometimes one of the former Cloud Services,
under one name. Sources: Microsoft Learn, "Azure Retail Prices overview"; rows recorded in public repositories, 2026.
"""

import email.utils
import json
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import requests

from azure_gpu.catalog.prices.container_apps import Meter
from azure_gpu_operations.catalog.changes import SourceError

API_VERSION = "2023-01-01-preview"
FULL_PAGES = (1000, 100)  # rows of a full page; 100 was the length until about 2023
ATTEMPTS = 5
FIRST_PAUSE_SECONDS = 2.0  # doubled at each attempt, unless the server requests another pause
LONGEST_PAUSE_SECONDS = 120.0  # a longer requested pause is an error
TIMEOUT_SECONDS = (10.0, 60.0)  # to connect, to answer
_RETRIED = {429, 500, 502, 503, 504}
_DEFAULT_PORTS = {"http": 80, "https": 443}

Row = dict[str, Any]


class RetailPrices:
    """One connection. Tests pass their own `sleep` and `now`."""

    def __init__(
        self,
        url: str,
        *,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        attempts: int = ATTEMPTS,
        timeout: tuple[float, float] = TIMEOUT_SECONDS,
    ) -> None:
        self._url, self._attempts, self._timeout = url, attempts, timeout
        self._sleep = sleep
        self._now = now
        self._session = requests.Session()

    def rows(self, filter_text: str) -> list[Row]:
        """Every row that the filter matches; numbers as Decimal. Raises SourceError."""
        return [row for page in self._pages(filter_text) for row in page]

    def close(self) -> None:
        self._session.close()

    def _pages(self, filter_text: str) -> Iterator[list[Row]]:
        first = {"api-version": API_VERSION, "$filter": filter_text}
        url, parameters = self._url, first
        received = 0
        requested: set[tuple[str, str]] = set()
        while (url, parameters.get("$skip", "")) not in requested:
            requested.add((url, parameters.get("$skip", "")))
            page, link = self._page(url, parameters)
            yield page
            received += len(page)
            if link:
                self._check_host(link)
                url, parameters = link, {}
            elif len(page) in FULL_PAGES:
                url, parameters = self._url, {**first, "$skip": str(received)}
            else:
                return
        raise SourceError(f"{filter_text}: the server's next page was already read")

    def _page(self, url: str, parameters: dict[str, str]) -> tuple[list[Row], str]:
        text = self._get(url, parameters)
        try:
            envelope: Any = json.loads(text, parse_float=Decimal, parse_int=Decimal)
            items, link = envelope["Items"], envelope.get("NextPageLink") or ""
            if not isinstance(items, list) or not all(isinstance(item, dict) for item in items) or not isinstance(link, str):
                raise TypeError
        except (ValueError, TypeError, KeyError, AttributeError):
            raise SourceError(f"{url}: not an answer of the Retail Prices API: {text[:200]!r}") from None
        return items, link

    def _get(self, url: str, parameters: dict[str, str]) -> str:
        reason, requested_pause = "", 0.0
        for attempt in range(self._attempts):
            if attempt:
                self._sleep(requested_pause or FIRST_PAUSE_SECONDS * 2 ** (attempt - 1))
            requested_pause = 0.0
            try:
                answer = self._session.get(url, params=parameters, timeout=self._timeout)
            except requests.RequestException as error:
                reason = f"{type(error).__name__}: {error}"
                continue
            if answer.status_code == 200:
                return answer.text
            reason = f"HTTP {answer.status_code}: {answer.text[:200]}"
            if answer.status_code not in _RETRIED:
                raise SourceError(f"{answer.url}: {reason}")
            requested_pause = self._requested_pause(answer.headers.get("Retry-After", ""))
            if requested_pause > LONGEST_PAUSE_SECONDS:
                raise SourceError(f"{answer.url}: {reason}; the server asks to wait {requested_pause:.0f} seconds: retry then")
        raise SourceError(f"{url}: no answer after {self._attempts} attempts; the last: {reason}")

    def _requested_pause(self, retry_after: str) -> float:
        """The header's seconds, or the seconds until its date. 0 if it has neither."""
        if retry_after.isascii() and retry_after.isdigit():
            return float(retry_after)
        try:
            moment = email.utils.parsedate_to_datetime(retry_after)
        except ValueError:
            return 0.0
        return max((moment.astimezone(UTC) - self._now()).total_seconds(), 0.0)

    def _check_host(self, link: str) -> None:
        """Rejects a link to another server."""
        if _server(link) != _server(self._url):
            raise SourceError(f"{self._url}: the next page is on another server: {link[:200]}")


def _server(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or _DEFAULT_PORTS.get(parts.scheme)


_SECONDS_OF_UNIT = {"1 second": 1, "1 gib second": 1, "1 hour": 3600, "1 gib hour": 3600}


class Choice(NamedTuple):
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
    meter_rows = (row for row in rows if _is_current(row, today) and _meter(row) == meter)
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
        found: list[Meter] = [meter for meter in ("T4", "A100") if meter in name.split()]
        return found[0] if len(found) == 1 else None
    if "Active" in name:
        return "vcpu" if "vCPU" in name else "memory" if "Memory" in name else None
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
