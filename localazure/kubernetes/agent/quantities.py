"""Amounts of resources as whole numbers: what the downward API tells, and what devices and memory are counted in."""

import math

from localazure.kubernetes.quantities import number


def whole(text: object) -> int:
    """Rounded up. ValueError where it isn't an amount."""
    return math.ceil(number(text))


def divided(text: object, divisor: object) -> int:
    """How often the divisor goes into the amount, rounded up; a divisor of 0 counts as 1."""
    return math.ceil(number(text) / (number(divisor) or 1))
