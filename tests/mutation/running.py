"""Runs mutants, each in a process of its own that is forked from one that has loaded what takes long and nothing of the library
that changes.

A mutant of the library is killed by the record of what is declared and refused (`tests.components.recorded_bodies`), of the cases
of its package first, or by the quick tests of its package; one of the embedded Azure or of the commands by quick tests
(`holding.py`). Where tests reach the changed module in another process, as they did once, the change is written into the file
of a checkout of its own (`run_in_tree`).
"""

import ast
import contextlib
import gc
import importlib
import importlib.machinery
import importlib.util
import json
import os
import re
import resource
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import CodeType, ModuleType
from typing import NoReturn, Protocol

import pytest

from tests.mutation.holding import holding
from tests.mutation.mutants import LIBRARY, ROOT, Mutant, modules

COMPONENTS = ROOT / "tests" / "components"
CPU_SECONDS = 90  # of one mutant; one that takes longer never ends
WALL_SECONDS = 600
FILES = 5  # of tests, for a mutant of the embedded Azure or of the commands
# Which cases show what of a package, as beginnings of their names, and which folders of tests hold it.
CASES: dict[str, tuple[str, ...]] = {
    "aks": ("cluster.", "ml_workspace.happy.attached"),
    "batch": ("batch_account.", "pool."),
    "container_apps": ("job.", "job_environment."),
    "container_instances": ("container_group.",),
    "edge": ("edge.",),
    "foundation": ("foundation.",),
    "images": ("pool.happy.gallery_image", "pool.error."),
    "kubernetes": ("cluster.", "edge."),
    "ml": ("ml_workspace.", "ml_endpoint."),
    "shared": ("foundation.", "settings.", "job.", "vm.", "ml_workspace.", "batch_account.", "pool."),
    "vm": ("vm.",),
}
ALSO_HELD_BY: dict[str, tuple[str, ...]] = {
    "foundation": ("test_role_commands.py",),
    "aks": ("kubernetes",),
    "kubernetes": ("aks", "edge", "ml/test_ml_workspace.py"),
    "images": ("batch",),
    "shared": ("foundation", "batch", "stack"),
}


_OPTIONS = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow")


class Changed(Protocol):
    """A module with a change."""

    @property
    def module(self) -> str: ...
    @property
    def package(self) -> str: ...
    def code(self) -> CodeType: ...


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a mutant."""

    killed_by: str  # empty: it survived
    cpu_seconds: float


def run(mutants: Sequence[Changed], jobs: int) -> Iterator[tuple[int, Outcome]]:
    """What became of each, by its place in the sequence, as they end."""
    _load(library=any(each.package in CASES for each in mutants))
    running: dict[int, tuple[int, int]] = {}
    waiting = list(enumerate(mutants))
    while waiting or running:
        while waiting and len(running) < jobs:
            index, mutant = waiting.pop(0)
            reading, writing = os.pipe()
            process = os.fork()
            if process == 0:
                os.close(reading)
                _in_child(mutant, writing)
            os.close(writing)
            running[process] = (index, reading)
        process, status, used = os.wait4(-1, 0)
        index, reading = running.pop(process)
        with os.fdopen(reading, encoding="utf-8") as answer:
            said = answer.read()
        killed_by = json.loads(said) if said else f"it ended by signal {os.waitstatus_to_exitcode(status)}"
        yield index, Outcome(killed_by=killed_by, cpu_seconds=used.ru_utime + used.ru_stime)


def run_in_tree(mutants: Sequence[Mutant], tree: Path) -> Iterator[tuple[int, Outcome]]:
    """The same, one after another, with each change written into its file of the checkout `tree`, which has an environment."""
    for index, mutant in enumerate(mutants):
        text, holders = mutant.path.read_bytes(), holding(mutant, tree, FILES)
        mutant.path.write_text(ast.unparse(mutant.tree()), encoding="utf-8")
        try:
            failed, cpu_seconds = _pytest_in_tree(tree, ["-x", *holders])
        finally:
            mutant.path.write_bytes(text)
        yield index, Outcome(killed_by=failed[0] if failed else "", cpu_seconds=cpu_seconds)


def failing_in_tree(tests: Sequence[str], tree: Path) -> list[str]:
    """Those of the tests that fail in the checkout as it is."""
    return _pytest_in_tree(tree, tests)[0] if tests else []


def _pytest_in_tree(tree: Path, arguments: Sequence[str]) -> tuple[list[str], float]:
    """The tests that failed, and the CPU seconds of their process and of those that it waited for."""
    command = [str(tree / ".venv" / "bin" / "python"), "-m", "pytest", *_OPTIONS, "-rfE", "--tb=no", *arguments]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    if done.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) and not failed:
        failed.append(f"pytest, {done.returncode}")
    return failed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _load(*, library: bool) -> None:
    """Loads what every mutant needs and no mutant changes, so that no process has to. `library`: mutants of it are among them."""
    for name in sorted(_services()):
        dir(importlib.import_module(f"pulumi_azure_native.{name}"))  # they load when they are first touched
    for name in ("hypothesis", "pulumi_kubernetes", "xdist", "pytest_timeout", "yaml", "tests.components.recording"):
        importlib.import_module(name)
    for module, path in modules(("catalog", "formats")):
        if path.stem not in ("__init__", "__main__"):
            importlib.import_module(module)
    if library:
        _warm_up()
    gc.collect()
    gc.freeze()


def _warm_up() -> None:
    """Runs what is recorded with the library as it is: what killed a mutant has to leave the library alone. The SDK keeps what it
    learned of azure-native's types on the way, and the library is forgotten again."""
    changing = {"azure_gpu", "azure_gpu_operations", "localazure", "tests"}
    before = {name: set(vars(module)) for name, module in sys.modules.items() if name.split(".")[0] in changing}
    from tests.components import recorded_bodies

    recorded = recorded_bodies.recorded()
    for name in recorded_bodies.names():
        if list(recorded_bodies.differences(recorded[name], recorded_bodies.now(name))):
            raise RuntimeError(f"{name} isn't as recorded without any mutant: see python -m tests.components.recorded_bodies")
    for name in [name for name in sys.modules if name.split(".")[0] in changing and name not in before]:
        del sys.modules[name]
    for name, attributes in before.items():  # of modules that stay: modules within them, and classes that they lend
        module = vars(sys.modules[name])
        for attribute in module.keys() - attributes:
            del module[attribute]


def failing_without_mutant(tests: Sequence[str]) -> list[str]:
    """Those of the tests that fail with the library as it is, which therefore kill nothing."""
    if not tests:
        return []
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        _answer(lambda: _pytest(["--no-header", *tests]).failed, writing)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as answer:
        found = json.loads(answer.read())
    os.waitpid(process, 0)
    return found


def _services() -> set[str]:
    """The services of azure-native that the library declares with."""
    return {
        alias.name
        for path in (ROOT / LIBRARY).rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom) and node.module == "pulumi_azure_native"
        for alias in node.names
    }


def _in_child(mutant: Changed, writing: int) -> NoReturn:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    signal.alarm(WALL_SECONDS)

    def killed_by() -> str:
        try:
            return _killed_by(mutant)
        except BaseException as error:  # noqa: BLE001  whatever a mutant raises has been noticed
            return "".join(traceback.format_exception_only(error)).strip()

    _answer(killed_by, writing)


def _answer(work: Callable[[], object], writing: int) -> NoReturn:
    """Writes what `work` returns, and ends the process. Nothing that it prints is seen."""
    quiet = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(quiet, descriptor)
    answer = json.dumps(work())
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        stream.write(answer)
    os._exit(0)


def _killed_by(mutant: Changed) -> str:
    sys.meta_path.insert(0, _Finder(mutant))
    if mutant.package not in CASES:
        assert isinstance(mutant, Mutant)
        failed = _pytest(["-x", *holding(mutant, ROOT, FILES)]).failed
        return failed[0] if failed else ""
    from tests.components import recorded_bodies

    recorded = recorded_bodies.recorded()
    for name in _in_order(recorded_bodies.names(), CASES[mutant.package]):
        if any(True for _ in recorded_bodies.differences(recorded[name], recorded_bodies.now(name))):
            return f"record of {name}"
    tests = [COMPONENTS / each for each in (mutant.package, *ALSO_HELD_BY.get(mutant.package, ()))]
    failed = _pytest(["-x", *(str(each) for each in tests if each.exists())]).failed
    return failed[0] if failed else ""


def _pytest(arguments: Sequence[str]) -> "_Failed":
    found = _Failed()
    with contextlib.chdir(ROOT):
        code = pytest.main([*_OPTIONS, *arguments], plugins=[found])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) and not found.failed:
        found.failed.append(f"pytest, {code}")
    return found


def _in_order(names: Iterable[str], first: tuple[str, ...]) -> list[str]:
    """The cases of the package, then stacks and examples."""
    mine = [name for name in names if name.startswith(first)]
    return [*mine, *(name for name in names if name.startswith(("stack.", "example.")) and name not in mine)]


class _Failed:
    """Keeps the names of the tests that failed."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


class _Finder(MetaPathFinder):
    """Finds one module changed, and leaves all others to whoever finds them."""

    def __init__(self, mutant: Changed) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._mutant.module:
            return None
        found = importlib.machinery.PathFinder.find_spec(fullname, path)
        assert found is not None
        assert found.origin is not None
        loader = _Loader(fullname, found.origin)
        loader.code = self._mutant.code()
        return importlib.util.spec_from_file_location(
            fullname, found.origin, loader=loader, submodule_search_locations=found.submodule_search_locations
        )


class _Loader(importlib.machinery.SourceFileLoader):
    code: CodeType

    def get_code(self, fullname: str) -> CodeType:
        return self.code
