"""The mutation run notices what it should: the known mutants die, and a change of nothing survives.

All mutants are `make mutants`; these few show that the tool works.
"""

import ast
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

import pytest

from tests.mutation.__main__ import verdict
from tests.mutation.holding import holding
from tests.mutation.known import KNOWN
from tests.mutation.mutants import SHARES, all_mutants, modules, of_module, selected
from tests.mutation.running import Changed, Outcome, run
from tests.mutation.tables import GONE, Row, compared, read, written

LITTLE = """
import pulumi
from azure_gpu.catalog import roles

class Thing(pulumi.ComponentResource):
    size: int = 3

    def __init__(self, name: str, count: int = 1) -> None:
        '''A thing.'''
        super().__init__("t", name)
        problems = []
        problems += self.check(count)
        if count > 1 and name:
            pulumi.Resource("r", opts=pulumi.ResourceOptions(parent=self))
        self.secret = pulumi.Output.secret(roles.ACR_PULL)
        self.register_outputs({})
"""


@dataclass(frozen=True)
class Unchanged:
    """A module as it is."""

    module: str
    package: str

    def code(self) -> CodeType:
        [path] = [path for module, path in modules((self.package,)) if module == self.module]
        return compile(path.read_text(encoding="utf-8"), str(path), "exec")


def test_a_module_is_changed_in_every_way_once(tmp_path: Path) -> None:
    path = tmp_path / "little.py"
    path.write_text(LITTLE)
    found = list(of_module("azure_gpu.little", path, LITTLE, tmp_path))
    assert {(each.kind, each.change) for each in found} == {
        ("constant", "3: 4 instead"),
        ("constant", "1: 2 instead"),
        ("text", "'t': another text"),
        ("text", "'r': another text"),
        ("call", "problems += self.check(count): left out"),
        ("call", "pulumi.Resource('r', opts=pulumi.ResourceOptions(parent=self)): left out"),
        ("call", "self.register_outputs({}): left out"),
        ("condition", "count > 1 and name: or instead"),
        ("condition", "count > 1: the other way round"),
        ("argument", "pulumi.Resource('r', opts=pulumi.ResourceOptions(parent=self)): opts left out"),
        ("argument", "pulumi.ResourceOptions(parent=self): parent left out"),
        ("role", "roles.ACR_PULL: READER instead"),
        ("secret", "pulumi.Output.secret(roles.ACR_PULL): not secret"),
    }
    unchanged = compile(ast.parse(LITTLE), "little", "exec")
    assert all(each.code() != unchanged for each in found)


def test_the_choice_is_spread_over_kinds_and_files_and_is_the_same_each_time() -> None:
    every = all_mutants(("aks", "batch"))
    chosen = selected(every, 50, seed=1)
    assert [each.name for each in chosen] == [each.name for each in selected(list(reversed(every)), 50, seed=1)]
    assert {each.kind for each in chosen} == SHARES.keys()
    assert len({each.path for each in chosen}) > 20
    assert [each.name for each in chosen] != [each.name for each in selected(every, 50, seed=2)]


def test_the_place_of_each_known_mutant_is_in_the_library_once() -> None:
    assert {each.module.split(".")[0] for each in KNOWN} == {"azure_gpu"}


def test_a_mutant_of_a_room_is_named_by_its_folder_and_held_by_the_tests_that_speak_of_it(tmp_path: Path) -> None:
    changed = tmp_path / "localazure" / "kinds" / "registries.py"
    changed.parent.mkdir(parents=True)
    changed.write_text("def list_usages(request):\n    return {'maximumBytes': 5}\n")
    tests = tmp_path / "tests" / "localazure"
    tests.mkdir(parents=True)
    (tests / "test_others.py").write_text("def test_a_vault(): assert request == {'sku': 5}\n")
    (tests / "test_registries.py").write_text("def test_usages(): assert request == {'maximumBytes': 5}\n")
    (tests / "test_registries_slow.py").write_text("pytestmark = pytest.mark.slow\nassert 'maximumBytes' in list_usages\n")
    found = {each.name: each for each in all_mutants(("localazure",), tmp_path)}
    assert found.keys() == {
        "localazure.kinds: list_usages: 'maximumBytes': another text",
        "localazure.kinds: list_usages: 5: 6 instead",
    }
    for each in found.values():
        assert (each.module, each.where) == ("localazure.kinds.registries", "localazure/kinds/registries.py:2")
        assert holding(each, tmp_path, 2) == ["tests/localazure/test_registries.py", "tests/localazure/test_others.py"]


def test_what_was_noticed_and_is_not_any_more_is_listed(tmp_path: Path) -> None:
    def table(name: str, **outcomes: str) -> list[Row]:
        written(tmp_path / name, [Row(mutant, "text", "a.py:1", outcome, 1.5) for mutant, outcome in outcomes.items()])
        return read(tmp_path / name)

    before = table("before", dies="tests/a.py::b", lost="tests/a.py::b", unrun="record of c", gone="record of c", never="")
    after = table("after", dies="tests/d.py::e", lost="", gone=GONE, never="", new="")
    assert before[0] == Row("dies", "text", "a.py:1", "tests/a.py::b", 1.5)
    assert compared(before, after) == (["lost (tests/a.py::b)", "unrun (record of c)"], ["gone"])


def killers_of_the_known() -> dict[int, str]:
    """What killed each known mutant, by its place, and behind them a module that isn't changed."""
    mutants: list[Changed] = [*KNOWN, Unchanged("azure_gpu.foundation.foundation", "foundation")]
    return {index: outcome.killed_by for index, outcome in run(mutants, jobs=2)}


@pytest.mark.nightly
@pytest.mark.slow
def test_the_known_mutants_die_and_a_change_of_nothing_survives() -> None:
    # In a process of its own: a run forks from one that hasn't loaded the library, as this one may have.
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as fresh:
        killed = fresh.submit(killers_of_the_known).result()
    assert [each.name for index, each in enumerate(KNOWN) if not killed[index]] == []
    assert killed[len(KNOWN)] == ""


def test_a_run_with_a_survivor_of_no_reason_or_with_too_many_fails() -> None:
    dead, alive = Outcome(killed_by="record of a case", cpu_seconds=0), Outcome(killed_by="", cpu_seconds=0)
    assert verdict([(KNOWN[0], dead)]) == []
    without_reason, too_many = verdict([(KNOWN[0], alive)])
    assert "survived without a reason" in without_reason
    assert "1 of 1 survived" in too_many
    assert verdict([(KNOWN[0], dead)], ["tests/a.py::b"]) == ["tests/a.py::b fails without any mutant"]
