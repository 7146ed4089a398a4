"""What the catalog costs: loading all of it, and checking many resources against it.

The checks go through every size in turn, the retired ones with the search for their successors included, and through the services
that run sizes. The time that the engine takes to preview as many resources comes from the same run.
"""

import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import date
from itertools import cycle, islice

from catalog import offers
from catalog.prices import packaged
from catalog.size_use import TAKES_SIZES, SizeUse
from catalog.sizes import SIZES
from tests.support.embedded import CHECKOUT

AS_OF = date(2026, 11, 21)
_LOADING = """
import time
began = time.process_time()
import catalog.offers, catalog.search
from catalog.prices import packaged
packaged()
print(time.process_time() - began)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """Medians. `load_cpu_ms` is of a fresh interpreter."""

    load_cpu_ms: float
    check_seconds: float  # all `checked` resources together
    checked: int


def measure(count: int, rounds: int) -> Catalog:
    _load()  # the first compiles the modules, which Python then keeps
    loads = [_load() for _ in range(rounds)]
    checks = [_check(count) for _ in range(rounds)]
    return Catalog(load_cpu_ms=statistics.median(loads) * 1000, check_seconds=statistics.median(checks), checked=count)


def _load() -> float:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", _LOADING]
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def _check(count: int) -> float:
    prices = packaged()
    uses = [
        SizeUse(
            service=service,
            size=size.name,
            region="westeurope",
            operating_system=offers.only_system(size),
            path=f"pools.pool{number}.size",
            region_path="location",
        )
        for number, (size, service) in enumerate(islice(zip(cycle(SIZES), cycle(TAKES_SIZES), strict=False), count))
    ]
    began = time.perf_counter()
    refused = sum(bool(offers.check(use, AS_OF, prices=prices)) for use in uses)
    spent = time.perf_counter() - began
    if not refused:
        raise RuntimeError("none of the uses was refused, though the sizes begin with retired ones: nothing was checked")
    return spent
