"""Which files of quick tests, or which of their tables, hold a mutant of the embedded Azure or of the commands, best first.

The text decides, since running every test for each mutant takes hours: words that a test file shares with the changed function
and its module count, the more the fewer test files have them, and so does an import of the module.
"""

import ast
import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.mutation.mutants import Mutant

# What runs each table, a file beside it, as a test of its own.
_TABLES = {"tests/localazure/refusals/test_refused.py": "test_each_row_is_refused"}
# Whose tables have the words of Azure and not those of the code: tried on each mutant of the package.
_OF_PACKAGE = {
    "azure_gpu_operations.explain": "tests/operations/test_explain.py",
    "azure_gpu_operations.importing": "tests/operations/test_import.py",
    "azure_gpu_operations.run": "tests/operations/test_sent_bodies.py",
}
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]{2,}")
_PART = re.compile(r"[A-Z]?[a-z0-9]{3,}|[A-Z]{3,}")
_ALL_SLOW = re.compile(r"^pytestmark = .*\b(slow|nightly)\b", re.MULTILINE)
# Words of the function tell more than those of the rest of its module; those of the names of files more than both.
_OF_FUNCTION, _OF_PATH = 3.0, 3.0
_IMPORTS_MODULE, _IMPORTS_PACKAGE = 1.5, 1.2


@dataclass(frozen=True, kw_only=True)
class _TestFile:
    path: str
    words: frozenset[str]
    of_path: frozenset[str]
    imports: frozenset[str]


def holding(mutant: Mutant, root: Path, number: int) -> list[str]:
    """The files, as paths below the root."""
    files = _test_files(root, mutant.package)
    rareness = _rareness(root, mutant.package)
    source = mutant.path.read_text(encoding="utf-8")
    function = _words(_text_of(source, mutant.function))
    module = _words(source)
    of_path = _parts(mutant.module)
    package = mutant.module.rpartition(".")[0]

    def score(file: _TestFile) -> float:
        shared = sum(rareness[word] * (_OF_FUNCTION if word in function else 1.0) for word in file.words & module)
        named = sum(rareness.get(word, 0.0) for word in file.of_path & of_path)
        factor = _IMPORTS_MODULE if mutant.module in file.imports else _IMPORTS_PACKAGE if package in file.imports else 1.0
        return (shared / math.sqrt(len(file.words) + 100) + _OF_PATH * named) * factor

    best_first = sorted(files, key=lambda file: (-score(file), file.path))
    found = list(dict.fromkeys(file.path for file in best_first))[:number]
    return list(dict.fromkeys([*found, *(test for start, test in _OF_PACKAGE.items() if mutant.module.startswith(f"{start}."))]))


@cache
def _test_files(root: Path, room: str) -> list[_TestFile]:
    found: list[_TestFile] = []
    for path in sorted((root / "tests" / room).rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if _ALL_SLOW.search(text):
            continue
        name = path.relative_to(root).as_posix()
        if name in _TABLES:
            found += [_table(f"{name}::{_TABLES[name]}", each) for each in sorted(path.parent.glob("*.yaml"))]
            continue
        imports = frozenset(re.findall(r"^\s*from ([\w.]+) import", text, re.MULTILINE))
        names = re.findall(r"^\s*from ([\w.]+) import (.+)$", text, re.MULTILINE)
        imports |= {f"{package}.{each.strip().split(' as ')[0]}" for package, listed in names for each in listed.split(",")}
        for table in _tables_of(path, text):
            found.append(_TestFile(path=name, words=_words(text + table), of_path=_parts(name), imports=imports))
    return found


def _tables_of(path: Path, text: str) -> list[str]:
    """The texts of the tables that a test file reads: those of the folders beside it that it names. One empty text: none."""
    folders = {each for each in re.findall(r'/ "(\w+)"', text) if (path.parent / each).is_dir()}
    tables = [each for name in sorted(folders) for each in sorted((path.parent / name).glob("*.yaml"))]
    return [each.read_text(encoding="utf-8") for each in tables] or [""]


def _table(test: str, path: Path) -> _TestFile:
    text = path.read_text(encoding="utf-8")
    return _TestFile(path=f"{test}[{path.stem}]", words=_words(text), of_path=_parts(path.stem), imports=frozenset())


@cache
def _rareness(root: Path, room: str) -> dict[str, float]:
    """By a word: how little it says to have it."""
    files = _test_files(root, room)
    having = Counter(word for file in files for word in file.words | file.of_path)
    return {word: math.log(len(files) / number) ** 2 for word, number in having.items()}


def _text_of(source: str, function: str) -> str:
    """The text of `Class.function`; the whole where there is no such thing."""
    place: ast.AST = ast.parse(source)
    for name in filter(None, function.split(".")):
        inner = (each for each in ast.walk(place) if getattr(each, "name", "") == name)
        place = next(inner, place)
    return source if isinstance(place, ast.Module) else ast.get_source_segment(source, place) or source


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text)) | _parts(text)


def _parts(text: str) -> frozenset[str]:
    """The single words of names such as `put_registry` and `listUsages`."""
    return frozenset(each.lower().removesuffix("s") for each in _PART.findall(text))
