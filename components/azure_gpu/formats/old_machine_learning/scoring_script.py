"""Reads a scoring script for version 1 of the SDK: the names and forms in it that differ today."""

import ast
from collections.abc import Iterator

from azure_gpu.catalog.services.machine_learning.old_settings import SCORING_CALLS
from azure_gpu.formats.old_machine_learning.project import ScoringScript, Setting

_RAW = "azureml.contrib.services.aml_request"


def read(tree: ast.Module, file: str) -> ScoringScript:
    """Its imports and calls."""
    imports = dict(_imports(tree))
    calls: list[Setting] = []
    for module, line in imports.items():
        if module in SCORING_CALLS:
            calls.append(Setting(f"{file}:{line}: {module}", module, "", SCORING_CALLS[module]))
    aliases = dict(_aliases(tree))
    for node in ast.walk(tree):
        name = _dotted(node.func, aliases) if isinstance(node, ast.Call) else ""
        if name in SCORING_CALLS and isinstance(node, ast.Call):
            calls.append(Setting(f"{file}:{node.lineno}: {name}", name, "", SCORING_CALLS[name]))
    return ScoringScript(file, _RAW in imports, tuple(calls))


def _imports(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, node.lineno


def _aliases(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """`tf` is tensorflow."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name, alias.name) for alias in node.names)


def _dotted(node: ast.expr, aliases: dict[str, str]) -> str:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([aliases.get(node.id, node.id), *reversed(names)])
