"""The client of the Retail Prices API, against a server in the API's form."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from azure_gpu_operations.catalog.changes import SourceError
from azure_gpu_operations.catalog.retail_prices import RetailPrices
from tests.support.retail_prices import SIX_ROWS, RetailPricesServer, row, t4

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
Faults = list[tuple[int, dict[str, str], str]]
D2S = "serviceName eq 'Virtual Machines' and armSkuName eq 'Standard_D2s_v3' and priceType eq 'Consumption'"


class Sleep:
    """Remembers for how long the client wanted to wait."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.pauses.append(seconds)


def client(server: RetailPricesServer, sleep: Sleep | None = None) -> RetailPrices:
    return RetailPrices(server.url, sleep=sleep or Sleep(), now=lambda: NOW)


def test_a_filter_brings_its_rows_with_exact_prices(server: RetailPricesServer) -> None:
    server.rows = [*SIX_ROWS, t4()]
    rows = client(server).rows(D2S)
    assert [one["retailPrice"] for one in rows] == [
        Decimal(text) for text in ("0.096", "0.018816", "0.019", "0.188", "0.036848", "0.075")
    ]
    assert server.asked == [{"api-version": "2023-01-01-preview", "$filter": D2S}]


def test_pages_are_followed_by_the_link_that_names_the_next(server: RetailPricesServer) -> None:
    server.rows, server.page_length = [row(meterId=str(number)) for number in range(7)], 3
    assert [one["meterId"] for one in client(server).rows(D2S)] == list("0123456")
    assert [asked.get("$skip") for asked in server.asked] == [None, "3", "6"]


@pytest.mark.parametrize("page_length", [100, 1000])
def test_a_full_page_without_a_link_is_followed_by_skipping_it(server: RetailPricesServer, page_length: int) -> None:
    server.rows = [row(meterId=str(number)) for number in range(page_length + 1)]
    server.page_length, server.names_the_next_page = page_length, False
    assert len(client(server).rows(D2S)) == page_length + 1
    assert [asked.get("$skip") for asked in server.asked] == [None, str(page_length)]


def test_a_page_that_is_not_full_and_names_no_other_is_the_last(server: RetailPricesServer) -> None:
    server.rows, server.names_the_next_page = [row()], False
    assert len(client(server).rows(D2S)) == 1
    assert len(server.asked) == 1


def test_a_link_that_leads_back_is_no_endless_loop(server: RetailPricesServer) -> None:
    server.rows, server.always_the_same_link = [row()], True
    with pytest.raises(SourceError, match="already read"):
        client(server).rows(D2S)
    assert len(server.asked) == 2


def test_a_link_to_another_server_is_not_followed(server: RetailPricesServer) -> None:
    server.rows, server.page_length = [row(), row()], 1
    server.next_page_host = "elsewhere.example"
    with pytest.raises(SourceError, match=r"another server: https://elsewhere\.example/"):
        client(server).rows(D2S)


@pytest.mark.parametrize(
    ("faults", "pauses"),
    [
        ([(429, {"Retry-After": "17"}, "slow down"), (429, {"Retry-After": "3"}, "slow down")], [17.0, 3.0]),
        ([(429, {"Retry-After": "Fri, 20 Nov 2026 12:00:45 GMT"}, "")], [45.0]),
        ([(500, {}, ""), (503, {}, ""), (502, {}, "")], [2.0, 4.0, 8.0]),
        ([(429, {"Retry-After": "100"}, ""), (500, {}, ""), (429, {"Retry-After": "soon"}, "")], [100.0, 4.0, 8.0]),
    ],
    ids=["as long as the server asks", "to a day and time", "growing", "one that was asked for doesn't lengthen the others"],
)
def test_what_fails_is_tried_again_after_a_pause(server: RetailPricesServer, faults: Faults, pauses: list[float]) -> None:
    server.rows, server.faults = [row()], faults
    sleep = Sleep()
    assert len(client(server, sleep).rows(D2S)) == 1
    assert sleep.pauses == pauses


@pytest.mark.parametrize(
    ("faults", "said", "asked"),
    [
        ([(429, {"Retry-After": "600"}, "slow down")], "asks to wait 600 seconds", 1),
        ([(500, {}, "broken")] * 9, "5 attempts; the last: HTTP 500: broken", 5),
        ([(400, {}, "Invalid OData parameters supplied")], "HTTP 400: Invalid OData", 1),
    ],
    ids=["minutes", "always", "refused"],
)
def test_a_server_that_asks_for_minutes_keeps_failing_or_refuses_is_left_alone(
    server: RetailPricesServer, faults: Faults, said: str, asked: int
) -> None:
    server.faults, sleep = faults, Sleep()
    with pytest.raises(SourceError, match=said):
        client(server, sleep).rows(D2S)
    assert (len(server.asked), len(sleep.pauses)) == (asked, asked - 1)


def test_a_server_that_cannot_be_reached_is_tried_again_and_named(server: RetailPricesServer) -> None:
    api = client(server, sleep := Sleep())
    server.is_reached = False
    with pytest.raises(SourceError, match=r"prices\.example.*no answer after 5 attempts.*ConnectionError"):
        api.rows(D2S)
    assert len(sleep.pauses) == 4


@pytest.mark.parametrize(
    "body", ["<html>", "[]", "{}", '{"Items": 3}', '{"Items": [1]}', '{"Items": [], "NextPageLink": 1}', "null"]
)
def test_an_answer_in_another_form_is_shown(server: RetailPricesServer, body: str) -> None:
    server.faults = [(200, {}, body)]
    with pytest.raises(SourceError, match="not an answer of the Retail Prices API"):
        client(server).rows(D2S)
