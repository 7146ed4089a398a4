"""Modules of the embedded Azure that import each other in a circle, imports for types and those inside of functions included."""

from collections.abc import Iterable, Iterator, Mapping

from tests.test_rooms import ROOT, imports, modules

# A pod holds its containers, a container its pod.
POD = {f"localazure.kubernetes.agent.{each}" for each in ("container", "pod")}


def graph() -> dict[str, set[str]]:
    """Each module with those that it imports, and with the packages that these lie in and it doesn't."""
    names = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in modules("localazure")
    }
    return {
        name: {each for imported in imports(path) for each in _imported(imported, name, names)} - {name}
        for name, path in names.items()
    }


def _imported(imported: str, by: str, names: Iterable[str]) -> Iterator[str]:
    parts = imported.split(".")
    found = [each for length in range(1, len(parts) + 1) if (each := ".".join(parts[:length])) in names]
    yield from found[-1:]
    yield from (package for package in found[:-1] if not by.startswith(f"{package}."))


def knots(arrows: Mapping[str, set[str]]) -> list[set[str]]:
    """The groups of modules each of which leads to each other one."""
    reached = {name: _reached(name, arrows) for name in arrows}
    groups = {frozenset(other for other in reached[name] if name in reached[other]) for name in arrows}
    return [set(group) for group in groups if len(group) > 1]


def _reached(start: str, arrows: Mapping[str, set[str]]) -> set[str]:
    found, left = set[str](), [start]
    while left:
        new = arrows[left.pop()] - found
        found |= new
        left += new
    return found


def test_a_circle_is_found() -> None:
    assert knots({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [{"a", "b", "c"}]


def test_no_modules_of_the_embedded_azure_import_each_other_in_a_circle() -> None:
    assert knots(graph()) == [POD]


def test_only_the_server_and_what_is_written_of_all_types_import_the_composition_root() -> None:
    importers = {name for name, imported in graph().items() if "localazure.wiring" in imported}
    assert importers == {"localazure.server", "localazure.evidence.coverage", "localazure.evidence.shapes_file"}
