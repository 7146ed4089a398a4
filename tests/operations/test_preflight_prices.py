"""Prices in preflight and before `up`: Azure's of today where it is read, else the catalog's with its day."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from azure_gpu.catalog.prices import price_table
from azure_gpu.catalog.prices.price_book import PriceBook
from azure_gpu.catalog.prices.price_table import PriceRow
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.stack.inventory import Inventory
from azure_gpu_operations.azure import SignIn
from azure_gpu_operations.connection import Connection
from azure_gpu_operations.preflight import fetching, left_open, lists, online, prices
from azure_gpu_operations.preflight.fetching import Outcome
from tests.support.retail_prices import RetailPricesServer, t4

TODAY, READ = date(2026, 11, 21), date(2026, 6, 18)
USES = (
    SizeUse(Service.AKS, "nc4as_t4_v3", "eastus", "clusters.c.gpu_pools.t4.size", "location"),
    SizeUse(Service.BATCH, "Standard_NC4as_T4_v3", "eastus", "pools.p.size", "location", 2, spot=True),
)
AZURE = Connection("s")
BY_CATALOG = [
    ("clusters.c.gpu_pools.t4.size", "Standard_NC4as_T4_v3 in eastus: 0.5 USD/hour (list price of 2026-06-18)"),
    ("pools.p.size", "Standard_NC4as_T4_v3 as Spot in eastus: 0.1 USD/hour (list price of 2026-06-18)"),
]
BY_AZURE = [
    ("clusters.c.gpu_pools.t4.size", "Standard_NC4as_T4_v3 in eastus: 0.61 USD/hour (list price of 2026-11-21)"),
    ("pools.p.size", "Standard_NC4as_T4_v3 as Spot in eastus: 0.07 USD/hour (list price of 2026-11-21)"),
]


@pytest.fixture(autouse=True)
def _catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    row = PriceRow("Standard_NC4as_T4_v3", "eastus", Decimal("0.5"), Decimal("0.1"), READ, price_table.API)
    monkeypatch.setattr(prices, "packaged", lambda: PriceBook([row]))


def told(outcomes: dict[Any, Outcome[Any]]) -> list[tuple[str, str]]:
    return [(row.subject, row.message) for row in prices.rows(USES, outcomes, TODAY)]


def asked(server: RetailPricesServer) -> dict[Any, Outcome[Any]]:
    found = prices.readers(AZURE, USES, url=server.url, today=TODAY)
    return {key: Outcome(read()) for key, read in found.items()}


def test_azures_price_wins_over_the_catalogs(server: RetailPricesServer) -> None:
    server.rows = [
        t4(0.61),
        t4(0.07, skuName="NC4as T4 v3 Spot", meterName="NC4as T4 v3 Spot"),
        t4(9.9, armRegionName="westeurope"),
    ]
    assert told(asked(server)) == BY_AZURE
    assert len(server.asked) == 1, "one size in one region"


def test_without_an_answer_it_is_the_catalogs_price_with_its_day_and_nothing_is_tried_twice(server: RetailPricesServer) -> None:
    server.rows, server.faults = [t4(0.61)], [(503, {"Retry-After": "60"}, "busy")]
    assert told(asked(server)) == BY_CATALOG
    assert len(server.asked) == 1
    server.is_reached = False
    assert told(asked(server)) == BY_CATALOG
    late: Outcome[Any] = Outcome(missing="no answer within 10 seconds")
    assert told(dict.fromkeys(asked(server), late)) == BY_CATALOG


def test_the_list_is_of_azure_and_of_what_has_a_region() -> None:
    assert prices.readers(Connection("s", metadata_host="localhost:1"), USES) == {}
    edge = USES[0]._replace(service=Service.STACK_EDGE, region="")
    assert prices.readers(AZURE, [edge, USES[0]._replace(service=Service.CONTAINER_APPS)]) == {}


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Everything but the prices is answered; those are late."""

    def fetch(readers: dict[Any, Any], **_: Any) -> dict[Any, Outcome[Any]]:
        late = {key for key in readers if key.what is lists.ListKind.PRICES}
        assert late, "prices are asked together with the rest"
        return {key: Outcome(missing="no answer") if key in late else Outcome({}) for key in readers}

    for module in (online, fetching):
        monkeypatch.setattr(module, "fetch", fetch)
    monkeypatch.setattr(online, "reached", lambda _: SignIn("https://arm.example", "", None))
    return fetch


def test_late_prices_stop_no_up_and_leave_no_preflight_incomplete(
    alone: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "readers", lambda *_: {})
    for name in ("offers", "quota_rows", "registrations"):
        monkeypatch.setattr(f"azure_gpu_operations.preflight.answers.{name}", lambda *_: [])
    taken = Inventory(day=TODAY, location="eastus", uses=USES, assigns_roles=False)
    found = online.ask(AZURE, taken)
    assert [(row.subject, row.message) for row in found.rows if row.check == "price"] == BY_CATALOG
    assert found.missing == {}
    assert [name for name in found.seconds if name.startswith("prices")] == [], "not among the lists that were read"
    unread, lines = list[str](), list[str]()
    assert left_open.settled(taken, AZURE, taken, unread.append, lines.append) == ()
    assert (unread, lines) == ([], [": ".join(each) for each in BY_CATALOG])
