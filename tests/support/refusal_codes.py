"""Every error code that the embedded Azure can answer, by the service that answers it: read from its modules and its rows.

A code is what stands in the place of a parameter named `code`: of an error's class, or of a function that makes one. A name there
is looked up where it was given its value: in the function, in the module, or in the module that it is imported from.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from localazure import evidence

ROOT = Path(__file__).parents[2] / "localazure"
_CODE = re.compile(r"[A-Z][A-Za-z_]{3,}")
_PLACES = ("code", "error_code")
# Whose errors aren't Azure's: the provider plugins, the commands, and the path that makes faults.
_NOT_AZURE = ("plugin", "kubernetes_plugin", "fault.py", "faults.py")


class Found(NamedTuple):
    service: str
    code: str
    module: str  # below localazure
    line: int


@cache
def all_of() -> list[Found]:
    of_sentences = (Found(each.service, each.code, "evidence/sentences.tsv", 0) for each in evidence.sentences().values())
    return [*(each for path in sorted(ROOT.rglob("*.py")) for each in _of_module(path)), *_of_types(), *of_sentences]


def _of_types() -> Iterator[Found]:
    """Of the table of types, whose errors are lists of status, code and words."""
    for arm_type, row in evidence.types().items():
        namespace = arm_type.partition("/")[0]
        errors = [each for name, each in row.items() if name.endswith("_error") or name == "globally_unique"]
        for _, code, *_ in errors:
            known = (namespace, code) in evidence.codes()
            yield Found(namespace if known else "Azure Resource Manager", code, "evidence/types.toml", 0)


def _of_module(path: Path) -> Iterator[Found]:
    module = path.relative_to(ROOT).as_posix()
    if module.split("/")[0] in _NOT_AZURE:
        return
    service = _service_of(module)
    tree = _tree(path)
    for function in _functions(tree):
        for call in _calls(function):
            for node in _arguments(call):
                for code in _codes(node, function, path):
                    yield Found(service, code, module, call.lineno)


def _service_of(module: str) -> str:
    """The service that a module answers for: that of the longest beginning of its path, `kinds/batch_pools.py`."""
    rows = (
        line.split("\t") for line in (ROOT.parent / "tests" / "data" / "services.tsv").read_text(encoding="utf-8").splitlines()
    )
    fits = [(start, service) for start, service in rows if module.startswith(start)]
    return max(fits, key=lambda each: len(each[0]))[1] if fits else "Azure Resource Manager"


def _functions(tree: ast.Module) -> Iterator[ast.AST]:
    """Functions, and the module itself without them."""
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    yield ast.Module(
        [node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)], []
    )


def _calls(function: ast.AST) -> Iterator[ast.Call]:
    yield from (node for node in ast.walk(function) if isinstance(node, ast.Call))


def _arguments(call: ast.Call) -> Iterator[ast.expr]:
    name = call.func.id if isinstance(call.func, ast.Name) else call.func.attr if isinstance(call.func, ast.Attribute) else ""
    for position in _positions().get(name, set()):
        if position < len(call.args):
            yield call.args[position]
    if name in _positions():
        yield from (keyword.value for keyword in call.keywords if keyword.arg in _PLACES)


@cache
def _positions() -> dict[str, set[int]]:
    """Where functions and classes of the room take a code, by their names."""
    found: dict[str, set[int]] = {}
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.ClassDef):
                for each in node.body:
                    if isinstance(each, ast.FunctionDef) and each.name == "__init__":
                        _add(found, node.name, each, 1)
                names = [
                    each.target.id for each in node.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
                ]
                if "code" in names and node.name.endswith(("Error", "Refusal")):
                    found.setdefault(node.name, set()).add(names.index("code"))
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                is_method = bool(node.args.args) and node.args.args[0].arg == "self"
                _add(found, node.name, node, 1 if is_method else 0)
    return found


def _add(found: dict[str, set[int]], name: str, function: ast.FunctionDef | ast.AsyncFunctionDef, first: int) -> None:
    parameters = [each.arg for each in function.args.args][first:]
    for place in _PLACES:
        if place in parameters:
            found.setdefault(name, set()).add(parameters.index(place))
        elif place in [each.arg for each in function.args.kwonlyargs]:
            found.setdefault(name, set())


def _codes(node: ast.expr, function: ast.AST, path: Path) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield from _named(node.id, function, path)
    elif isinstance(node, ast.Attribute):
        yield from _named_elsewhere(node, path)
    else:
        yield from _texts(node)
        if isinstance(node, ast.IfExp | ast.BoolOp):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Name):
                    yield from _named(inner.id, function, path)


def _texts(node: ast.expr) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and _CODE.fullmatch(each.value):
            yield each.value


def _named(name: str, function: ast.AST, path: Path) -> Iterator[str]:
    tree = _tree(path)
    for scope in (function, ast.Module([each for each in tree.body if isinstance(each, ast.Assign | ast.AnnAssign)], [])):
        for node in ast.walk(scope):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
            if any(name in _names(target) for target in targets):
                value = getattr(node, "value", None)
                yield from _texts(value) if value is not None else ()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("localazure"):
            for alias in node.names:
                source = ROOT.parent / Path(*node.module.split(".")).with_suffix(".py")
                if (alias.asname or alias.name) == name and source.is_file():
                    yield from _named(alias.name, ast.Module([], []), source)


def _named_elsewhere(node: ast.Attribute, path: Path) -> Iterator[str]:
    """`module.CONSTANT`."""
    if not isinstance(node.value, ast.Name):
        return
    for each in _tree(path).body:
        if isinstance(each, ast.ImportFrom) and each.module and each.module.startswith("localazure"):
            for alias in each.names:
                source = ROOT.parent / Path(*each.module.split("."), alias.name).with_suffix(".py")
                if (alias.asname or alias.name) == node.value.id and source.is_file():
                    yield from _named(node.attr, ast.Module([], []), source)


def _names(target: ast.expr) -> set[str]:
    return {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))
