"""Prices with their dates and sources.

`packaged()` has the prices that come with the project; `python -m operations catalog refresh` updates their file.
"""

from functools import cache

from azure_gpu.catalog.prices import price_table
from azure_gpu.catalog.prices.price_book import Price, PriceBook

__all__ = ["VM_PRICES", "Price", "PriceBook", "packaged"]

VM_PRICES = price_table.TABLE.path


@cache
def packaged() -> PriceBook:
    """The prices of virtual machines that come with the project. Their file is read at the first call."""
    return PriceBook.packaged()
