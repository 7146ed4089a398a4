"""Hourly list price of a cluster's node; None if unknown, as for every edge. Pure."""

from azure_gpu.catalog.prices.price_book import Price
from azure_gpu_operations.batch.pool_cost import node_prices
from azure_gpu_operations.clusters.arm_facts import PoolFacts
from azure_gpu_operations.clusters.objects import NodeSeen


def node_price(node: NodeSeen) -> Price | None:
    if not node.size or not node.region:
        return None
    ordinary, spot = node_prices(node.size, node.region, is_windows=node.labels.get("kubernetes.io/os") == "windows")
    return spot if node.is_spot else ordinary


def pool_price(pool: PoolFacts, region: str) -> Price | None:
    """Of one of its nodes."""
    ordinary, spot = node_prices(pool.size, region, is_windows=pool.is_windows)
    return spot if pool.is_spot else ordinary
