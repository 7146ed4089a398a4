"""The maximum price of a Spot machine: a valid number, or the problem."""

from decimal import Decimal, InvalidOperation

from azure_gpu.catalog import refusals
from azure_gpu.catalog.problems import Problem

ANY_PRICE = -1  # up to the price of an ordinary machine
DECIMALS = 5


def is_possible(price: float) -> bool:
    """-1, or more than 0 with at most five decimals."""
    try:
        amount = Decimal(str(price)).normalize()
    except InvalidOperation:
        return False
    exponent = amount.as_tuple().exponent
    if not isinstance(exponent, int):  # infinite, or no number
        return False
    return amount == ANY_PRICE or (amount > 0 and exponent >= -DECIMALS)


def refused(path: str, price: float, source: object = "") -> Problem:
    return refusals.refused("spot.bad_price", path, price, source=source, decimals=DECIMALS)
