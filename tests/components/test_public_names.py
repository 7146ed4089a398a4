"""The names of the package `azure_gpu`: all there, each loaded when it is asked for, and what loading them costs."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Unpack, get_args, get_overloads, get_type_hints

import pytest

import azure_gpu
from azure_gpu.formats.parts import PARTS
from azure_gpu.stack import component_reference

ROOT = Path(__file__).parents[2]
MOST_CPU_SECONDS = 0.05  # of `import azure_gpu`, above `import pulumi`
ATTEMPTS = 5

# The processor time of one import after another, in a Python that has loaded Pulumi already.
MEASURE = """
import sys, time
import pulumi
before = time.process_time()
exec(sys.argv[1])
print(time.process_time() - before)
"""
PRINT_PULUMI = """
import importlib, pkgutil, sys
import azure_gpu, azure_gpu.catalog
azure_gpu.__version__
for module in pkgutil.walk_packages(azure_gpu.catalog.__path__, "azure_gpu.catalog."):
    importlib.import_module(module.name)
print("catalog modules:", sum(name.startswith("azure_gpu.catalog.") for name in sys.modules))
print(*sorted(name for name in sys.modules if name.split(".")[0].startswith("pulumi")))
"""


def printed(*arguments: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", *arguments], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def cpu_seconds(statement: str) -> float:
    return float(printed(MEASURE, statement)[-1])


def test_the_public_names_are_the_components_and_their_arguments() -> None:
    components = component_reference.found()
    of_components = [name for each in components for name in (each.name, f"{each.name}Args")]
    assert sorted(azure_gpu.__all__) == sorted([*of_components, "Refused"])
    assert [getattr(azure_gpu, each.name) for each in components] == [each.of for each in components]
    assert {each.name for each in components} == {part.component for part in PARTS}
    for page, end in (("components/README.md", "```sh"), ("docs/architecture.md", "\n## Packages")):
        listed = set(re.findall(r"\w+", (ROOT / page).read_text(encoding="utf-8").partition(end)[0]))
        assert {each.name for each in components} - listed == set(), page


@pytest.mark.parametrize("name", [name for name in azure_gpu.__all__ if not name.endswith("Args") and name != "Refused"])
def test_the_arguments_of_a_component_are_its_constructors(name: str) -> None:
    component, args = getattr(azure_gpu, name), getattr(azure_gpu, f"{name}Args")
    as_object, as_keywords = (get_type_hints(form) for form in get_overloads(component.__init__))
    assert component.args_type is args
    assert args in get_args(as_object["args"])
    assert as_keywords["kw"] == Unpack[args]


def test_a_name_that_is_not_there_is_an_attribute_error_and_all_others_are_listed() -> None:
    with pytest.raises(AttributeError, match="module 'azure_gpu' has no attribute 'GpuClustr'"):
        # pyrefly: ignore[missing-attribute]
        _ = azure_gpu.GpuClustr
    assert {*azure_gpu.__all__, "__version__"} <= set(dir(azure_gpu))


@pytest.mark.slow
def test_the_package_and_its_catalog_load_without_pulumi() -> None:
    modules, loaded = printed(PRINT_PULUMI)
    assert int(modules.removeprefix("catalog modules:")) > 20
    assert loaded == ""


@pytest.mark.slow
def test_importing_the_package_takes_little_beside_pulumi() -> None:
    """One of several processes is enough: what the machine does beside them only adds to it."""
    assert any(cpu_seconds("import azure_gpu") <= MOST_CPU_SECONDS for _ in range(ATTEMPTS))
