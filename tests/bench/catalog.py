"""What the catalog costs: loading all of it or what one service needs, and checking many resources against it.

Loading all is the import of every module below `catalog/` and the reading of sizes and prices. What one service needs is what a
question about a size in it loads and reads; how much more the rest of its modules take is measured, too. All of it happens in
fresh interpreters whose bytecode is there already. The whole is measured twice: with all that it needs of the standard library,
and after that was imported.

The checks go through every size in turn, the retired ones with the search for their successors included, and through the services
that run sizes. The time that the engine takes to preview as many resources comes from the same run.
"""

import os
import pkgutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from datetime import date
from itertools import cycle, islice

from azure_gpu import catalog
from azure_gpu.catalog import offers
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.size_use import TAKES_SIZES, Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from tests.bench.results import Bench, Limit
from tests.support.embedded import CHECKOUT

LOAD_CPU_MS, SERVICE_CPU_MS = Limit("at most", 50), Limit("at most", 25)
ROUNDS = 9
AS_OF = date(2026, 11, 21)
_MODULES = [module.name for module in pkgutil.walk_packages(catalog.__path__, "azure_gpu.catalog.")]
# Of each service its modules, and what it sells: a size, or what stands in its place.
_SERVICES = {
    Service.VIRTUAL_MACHINES: (("virtual_machines", "machines", "vm_image", "driver_extension"), "Standard_NC4as_T4_v3"),
    Service.BATCH: (("batch",), "Standard_NC4as_T4_v3"),
    Service.AKS: (("aks",), "Standard_NC4as_T4_v3"),
    Service.ML_COMPUTE: (("machine_learning",), "Standard_NC4as_T4_v3"),
    Service.STACK_EDGE: (("stack_edge",), "Standard_NC4as_T4_v3"),
    Service.CONTAINER_INSTANCES: (("container_instances",), "K80"),
    Service.CONTAINER_APPS: (("container_apps",), "Consumption-GPU-NC8as-T4"),
}
_WHOLE = """
from azure_gpu import catalog
tuple(catalog.sizes.SIZES)
catalog.prices.packaged()
catalog.prices.container_apps.packaged_meters()
"""
_QUESTION = """
from datetime import date
from azure_gpu.catalog import offers
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.size_use import Service, SizeUse
use = SizeUse(service=Service({service!r}), size={size!r}, region="westeurope", path="size", region_path="region")
offers.check(use, date(2026, 11, 21), prices=packaged())
"""
_LOADING = """
import sys, time
{before}
there = set(sys.modules)
began = time.process_time()
{work}
print(time.process_time() - began)
print(*(name for name in sys.modules if name not in there and name.partition(".")[0] in sys.stdlib_module_names))
"""


def measure(bench: Bench, count: int) -> float:
    """Seconds that checking `count` resources takes."""
    whole = _imports(_MODULES) + _WHOLE
    questions = {service.value: _question(service) for service in _SERVICES}
    modules = {service.value: _of_service(service) + _question(service) for service in _SERVICES}
    _, standard = _load(whole)  # the first compiles the modules, which Python then keeps
    # In turn, so that what the machine does meets all alike.
    loads = [
        (
            _load(whole)[0],
            _load(whole, standard)[0],
            {name: _load(work)[0] for name, work in questions.items()},
            {name: _load(work)[0] for name, work in modules.items()},
        )
        for _ in range(ROUNDS)
    ]
    everything, own = _median_ms(load[0] for load in loads), _median_ms(load[1] for load in loads)
    services = {name: _median_ms(load[2][name] for load in loads) for name in questions}
    with_modules = {name: _median_ms(load[3][name] for load in loads) for name in modules}
    checks = statistics.median(_check(count) for _ in range(ROUNDS))
    found = {"load_cpu_ms": everything, "load_own_cpu_ms": own, "service_cpu_ms": services, "modules_cpu_ms": with_modules}
    bench.figures["catalog"] = found | {"check_seconds": checks, "checked": count}
    bench.say(f"loading the whole catalog beyond the standard library's modules, CPU in ms: {own:.4g}")
    bench.say(f"loading what one service needs, and one answer, CPU in ms: {_each(services)}")
    bench.say(f"the same with every module of the service, CPU in ms: {_each(with_modules)}")
    bench.hold("loading what the slowest service needs, CPU in ms", SERVICE_CPU_MS, max(services.values()))
    bench.hold("loading the whole catalog with the standard library, CPU in ms", LOAD_CPU_MS, everything)
    return checks


def _each(spent: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {each:.3g}" for name, each in spent.items())


def _median_ms(seconds: Iterable[float]) -> float:
    return statistics.median(seconds) * 1000


def _of_service(service: Service) -> str:
    """The program that loads every module of the service."""
    names, _ = _SERVICES[service]
    begins = tuple(f"azure_gpu.catalog.services.{name}" for name in names)
    return _imports(module for module in _MODULES if module.startswith(begins))


def _question(service: Service) -> str:
    """The program that asks the service one question about a size."""
    _, size = _SERVICES[service]
    return _QUESTION.format(service=service.value, size=size)


def _load(work: str, before: Iterable[str] = ()) -> tuple[float, list[str]]:
    """CPU seconds of some work after these modules, and the standard library's modules that came with it."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    program = _LOADING.format(before=_imports(before), work=work)
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
