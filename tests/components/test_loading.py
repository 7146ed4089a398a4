"""What loading the components costs: no service of azure-native before a stack declares something of it."""

import subprocess
import sys

import pytest

# Each is a package of many modules, and loads one of them, `_inputs`, with whatever else it needs.
PRINT_LOADED = """
import pkgutil, sys, azure_gpu
for module in pkgutil.walk_packages(azure_gpu.__path__, "azure_gpu."):
    __import__(module.name)
print(*sorted({name.split(".")[1] for name in sys.modules if name.startswith("pulumi_azure_native.") and name.count(".") == 2}))
"""


@pytest.mark.slow
def test_the_components_load_without_any_service_of_the_provider() -> None:
    done = subprocess.run([sys.executable, "-c", PRINT_LOADED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
