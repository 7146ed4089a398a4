"""Prices: what is known of them, from which day, and what it is worth.

`packaged()` is the book that comes with the project; `python -m operations prices refresh` renews its file.
"""

from functools import cache

from azure_gpu.catalog.prices import price_table
from azure_gpu.catalog.prices.price_book import STALE_DAYS, Price, PriceBook

__all__ = ["STALE_DAYS", "VM_PRICES", "Price", "PriceBook", "packaged"]

VM_PRICES = price_table.TABLE.path


@cache
def packaged() -> PriceBook:
    """The prices of virtual machines that come with the project. Their file is read at the first call."""
    return PriceBook.packaged()
