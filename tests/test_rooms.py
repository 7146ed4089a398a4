"""The arrows between the rooms point one way: what each room's modules import, read from their syntax."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {
    "catalog": set[str](),
    "formats": {"catalog"},
    "components": {"catalog", "formats"},
    "operations": {"catalog", "formats"},
    "localazure": {"catalog", "formats"},
    "workloads": set[str](),
    "engine": set[str](),
}
ROOMS = set(MAY_IMPORT) | {"tests"}
NO_PULUMI = {"catalog", "formats", "workloads"}


def modules(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


def imports(module: Path) -> Iterator[str]:
    """Every module that is imported, by its full name; relative ones stay in their room."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def parts_of(name: str) -> str:
    return name.split(".", 1)[0]


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_a_room_imports_only_from_the_rooms_it_may(room: str) -> None:
    allowed = MAY_IMPORT[room] | {room}
    wrong = {
        f"{module.relative_to(ROOT)} imports {name}"
        for module in modules(room)
        for name in imports(module)
        if parts_of(name) in ROOMS - allowed and "tests" not in module.relative_to(ROOT).parts[:-1]
    }
    assert wrong == set()


@pytest.mark.parametrize("room", sorted(NO_PULUMI))
def test_what_is_known_and_what_is_read_needs_no_pulumi(room: str) -> None:
    wrong = {
        str(module.relative_to(ROOT))
        for module in modules(room)
        if any(parts_of(name).startswith("pulumi") for name in imports(module))
    }
    assert wrong == set()


def test_the_configuration_is_read_by_the_program_alone() -> None:
    readers = {
        str(module.relative_to(ROOT))
        for module in [ROOT / "__main__.py", *modules("components")]
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and node.attr == "Config"
        and isinstance(node.value, ast.Name)
        and node.value.id == "pulumi"
    } | {
        str(module.relative_to(ROOT))
        for module in [ROOT / "__main__.py", *modules("components")]
        for name in imports(module)
        if name.startswith(("pulumi.runtime.config", "pulumi.config", "pulumi.Config"))
    }
    assert readers == {"__main__.py"}


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_every_module_says_what_it_is_for(room: str) -> None:
    silent = [str(module) for module in modules(room) if not ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))]
    assert silent == []


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_no_module_is_longer_than_400_lines(room: str) -> None:
    long = [str(module) for module in modules(room) if len(module.read_text(encoding="utf-8").splitlines()) > 400]
    assert long == []
