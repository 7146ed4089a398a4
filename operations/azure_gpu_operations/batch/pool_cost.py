"""What a pool's nodes cost an hour, by the prices that come with the project.

In: a pool's size and region. Out: list prices of a node, None where none is known. Windows costs a licence more, which the prices
of machines don't have.
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
    """Of so many nodes of each kind; None where a price that counts isn't known."""
    total = Decimal(0)
    for count, price in zip((dedicated, spot), node_prices(size, region, is_windows=is_windows), strict=True):
        if count and price is None:
            return None
        total += count * price.usd_hour if price else Decimal(0)
    return total
