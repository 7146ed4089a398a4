"""Kubernetes' quantities, such as 3860m, 4Gi or 129886128Ki, as numbers.

A `Fraction` in whole units (cores, bytes, pieces), exact; rounded up for the downward API, devices and limits of memory.
Source: k8s.io/apimachinery v0.36.2, pkg/api/resource/quantity.go.
"""

import math
import re
from fractions import Fraction

_FACTORS = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{unit: Fraction(1000**power) for power, unit in enumerate(("", "k", "M", "G", "T", "P", "E"))},
    **{f"{unit}i": Fraction(1024**power) for power, unit in enumerate("KMGTPE", start=1)},
}
_FORM = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:[eE]([+-]?[0-9]+)|([numkMGTPE]|[KMGTPE]i)?)")


def number(quantity: object) -> Fraction:
    """ValueError for what isn't a quantity."""
    match = _FORM.fullmatch(str(quantity).strip())
    if match is None:
        raise ValueError(f"{str(quantity)!r} is no quantity")
    exponent = Fraction(10) ** int(match[2]) if match[2] else 1
    return Fraction(match[1].rstrip(".")) * exponent * _FACTORS[match[3] or ""]


def whole(text: object) -> int:
    """Rounded up. ValueError where it isn't an amount."""
    return math.ceil(number(text))


def divided(text: object, divisor: object) -> int:
    """How often the divisor goes into the amount, rounded up; a divisor of 0 counts as 1."""
    return math.ceil(number(text) / (number(divisor) or 1))
