"""The arrows between the rooms, and between the packages of the library, point one way: read from the syntax of each module."""

import ast
import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "components" / "azure_gpu"
# The importable package of each room, and what it may import of the project.
ROOMS = {
    "components": ("azure_gpu", set[str]()),
    "components/policy": ("azure_gpu_policies", {"azure_gpu.catalog", "azure_gpu.formats"}),
    "operations": ("azure_gpu_operations", {"azure_gpu"}),
    "localazure": ("localazure", {"azure_gpu.catalog", "azure_gpu.formats"}),
    "workloads": ("workloads", set[str]()),
    "engine": ("engine", set[str]()),
}
OURS = {package for package, _ in ROOMS.values()} | {"tests", "operations", "components"}
# The packages of the library from the bottom up: each may import those of the levels below it, and none of its own level.
LEVELS = (
    {"catalog"},
    {"formats"},
    {"shared"},
    {"foundation", "kubernetes"},
    {"images"},
    {"aks", "batch", "budget", "container_apps", "container_instances", "edge", "ml", "vm"},
    {"stack"},
    {"host"},
)
NO_PULUMI = ("components/azure_gpu/catalog", "components/azure_gpu/formats", "components/policy", "workloads")


def modules(folder: str) -> list[Path]:
    """Without the environment that `pulumi install` makes for the policy pack."""
    return sorted(each for each in (ROOT / folder).rglob("*.py") if not each.is_relative_to(ROOT / "components/policy/venv"))


def of_room(room: str) -> list[Path]:
    """Without those of a room that lies within it."""
    within = [ROOT / other for other in ROOMS if other.startswith(f"{room}/")]
    return [each for each in modules(room) if not any(each.is_relative_to(other) for other in within)]


@dataclass(frozen=True)
class Read:
    """What is asked of a module, so that it is parsed and walked once."""

    imports: list[ast.Import | ast.ImportFrom]
    attributes: list[tuple[str, str]]  # of a plain name: `pulumi.Config` is ("pulumi", "Config")
    docstring: str | None


@cache
def read(module: Path) -> Read:
    tree = ast.parse(module.read_text(encoding="utf-8"))
    found = Read([], [], ast.get_docstring(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.imports.append(node)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.attributes.append((node.value.id, node.attr))
    return found


@cache
def imports(module: Path) -> frozenset[str]:
    """Every module that is imported, by its full name; relative ones stay in their room."""
    return frozenset(_imports(read(module).imports))


def _imports(nodes: list[ast.Import | ast.ImportFrom]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif node.level == 0 and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_room_imports_only_from_the_rooms_it_may(room: str) -> None:
    own, allowed = ROOMS[room]
    wrong = {
        f"{module.relative_to(ROOT)} imports {name}"
        for module in of_room(room)
        for name in imports(module)
        if name.split(".")[0] in OURS and not any(is_within(name, each) for each in {own, *allowed})
        if "tests" not in module.relative_to(ROOT).parts[:-1] and module != ROOT / "operations" / "__main__.py"
    }
    assert wrong == set()


def test_no_rule_of_the_catalog_is_imported_by_the_embedded_azure() -> None:
    """Rules yield problems. What is known (tables, look-ups in them, days) is imported."""
    found = {
        f"{module.relative_to(ROOT)} uses {name}"
        for module in modules("localazure")
        for name, value in _of_catalog(read(module))
        if inspect.isfunction(value) and "Problem" in str(inspect.signature(value).return_annotation)
    }
    assert found == set()


def _of_catalog(module: Read) -> Iterator[tuple[str, object]]:
    """What a module imports from the catalog, and what it reads of the catalog's modules."""
    known: dict[str, object] = {}
    for node in module.imports:
        if isinstance(node, ast.ImportFrom) and is_within(node.module or "", "azure_gpu.catalog"):
            for alias in node.names:
                value = getattr(importlib.import_module(str(node.module)), alias.name, None)
                value = value if value is not None else importlib.import_module(f"{node.module}.{alias.name}")
                known[alias.asname or alias.name] = value
                yield f"{node.module}.{alias.name}", value
    for name, attribute in module.attributes:
        if inspect.ismodule(known.get(name)):
            yield f"{name}.{attribute}", getattr(known[name], attribute, None)


def test_every_package_of_the_library_has_a_level() -> None:
    assert sorted(each.name for each in LIBRARY.iterdir() if (each / "__init__.py").exists()) == sorted(set.union(*LEVELS))


@pytest.mark.parametrize("package", sorted(set.union(*LEVELS)))
def test_a_package_of_the_library_imports_only_from_the_levels_below(package: str) -> None:
    [level] = [index for index, packages in enumerate(LEVELS) if package in packages]
    below = set[str]().union(*LEVELS[:level])
    wrong = {
        f"{module.relative_to(LIBRARY)} imports {name}"
        for module in sorted((LIBRARY / package).rglob("*.py"))
        for name in imports(module)
        if is_within(name, "azure_gpu") and not any(is_within(name, f"azure_gpu.{each}") for each in {package, *below})
        if (package, name) not in {("host", "azure_gpu"), ("stack", "azure_gpu")}  # which lend and declare by public names
    }
    assert wrong == set()


def test_no_two_modules_of_the_library_import_each_other() -> None:
    """Not even for types: what both need is in a third."""
    names = {".".join(path.relative_to(LIBRARY.parent).with_suffix("").parts): path for path in sorted(LIBRARY.rglob("*.py"))}
    arrows = {
        (name, other)
        for name, path in names.items()
        for imported in imports(path)
        for other in (imported, imported.rpartition(".")[0])
        if other in names and other != name
    }
    assert sorted((one, other) for one, other in arrows if (other, one) in arrows and one < other) == []


@pytest.mark.parametrize("folder", NO_PULUMI)
def test_what_is_known_and_what_is_read_needs_no_pulumi(folder: str) -> None:
    wrong = {
        str(module.relative_to(ROOT))
        for module in modules(folder)
        if any(name.split(".")[0].startswith("pulumi") for name in imports(module))
    }
    assert wrong == set()


def test_the_configuration_is_read_at_two_places() -> None:
    readers = {
        str(module.relative_to(ROOT))
        for module in [ROOT / "__main__.py", *modules("components")]
        if ("pulumi", "Config") in read(module).attributes
    } | {
        str(module.relative_to(ROOT))
        for module in [ROOT / "__main__.py", *modules("components")]
        for name in imports(module)
        if name.startswith(("pulumi.runtime.config", "pulumi.config", "pulumi.Config"))
    }
    # A cluster that a program describes, a provider of another subscription, and reads of what azure-native has no function for
    # log in as the configuration lets the provider.
    logins = {f"components/azure_gpu/{each}.py" for each in ("aks/login", "shared/look_up", "shared/arm_reads")}
    assert readers == {"__main__.py", *logins}


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_every_module_says_what_it_is_for(room: str) -> None:
    silent = [str(module) for module in modules(room) if not read(module).docstring]
    assert silent == []
