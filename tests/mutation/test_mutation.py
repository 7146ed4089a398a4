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
from tests.mutation.known import KNOWN
from tests.mutation.mutants import SHARES, all_mutants, modules, of_module, selected
from tests.mutation.running import Changed, Outcome, run

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
    found = list(of_module("azure_gpu.little", path, LITTLE))
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
    every = all_mutants()
    chosen = selected(every, 100, seed=1)
    assert [each.name for each in chosen] == [each.name for each in selected(list(reversed(every)), 100, seed=1)]
    assert len(chosen) == 100
    assert {each.kind for each in chosen} == SHARES.keys()
    assert len({each.path for each in chosen}) > 60
    assert [each.name for each in chosen] != [each.name for each in selected(every, 100, seed=2)]


def killers_of_the_known() -> dict[int, str]:
    """What killed each known mutant, by its place, and behind them a module that isn't changed."""
    mutants: list[Changed] = [*KNOWN, Unchanged("azure_gpu.foundation.foundation", "foundation")]
    return {index: outcome.killed_by for index, outcome in run(mutants, jobs=2)}


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(1200)
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
