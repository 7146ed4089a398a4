"""Mutants of the library, of the embedded Azure and of the commands: one small change each, as a programmer might make it by
mistake.

They are found in the syntax tree of each module, so that moving code within a package loses none. A mutant is named by its
package, its function and its change, never by its line.
"""

import ast
import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).parents[2]
LIBRARY = Path("components", "azure_gpu")
# The services and what they share. What is known and what is read, `catalog` and `formats`, has tests of its own kind.
PACKAGES = (
    "aks",
    "batch",
    "container_apps",
    "container_instances",
    "edge",
    "foundation",
    "images",
    "kubernetes",
    "ml",
    "shared",
    "vm",
)
# What is beside the library, with its folder. Its quick tests are chosen for each mutant (`holding.py`).
ROOMS = {"localazure": Path("localazure"), "operations": Path("operations", "azure_gpu_operations")}
# How many of each kind there are in a hundred. Most that can be changed are texts, and half of these are keys.
SHARES = {"role": 8, "secret": 6, "argument": 25, "call": 15, "condition": 23, "constant": 8, "text": 15}
# Of thirty, since there are few roles and secrets.
SHARES_OF_ROOMS = {"argument": 4, "call": 6, "condition": 12, "constant": 3, "text": 5}
Edit = Callable[[Any], None]  # changes a node in place
_OTHER_WAY: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
}


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change of one module."""

    module: str
    path: Path
    where: str  # its file and line, below the root
    kind: str
    function: str  # where it is, `Class.function`; empty at the top of the module
    change: str  # before and after
    node: int  # the number of the changed node in `ast.walk`
    edit: Edit

    @property
    def package(self) -> str:
        """One of PACKAGES or of ROOMS."""
        first, *others = self.module.split(".")
        return others[0] if first == LIBRARY.name else first.removeprefix("azure_gpu_")

    @property
    def name(self) -> str:
        """What it is called in tables and in the list of survivors."""
        package = self.package
        if package in ROOMS and self.module.count(".") > 1:
            package = f"{package}.{self.module.split('.')[1]}"
        return f"{package}: {self.function or 'top'}: {self.change}"

    def tree(self) -> ast.Module:
        """The module with the change."""
        tree = ast.parse(self.path.read_text(encoding="utf-8"))
        self.edit(next(itertools.islice(ast.walk(tree), self.node, None)))
        return ast.fix_missing_locations(tree)

    def code(self) -> CodeType:
        return compile(self.tree(), str(self.path), "exec")


def modules(packages: Iterable[str] = PACKAGES, root: Path = ROOT) -> Iterator[tuple[str, Path]]:
    """Every module of the packages of a checkout, with its file."""
    for package in packages:
        folder = root / ROOMS.get(package, LIBRARY / package)
        above = folder.parent if package in ROOMS else folder.parent.parent
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(above).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def all_mutants(packages: Iterable[str] = PACKAGES, root: Path = ROOT) -> list[Mutant]:
    """Every mutant there can be."""
    return [
        each
        for module, path in modules(packages, root)
        for each in of_module(module, path, path.read_text(encoding="utf-8"), root)
    ]


def of_module(module: str, path: Path, source: str, root: Path) -> Iterator[Mutant]:
    """The mutants of one module."""
    tree = ast.parse(source)
    numbers = {id(node): number for number, node in enumerate(ast.walk(tree))}
    finder = _Finder()
    finder.visit(tree)
    for kind, function, place, change, owner, edit in finder.edits:
        yield Mutant(
            module=module,
            path=path,
            where=f"{path.relative_to(root)}:{getattr(place, 'lineno', 1)}",
            kind=kind,
            function=function,
            change=f"{_short(place)}: {change}",
            node=numbers[id(owner)],
            edit=edit,
        )


def selected(mutants: Iterable[Mutant], number: int, seed: int, shares: Mapping[str, int] = SHARES) -> list[Mutant]:
    """So many of them, by the shares of their kinds and spread over files. What is chosen depends on a mutant's own name, so that
    a change of a module changes the choice among few others."""
    ranked = sorted(mutants, key=lambda each: hashlib.sha256(f"{seed} {each.name}".encode()).digest())
    files: Counter[Path] = Counter()
    chosen: list[Mutant] = []
    for kind, share in shares.items():
        left = [each for each in ranked if each.kind == kind]
        for _ in range(min(round(number * share / sum(shares.values())), len(left))):
            next_one = min(left, key=lambda each: files[each.path])  # the first of those from the least used files
            left.remove(next_one)
            chosen.append(next_one)
            files[next_one.path] += 1
    return chosen


def _short(node: ast.AST) -> str:
    text = re.sub(r"\s+", " ", ast.unparse(node))
    return text if len(text) <= 70 else f"{text[:67]}…"


class _Finder(ast.NodeVisitor):
    """Collects what can be changed: kind, function, the place to show, the change in words, the node, and what changes it."""

    def __init__(self) -> None:
        self._function: list[str] = []
        self.edits: list[tuple[str, str, ast.AST, str, ast.AST, Edit]] = []

    def _add(self, kind: str, place: ast.AST, change: str, owner: ast.AST, edit: Edit) -> None:
        self.edits.append((kind, ".".join(self._function), place, change, owner, edit))

    def visit_Module(self, node: ast.Module) -> None:
        self._body(node.body)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._function.append(node.name)
        self._body(node.body)
        self._function.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._function.append(node.name)
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if default is not None:
                self.visit(default)
        self._statements(node)
        self._body(node.body)
        self._function.pop()

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815  the base class's name

    def _body(self, body: list[ast.stmt]) -> None:
        for statement in body:
            match statement:
                case ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom():
                    pass  # a docstring
                case ast.Assign(targets=[ast.Name(id="__all__")]):
                    pass
                case ast.AnnAssign(value=value):
                    if value is not None:
                        self.visit(value)
                case _:
                    self.visit(statement)

    def _statements(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Statements that do something by being there: calls, and problems that are added."""
        for statement in ast.walk(function):
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                name = ast.unparse(statement.value.func)
                if name != "super().__init__":
                    self._add("call", statement, "left out", statement, _to_nothing)
            if isinstance(statement, ast.AugAssign):
                self._add("call", statement, "left out", statement, _adds_nothing)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        callee = ast.unparse(node.func)
        last = callee.rsplit(".", 1)[-1]
        if last[:1].isupper() and ("." in callee or last == "Problem"):
            for index, keyword in enumerate(node.keywords):
                if keyword.arg is not None and keyword.arg not in ("path", "message"):
                    self._add("argument", node, f"{keyword.arg} left out", node, _without_keyword(index))
        if callee == "pulumi.Output.secret":
            self._add("secret", node, "not secret", node, _not_secret)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name) and node.value.id == "roles" and node.attr.isupper() and node.attr != "NAMES":
            other = "READER" if node.attr != "READER" else "CONTRIBUTOR"
            self._add("role", node, f"{other} instead", node, _other_attribute(other))
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        if len(node.ops) == 1:
            self._add("condition", node, "the other way round", node, _flip)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        word = "or" if isinstance(node.op, ast.And) else "and"
        self._add("condition", node, f"{word} instead", node, _other_word)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if not isinstance(node.test, ast.Compare | ast.BoolOp):
            self._add("condition", node.test, "the other way round", node, _negate)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        match node.value:
            case bool():
                self._add("constant", node, f"{not node.value} instead", node, _constant(not node.value))
            case int():
                self._add("constant", node, f"{node.value + 1} instead", node, _constant(node.value + 1))
            case str(text) if text:
                self._add("text", node, "another text", node, _constant(f"{text}-mutated"))
            case _:
                pass

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        texts = [part for part in node.values if isinstance(part, ast.Constant)]
        if texts:
            index = node.values.index(texts[0])
            self._add("text", node, "another text", node, _other_part(index))
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.visit(part.value)


def _to_nothing(node: ast.Expr) -> None:
    node.value = ast.Constant(value=None)


def _adds_nothing(node: ast.AugAssign) -> None:
    node.value = ast.parse(f"type({ast.unparse(node.target)})()", mode="eval").body


def _not_secret(node: ast.Call) -> None:
    node.func = ast.parse("pulumi.Output.from_input", mode="eval").body


def _flip(node: ast.Compare) -> None:
    node.ops = [_OTHER_WAY[type(node.ops[0])]()]


def _other_word(node: ast.BoolOp) -> None:
    node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()


def _negate(node: ast.If) -> None:
    node.test = ast.UnaryOp(op=ast.Not(), operand=node.test)


def _without_keyword(index: int) -> Edit:
    def change(node: ast.Call) -> None:
        del node.keywords[index]

    return change


def _other_attribute(name: str) -> Edit:
    def change(node: ast.Attribute) -> None:
        node.attr = name

    return change


def _constant(value: str | int) -> Edit:
    def change(node: ast.Constant) -> None:
        node.value = value

    return change


def _other_part(index: int) -> Edit:
    def change(node: ast.JoinedStr) -> None:
        node.values[index] = ast.Constant(value="mutated")

    return change
