"""Resource Manager's throttling: a bucket of requests for each subscription and kind of operation, refilled every second.

Sizes and rates: Microsoft Learn, azure-resource-manager/management/request-limits-and-throttling, read 2026-11-24.
"""

import math
from typing import NamedTuple

from localazure.arm.errors import refused
from localazure.services import Services


class _Bucket(NamedTuple):
    size: int
    per_second: int


_READS, _WRITES = _Bucket(250, 25), _Bucket(200, 10)
_BUCKETS = {"GET": ("reads", _READS), "HEAD": ("reads", _READS), "DELETE": ("deletes", _WRITES)}


def check(method: str, subscription: str, services: Services) -> None:
    """Takes one request out of its bucket. ArmError 429 where that is empty."""
    weather = services.weather
    if not weather.holds("throttling"):
        return
    what, bucket = _BUCKETS.get(method, ("writes", _WRITES))
    now, key = services.clock.now(), (subscription, what)
    left, since = weather.allowances.get(key, (float(bucket.size), now))
    left = min(float(bucket.size), left + (now - since).total_seconds() * bucket.per_second)
    if left < 1:
        weather.allowances[key] = (left, now)
        wait = max(1, math.ceil((1 - left) / bucket.per_second))
        error = refused("throttled", subscription=subscription, method=method, what=what, wait=wait)
        error.headers["Retry-After"] = str(wait)
        raise error
    weather.allowances[key] = (left - 1, now)
