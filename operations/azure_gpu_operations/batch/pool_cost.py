"""Hourly cost of a pool's nodes, from the packaged list prices; None if unknown.

Prices of Windows nodes are unknown: the list prices don't include the licence.
"""

from decimal import Decimal

from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.prices.price_book import Price


def node_prices(size: str, region: str, *, is_windows: bool) -> tuple[Price | None, Price | None]:
    """Of a dedicated node, and of a Spot node."""
    if is_windows:
        return None, None
    prices = packaged()
    return prices.on_demand(size, region), prices.spot(size, region)


def hourly(size: str, region: str, dedicated: int, spot: int, *, is_windows: bool) -> Decimal | None:
    """Cost of these nodes; None if a required price is unknown."""
    total = Decimal(0)
    for count, price in zip((dedicated, spot), node_prices(size, region, is_windows=is_windows), strict=True):
        if count and price is None:
            return None
        total += count * price.usd_hour if price else Decimal(0)
    return total
