"""A client of Azure's public Retail Prices API, https://prices.azure.com/api/retail/prices. It needs no login.

It returns every row that an OData filter matches, over all pages. After a full page it requests the next one even if the API
doesn't name it, a known fault (Microsoft Learn Q&A 1188465, 2023-03-10). Throttling and server errors are retried, after the
pause that the server requests.
"""

import email.utils
import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import requests

API_VERSION = "2023-01-01-preview"
FULL_PAGES = (1000, 100)  # rows of a full page; 100 was the length until about 2023
ATTEMPTS = 5
FIRST_PAUSE_SECONDS = 2.0  # doubled at each attempt, unless the server requests another pause
LONGEST_PAUSE_SECONDS = 120.0  # a longer requested pause is an error
TIMEOUT_SECONDS = (10.0, 60.0)  # to connect, to answer
_RETRIED = {429, 500, 502, 503, 504}
_DEFAULT_PORTS = {"http": 80, "https": 443}

Row = dict[str, Any]


class RetailPricesError(Exception):
    """The API gave no usable answer. The text has the request and the answer."""


class RetailPrices:
    """One connection. Tests pass their own `sleep` and `now`."""

    def __init__(
        self,
        url: str,
        *,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._url = url
        self._sleep = sleep
        self._now = now
        self._session = requests.Session()

    def rows(self, filter_text: str) -> list[Row]:
        """Every row that the filter matches; numbers as Decimal. Raises RetailPricesError."""
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
        raise RetailPricesError(f"{filter_text}: the server's next page was already read")

    def _page(self, url: str, parameters: dict[str, str]) -> tuple[list[Row], str]:
        text = self._get(url, parameters)
        try:
            envelope: Any = json.loads(text, parse_float=Decimal, parse_int=Decimal)
            items, link = envelope["Items"], envelope.get("NextPageLink") or ""
            if not isinstance(items, list) or not all(isinstance(item, dict) for item in items) or not isinstance(link, str):
                raise TypeError
        except (ValueError, TypeError, KeyError, AttributeError):
            raise RetailPricesError(f"{url}: not an answer of the Retail Prices API: {text[:200]!r}") from None
        return items, link

    def _get(self, url: str, parameters: dict[str, str]) -> str:
        reason, requested_pause = "", 0.0
        for attempt in range(ATTEMPTS):
            if attempt:
                self._sleep(requested_pause or FIRST_PAUSE_SECONDS * 2 ** (attempt - 1))
            requested_pause = 0.0
            try:
                answer = self._session.get(url, params=parameters, timeout=TIMEOUT_SECONDS)
            except requests.RequestException as error:
                reason = f"{type(error).__name__}: {error}"
                continue
            if answer.status_code == 200:
                return answer.text
            reason = f"HTTP {answer.status_code}: {answer.text[:200]}"
            if answer.status_code not in _RETRIED:
                raise RetailPricesError(f"{answer.url}: {reason}")
            requested_pause = self._requested_pause(answer.headers.get("Retry-After", ""))
            if requested_pause > LONGEST_PAUSE_SECONDS:
                raise RetailPricesError(
                    f"{answer.url}: {reason}; the server asks to wait {requested_pause:.0f} seconds: retry then"
                )
        raise RetailPricesError(f"{url}: no answer after {ATTEMPTS} attempts; the last: {reason}")

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
            raise RetailPricesError(f"{self._url}: the next page is on another server: {link[:200]}")


def _server(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or _DEFAULT_PORTS.get(parts.scheme)
