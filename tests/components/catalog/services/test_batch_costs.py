"""What a Batch pool costs an hour."""

from datetime import date
from decimal import Decimal

from azure_gpu.catalog.prices import PriceBook, packaged
from azure_gpu.catalog.prices.hourly_cost import HourlyCost, Machines, of_machines
from azure_gpu.catalog.prices.price_table import HEADER, read

DAY = date(2026, 6, 18)
BOOK = PriceBook(
    read(f"{HEADER}\nStandard_NC4as_T4_v3,eastus,0.526,0.1,2026-06-18,api\nStandard_NC8as_T4_v3,eastus,0.752,,2026-06-18,api\n")
)


def hourly(size: str, region: str, dedicated: int, spot: int, book: PriceBook) -> HourlyCost:
    return of_machines((Machines(size, dedicated), Machines(size, spot, spot=True)), region, book)


def test_all_nodes_are_paid_for_each_kind_at_its_price() -> None:
    cost = hourly("Standard_NC4as_T4_v3", "East US", 2, 3, BOOK)
    assert cost.usd_hour == Decimal("1.352")
    assert cost.unknown == ()
    assert cost.text(DAY) == "1.352 USD/hour (list price of 2026-06-18)"


def test_no_nodes_cost_nothing() -> None:
    cost = hourly("Standard_NC4as_T4_v3", "eastus", 0, 0, BOOK)
    assert (cost.usd_hour, cost.text(DAY)) == (Decimal(0), "0 USD/hour")
    assert hourly("Standard_Unheard_Of", "eastus", 0, 0, BOOK).usd_hour == Decimal(0)


def test_an_unknown_price_stays_unknown_with_its_name() -> None:
    cost = hourly("Standard_NC8as_T4_v3", "eastus", 1, 1, BOOK)
    assert cost.usd_hour is None
    assert cost.unknown == ("Spot Standard_NC8as_T4_v3 in eastus",)
    assert cost.text(DAY) == "not known: no price of Spot Standard_NC8as_T4_v3 in eastus"
    assert hourly("Standard_NC8as_T4_v3", "eastus", 1, 0, BOOK).usd_hour == Decimal("0.752")
    assert hourly("Standard_NC4as_T4_v3", "westus", 1, 0, BOOK).usd_hour is None


def test_the_prices_that_come_along_know_a_t4_in_eastus() -> None:
    assert hourly("NC4as_T4_v3", "eastus", 2, 0, packaged()).usd_hour == Decimal("1.052")
