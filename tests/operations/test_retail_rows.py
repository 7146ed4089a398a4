"""Which rows of the Retail Prices API are taken for a price. The rows are those that public repositories recorded."""

from datetime import date
from decimal import Decimal
from typing import Any, get_args

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog.prices.container_apps import Meter
from azure_gpu_operations.catalog import retail_prices
from tests.support.retail_prices import EAST_US_METERS, SIX_ROWS, decimals, meter, row, t4

TODAY = date(2026, 11, 20)


def test_the_linux_price_and_the_spot_price_are_found_among_six_rows() -> None:
    rows = decimals(SIX_ROWS)
    assert retail_prices.on_demand(rows, TODAY).price == Decimal("0.096")
    assert retail_prices.spot(rows, TODAY).price == Decimal("0.018816")


def test_a_windows_product_that_ends_in_win_is_not_linux() -> None:
    product, name = "Virtual Machines NCCadsv5 Srs", {"skuName": "NCC40adsH100v5", "meterName": "NCC40adsH100v5"}
    spot = row(productName=product, skuName="NCC40adsH100v5 Spot", meterName="x", retailPrice=1.419034)
    windows = row(productName=f"{product} Win", retailPrice=8.82, **name)
    rows = decimals([windows, row(productName=product, retailPrice=6.98, **name), spot])
    assert retail_prices.on_demand(rows, TODAY).price == Decimal("6.98")
    assert retail_prices.spot(rows, TODAY).price == Decimal("1.419034")


def test_a_product_may_be_named_in_another_way() -> None:
    a100 = {"productName": "NCads A100 v4 Series Linux", "skuName": "Standard_NC24ads_A100_v4", "meterName": "NC24ads_A100_v4"}
    assert retail_prices.on_demand(decimals([row(retailPrice=3.673, **a100)]), TODAY).price == Decimal("3.673")


@pytest.mark.parametrize(
    "changed",
    [
        {"type": "Reservation"},
        {"type": "DevTestConsumption"},
        {"currencyCode": "EUR"},
        {"unitOfMeasure": "1/Month"},
        {"effectiveEndDate": "2026-10-31T23:59:00Z"},
        {"effectiveStartDate": "2026-12-01T00:00:00Z"},
        {"retailPrice": 0},
        {"meterName": "NC4as T4 v3 Low Priority"},
        {"meterName": "NC4as T4 v3 Spot"},
        {"productName": "NCasT4 v3 Series CloudServices"},
        {"productName": "NCasT4 v3 Series Cloud Services"},
        {"productName": None},
        {"retailPrice": None},
    ],
)
def test_what_is_no_price_of_a_linux_machine_on_demand_is_passed_over(changed: dict[str, Any]) -> None:
    assert retail_prices.on_demand(decimals([t4(9.99, **changed), t4()]), TODAY).price == Decimal("0.526")


def test_no_row_is_no_price_and_never_0() -> None:
    for choose in (retail_prices.on_demand, retail_prices.spot):
        choice = choose([], TODAY)
        assert (choice.price, choice.ambiguous) == (None, "")


def test_of_several_rows_the_one_that_began_last_counts() -> None:
    rows = decimals([t4(0.6, effectiveStartDate="2020-01-01T00:00:00Z"), t4(0.5, effectiveStartDate="2026-01-01T00:00:00Z")])
    assert retail_prices.on_demand(rows, TODAY).price == Decimal("0.5")


def test_rows_that_began_together_and_differ_are_left_out_and_named() -> None:
    choice = retail_prices.on_demand(decimals([t4(0.6), t4(0.5, productName="Another")]), TODAY)
    assert choice.price is None
    assert "Another / NC4as T4 v3 0.5" in choice.ambiguous
    assert retail_prices.on_demand(decimals([t4(0.5), t4(0.5, productName="Another")]), TODAY).price == Decimal("0.5")


def test_the_meters_of_container_apps_are_told_apart() -> None:
    rows = decimals(EAST_US_METERS)
    found = {one: retail_prices.per_second(rows, one, TODAY).price for one in get_args(Meter)}
    assert {one: str(price) for one, price in found.items()} == {
        "vcpu": "0.000024",
        "memory": "0.000003",
        "T4": "0.000073",
        "A100": "0.000529",
    }


def test_a_meter_by_the_hour_is_brought_to_seconds() -> None:
    rows = decimals([meter("Standard NC T4 v3 GPU Usage", 0.36, "1 Hour")])
    assert retail_prices.per_second(rows, "T4", TODAY).price == Decimal("0.0001")


@pytest.mark.parametrize("unit", ["1M", "100 Hours", ""])
def test_a_meter_in_an_unknown_unit_is_not_known(unit: str) -> None:
    rows = decimals([meter("Standard NC T4 v3 GPU Usage", 0.36, unit)])
    assert retail_prices.per_second(rows, "T4", TODAY).price is None


def test_two_t4_meters_that_differ_are_left_out_and_named() -> None:
    rows = decimals([meter("Standard NC T4 v3 GPU Usage", 0.0001), meter("Standard NC T4 v4 GPU Usage", 0.0002)])
    choice = retail_prices.per_second(rows, "T4", TODAY)
    assert choice.price is None
    assert "Standard NC T4 v4 GPU Usage" in choice.ambiguous


_ODD = st.one_of(st.none(), st.text(max_size=8), st.decimals(), st.integers(), st.lists(st.integers(), max_size=1))


@given(st.lists(st.dictionaries(st.sampled_from(sorted(row())), _ODD), max_size=4))
def test_odd_rows_never_raise_and_never_give_a_price_of_0(changes: list[dict[str, Any]]) -> None:
    rows = [{**decimals([t4()])[0], **changed} for changed in changes]
    for choice in (
        retail_prices.on_demand(rows, TODAY),
        retail_prices.spot(rows, TODAY),
        retail_prices.per_second(rows, "T4", TODAY),
    ):
        assert choice.price is None or choice.price > 0
