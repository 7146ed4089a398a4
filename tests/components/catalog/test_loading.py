"""What comes with the catalog: every program that uses it waits for it. `make bench` measures how long."""

import pkgutil
import subprocess
import sys

import pytest

from azure_gpu import catalog
from azure_gpu.catalog import spelling
from azure_gpu.catalog.size_use import TAKES_SIZES, Service
from tests.support.embedded import CHECKOUT

_BEGINS = "azure_gpu.catalog."
# Whose modules hold the facts of each service.
_OF = {
    Service.VIRTUAL_MACHINES: ("services.virtual_machines",),
    Service.BATCH: ("services.batch",),
    Service.AKS: ("services.aks",),
    Service.ML_COMPUTE: ("services.machine_learning",),
    Service.ML_ENDPOINT: ("services.machine_learning",),
    Service.STACK_EDGE: ("services.stack_edge", "services.stack_edge_facts"),
    Service.CONTAINER_INSTANCES: ("services.container_instances", "services.container_apps"),  # which takes its place
    Service.CONTAINER_APPS: ("services.container_apps", "services.container_apps_requests"),
}
_BESIDE = ("services", "services.observed")  # what a service's rules may share
_ASKED = """
import sys
opened = []
sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == "open" else None)
from datetime import date
from azure_gpu.catalog import offers
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.size_use import Service, SizeUse
use = SizeUse(service=Service({service!r}), size="{size}", region="westeurope", path="size", region_path="region")
offers.check(use, date(2026, 11, 21), prices=packaged())
print(*sys.modules)
print(*(name.replace(chr(92), "/").rpartition("/")[2] for name in opened if name.endswith(".csv")))
"""
_TABLES_OF = {
    Service.BATCH: ["batch_series.csv"],
    Service.AKS: ["gpu_series.csv"],
    Service.ML_COMPUTE: ["compute_series.csv"],
    Service.ML_ENDPOINT: ["endpoint_sizes.csv"],
}
_TABLES = ["gpus.csv", "lifecycles.csv", "regions.csv", "series.csv", "sizes.csv", "sources.csv", "vm_prices.csv"]


def _after_asking(service: Service, size: str) -> tuple[set[str], list[str]]:
    """The catalog's modules that are loaded after one question about a size, and the tables that were read."""
    program = _ASKED.format(service=service.value, size=size)
    done = subprocess.run([sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    modules, tables = done.stdout.splitlines()
    return {name.removeprefix(_BEGINS) for name in modules.split() if name.startswith(_BEGINS)}, tables.split()


@pytest.mark.slow
@pytest.mark.parametrize("service", TAKES_SIZES)
def test_a_question_about_one_service_loads_the_facts_of_no_other(service: Service) -> None:
    modules, tables = _after_asking(service, "Standard_NC4as_T4_v3")
    of_services = {name for name in modules if name.startswith("services")}
    other = {name for name in of_services if not name.startswith(_OF[service]) and name not in _BESIDE}
    assert other == set()
    assert of_services & set(_OF[service])
    assert sorted(tables) == sorted([*_TABLES, *_TABLES_OF.get(service, [])])  # each once


@pytest.mark.slow
@pytest.mark.parametrize(
    ("service", "what"), [(Service.CONTAINER_INSTANCES, "K80"), (Service.CONTAINER_APPS, "Consumption-GPU-NC8as-T4")]
)
def test_a_service_that_takes_no_sizes_reads_no_sizes(service: Service, what: str) -> None:
    modules, tables = _after_asking(service, what)
    of_services = {name for name in modules if name.startswith("services.")}
    assert {name for name in of_services if not name.startswith(_OF[service]) and name not in _BESIDE} == set()
    assert "sizes.size_tables" not in modules
    assert "sizes.csv" not in tables


@pytest.mark.slow
def test_the_catalog_loads_none_of_the_standard_librarys_slow_modules() -> None:
    imports = "; ".join(f"import {module.name}" for module in pkgutil.walk_packages(catalog.__path__, _BEGINS))
    program = f"import sys; {imports}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "azure_gpu.catalog.services.batch.pools" in loaded
    assert loaded & {"dataclasses", "inspect", "difflib", "csv", "json", "argparse", "asyncio", "pathlib"} == set()


def test_the_nearest_names_come_best_first() -> None:
    known = ["westeurope", "northeurope", "westus", "eastasia"]
    assert spelling.nearest("westeurop", known, 1) == ("westeurope",)
    assert spelling.nearest("westeurop", known, 2) == ("westeurope", "westus")
    assert spelling.nearest("westeurop", known, 2, 0.9) == ("westeurope",)
    assert spelling.nearest("qqq", known, 2) == ()
