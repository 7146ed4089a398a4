"""Hourly cost of nodes of pools, from the packaged list prices; None if unknown, as for every edge.

Prices of Windows nodes are unknown: the list prices don't include the licence.
"""

from decimal import Decimal

from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.prices.price_book import Price
from azure_gpu_operations.clusters.arm_facts import PoolFacts
from azure_gpu_operations.clusters.objects import NodeSeen


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


def node_price(node: NodeSeen) -> Price | None:
    if not node.size or not node.region:
        return None
    ordinary, spot = node_prices(node.size, node.region, is_windows=node.labels.get("kubernetes.io/os") == "windows")
    return spot if node.is_spot else ordinary


def pool_price(pool: PoolFacts, region: str) -> Price | None:
    """Of one of its nodes."""
    ordinary, spot = node_prices(pool.size, region, is_windows=pool.is_windows)
    return spot if pool.is_spot else ordinary
