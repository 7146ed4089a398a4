"""What comes with the catalog: every program that uses it waits for it. `make bench` measures how long."""

import pkgutil
import subprocess
import sys

import pytest

from azure_gpu import catalog
from azure_gpu.catalog import spelling
from tests.support.embedded import CHECKOUT

_BEGINS = "azure_gpu.catalog."


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
