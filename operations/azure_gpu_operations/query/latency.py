"""Latency percentiles of many requests, by nearest rank, so that each is a measured value. Pure."""

import math
from collections.abc import Sequence
from typing import NamedTuple

PERCENTILES = (50, 90, 99)


class Latency(NamedTuple):
    """In seconds."""

    requests: int
    least: float
    p50: float
    p90: float
    p99: float
    most: float


def latency(seconds: Sequence[float]) -> Latency | None:
    """None without values."""
    if not seconds:
        return None
    ordered = sorted(seconds)
    p50, p90, p99 = (_rank(ordered, each) for each in PERCENTILES)
    return Latency(len(ordered), ordered[0], p50, p90, p99, ordered[-1])


def _rank(ordered: Sequence[float], percentile: int) -> float:
    return ordered[max(0, math.ceil(percentile / 100 * len(ordered)) - 1)]
