"""What the catalog costs: loading all of it, and checking many resources against it.

Loading is the import of every module below `catalog/` and the reading of both price files, in a fresh interpreter whose bytecode
is there already. It is measured twice: with all that it needs of the standard library, and after that was imported.

The checks go through every size in turn, the retired ones with the search for their successors included, and through the services
that run sizes. The time that the engine takes to preview as many resources comes from the same run.
"""

import os
import pkgutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from itertools import cycle, islice

from azure_gpu import catalog
from azure_gpu.catalog import offers
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.size_use import TAKES_SIZES, SizeUse
from azure_gpu.catalog.sizes import SIZES
from tests.support.embedded import CHECKOUT

AS_OF = date(2026, 11, 21)
_MODULES = [module.name for module in pkgutil.walk_packages(catalog.__path__, "azure_gpu.catalog.")]
_LOADING = """
import sys, time
{before}
there = set(sys.modules)
began = time.process_time()
{modules}
catalog.prices.packaged()
catalog.prices.container_apps.packaged_meters()
print(time.process_time() - began)
print(*(name for name in sys.modules if name not in there and name.partition(".")[0] in sys.stdlib_module_names))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """Medians."""

    load_cpu_ms: float  # with the standard library's modules
    load_own_cpu_ms: float  # without them
    check_seconds: float  # all `checked` resources together
    checked: int


def measure(count: int, rounds: int) -> Catalog:
    _, standard = _load()  # the first compiles the modules, which Python then keeps
    loads = [(_load()[0], _load(standard)[0]) for _ in range(rounds)]  # in turn, so that what the machine does meets both alike
    checks = [_check(count) for _ in range(rounds)]
    whole, own = (statistics.median(seconds) * 1000 for seconds in zip(*loads, strict=True))
    return Catalog(load_cpu_ms=whole, load_own_cpu_ms=own, check_seconds=statistics.median(checks), checked=count)


def _load(before: Iterable[str] = ()) -> tuple[float, list[str]]:
    """CPU seconds of loading the catalog after these modules, and the standard library's modules that came with it."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    program = _LOADING.format(before=_imports(before), modules=_imports(_MODULES))
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=True)
    seconds, standard = done.stdout.splitlines()
    return float(seconds), standard.split()


def _imports(modules: Iterable[str]) -> str:
    return "\n".join(f"import {module}" for module in modules)


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
